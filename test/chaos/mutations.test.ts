/** Mutation tests of money: each planted bug fails one of its tests, and without a bug all pass. */
import { existsSync } from 'node:fs'
import t from 'tap'
import { LONG } from '../helpers/long.ts'
import { copyTree } from './mutated-tree.ts'
import { mutations } from './mutations.ts'

t.setTimeout(1_200_000)
const copy = copyTree()
t.teardown(() => copy.remove())

t.test('mutations: every edit matches the source exactly once', async t => {
  for (const { bug, edits, tests } of mutations) {
    t.doesNotThrow(() => copy.firstFailure({ bug, edits, tests: [] }), bug)
    // A missing test would fail whatever is planted.
    t.same(
      tests.filter(test => !existsSync(test)),
      [],
      'its tests exist',
    )
  }
  const unmatched = [{ file: 'routes.yaml', find: 'is nowhere', put: '' }]
  t.throws(() => copy.firstFailure({ bug: 'none', edits: unmatched, tests: [] }))
})

t.test('mutations: each planted bug fails a test', { skip: !LONG && 'LONG=1' }, async t => {
  const tests = [...new Set(mutations.flatMap(mutation => mutation.tests))]
  t.equal(
    copy.firstFailure({ bug: 'none', edits: [], tests }),
    undefined,
    'all tests pass without a bug',
  )
  for (const mutation of mutations) {
    const failure = copy.firstFailure(mutation)
    t.ok(failure, `${mutation.bug}: ${failure ?? 'no test failed'}`)
  }
})
