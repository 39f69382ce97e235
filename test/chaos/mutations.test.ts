/** Tests of money have teeth: each planted bug turns one of them red, and without a bug they are green. */
import { existsSync } from 'node:fs'
import t from 'tap'
import { LONG } from '../helpers/long.ts'
import { copyTree } from './mutated.ts'
import { mutations } from './mutations.ts'

t.setTimeout(1_200_000)
const copy = copyTree()
t.teardown(() => copy.remove())

t.test('every edit has its place', async t => {
  for (const { bug, edits, tests } of mutations) {
    t.doesNotThrow(() => copy.redWith({ bug, edits, tests: [] }), bug)
    // One that is not there would be red whatever is planted.
    t.same(
      tests.filter(test => !existsSync(test)),
      [],
      'its tests are there',
    )
  }
  const lost = [{ file: 'routes.yaml', find: 'is nowhere', put: '' }]
  t.throws(() => copy.redWith({ bug: 'none', edits: lost, tests: [] }))
})

t.test('planted bugs are noticed', { skip: !LONG && 'LONG=1' }, async t => {
  const tests = [...new Set(mutations.flatMap(mutation => mutation.tests))]
  t.equal(copy.redWith({ bug: 'none', edits: [], tests }), undefined, 'green before')
  for (const mutation of mutations) {
    const red = copy.redWith(mutation)
    t.ok(red, `${mutation.bug}: ${red ?? 'nobody noticed'}`)
  }
})
