/** Mutation tests of money: each planted bug fails one of its tests, and without a bug all pass. */
import { existsSync } from 'node:fs'
import t from 'tap'
import { scaled } from '../helpers/machine-speed.ts'
import { LONG } from '../helpers/run-settings.ts'
import { copyTree } from '../helpers/tree-copy.ts'
import { applyEdits } from './mutation.ts'
import { mutations } from './mutations.ts'

t.setTimeout(scaled(1_200_000))
const copy = copyTree()
t.teardown(() => copy.remove())

t.test('mutations: every edit matches the source exactly once', async t => {
  for (const { bug, edits, tests } of mutations) {
    t.doesNotThrow(() => applyEdits(edits, copy.read), bug)
    // A missing test would fail whatever is planted.
    t.same(
      tests.filter(test => !existsSync(test)),
      [],
      'its tests exist',
    )
  }
  const unmatched = [{ file: 'routes.yaml', find: 'is nowhere', put: '' }]
  t.throws(() => applyEdits(unmatched, copy.read))
})

t.test(
  'mutations: each planted bug fails a test',
  { skip: !LONG && 'run it with npm run test:long' },
  async t => {
    const tests = [...new Set(mutations.flatMap(mutation => mutation.tests))]
    const failed = await copy.firstFailure(new Map(), tests)
    t.equal(failed, undefined, 'all tests pass without a bug')
    for (const { bug, edits, tests } of mutations) {
      const failure = await copy.firstFailure(applyEdits(edits, copy.read), tests)
      t.ok(failure, `${bug}: ${failure ?? 'no test failed'}`)
    }
  },
)
