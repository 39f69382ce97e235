/** Mutation testing: what is mutated, which tests are nearest, and that they notice mutants. */
import t from 'tap'
import { scaled } from '../helpers/machine-speed.ts'
import { EQUIVALENT } from './equivalent.ts'
import { mutantsOf } from './mutants.ts'
import { allMutants, drawMutants, isEquivalent, runMutants, type Verdict } from './mutate.ts'
import { createOrder, testFiles } from './nearest.ts'
import { measureTest } from './test-runs.ts'

t.setTimeout(scaled(600_000))

t.test('mutants: one token of an expression is replaced, no type and no import', async t => {
  const source = `import a from './a.ts'
type B = 1 | 2
const c = (x: B): boolean => x < 2 && !a(x + 1)
if (c(1)) Math.min(a)
`
  const replaced = mutantsOf('x.ts', source).map(({ line, summary }) => `${line}: ${summary}`)
  t.same(replaced.toSorted(), [
    '3: ! -> ',
    '3: && -> ||',
    '3: + -> -',
    '3: 1 -> 2',
    '3: 2 -> 3',
    '3: < -> <=',
    '4: 1 -> 2',
    '4: c(1) -> !(c(1))',
    '4: min -> max',
  ])
})

t.test('mutants: a seed draws the same ones, and each listed equivalent exists', async t => {
  t.same(drawMutants(5, 7), drawMutants(5, 7))
  t.notSame(drawMutants(5, 7), drawMutants(5, 8))
  const equivalent = allMutants().filter(isEquivalent)
  for (const { file, line, summary } of EQUIVALENT)
    t.ok(
      equivalent.some(each => each.file === file && each.summary === summary),
      `${file}: ${line}`,
    )
})

t.test('mutants: an edit elsewhere in the file keeps their ids', async t => {
  const idsOf = (text: string): string[] => mutantsOf('x.ts', text).map(({ id }) => id)
  const before = idsOf('const a = 1\nconst b = 1 + a\nconst b = 1 + a\n')
  t.equal(new Set(before).size, before.length)
  t.same(idsOf('let other\n\nconst a = 1\nconst b = 1 + a\n  const b = 1 + a\n'), before)
})

t.test('nearest tests: the mirrored path comes first', async t => {
  const order = createOrder()
  const tests = testFiles()
  t.equal(order('engine/store/progress.ts', tests)[0], 'test/engine/store/progress.test.ts')
  t.equal(order('plugins/ledger/audit.ts', tests)[0], 'test/plugins/ledger/audit.test.ts')
})

t.test('mutants: a test that runs the line notices a mutant and passes without it', async t => {
  const [file, test] = ['engine/quota/allowance.ts', 'test/engine/quota/allowance.test.ts']
  const run = await measureTest(test, ['engine/quota/*.ts'])
  t.ok(run.passed)
  const verdicts: Verdict[] = []
  const onVerdict = (verdict: Verdict) => void verdicts.push(verdict)
  const mutants = drawMutants(3, 1, [file])
  await runMutants({ mutants, runs: [run], lanes: 1, tests: 2, isOver: () => false, onVerdict })
  t.equal(verdicts.length, mutants.length)
  t.ok(verdicts.some(({ killedBy }) => killedBy === test))
})
