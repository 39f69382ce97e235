/** `npm run test:mutate`: makes seeded one-token mutations of the engine, the formats and the
 *  ledger, runs the nearest tests that run the mutated line, and lists the mutations that none of
 *  them notices. Verdicts are kept in `.tap/`: a run can be continued, and repeated for survivors
 *  alone. */
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { copyTree, type TreeCopy } from '../helpers/tree-copy.ts'
import { EQUIVALENT } from './equivalent.ts'
import { type Mutant, mutantsOf } from './mutants.ts'
import { createOrder } from './nearest.ts'
import { digestOf, hasRun, measureTests, readTestRuns, type TestRun } from './test-runs.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SOURCES = ['engine/**/*.ts', 'plugins/{formats,ledger,translate}/**/*.ts']
const VERDICTS = join(ROOT, '.tap', 'mutants.jsonl')
/** The time limit of a test that took `ms`, in ms. */
const timeoutFor = (ms: number): number => 20_000 + 5 * ms
/** Milliseconds of the tests of a mutant, as measured without it. */
const MAX_MS = 30_000
const LEAST_PERCENT = 85

export interface Verdict {
  readonly id: string
  readonly place: string
  readonly summary: string
  /** The test that failed; undefined if the mutant survived. */
  readonly killedBy?: string | undefined
  /** How many tests ran with it, at most. */
  readonly tests: number
  /** How many tests run its line. */
  readonly covering: number
  readonly ms: number
}
export interface MutationRun {
  readonly mutants: readonly Mutant[]
  readonly runs: readonly TestRun[]
  readonly lanes: number
  /** Tests for each mutant, at most. */
  readonly tests: number
  isOver(): boolean
  onVerdict(verdict: Verdict): void
}

const readSource = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
export const allMutants = (patterns: readonly string[] = SOURCES): Mutant[] =>
  globSync(patterns, { cwd: ROOT })
    .sort()
    .flatMap(file => mutantsOf(file, readSource(file)))

/** Draws `count` mutants. A change of the source replaces few of them. */
export const drawMutants = (count: number, seed: number, patterns = SOURCES): Mutant[] => {
  const rank = ({ id }: Mutant): string =>
    createHash('sha256').update(`${seed}\n${id}`).digest('hex')
  return allMutants(patterns)
    .map(mutant => ({ mutant, rank: rank(mutant) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant)
}
export const isEquivalent = ({ file, line, summary }: Mutant): boolean => {
  const text = readSource(file).split('\n')[line - 1] ?? ''
  return EQUIVALENT.some(
    each => each.file === file && each.summary === summary && text.includes(each.line),
  )
}

/** The first tests, at least one, that take at most `MAX_MS` together. */
const affordable = (tests: readonly string[], msOf: (test: string) => number): string[] => {
  let ms = 0
  return tests.filter((test, index) => {
    ms += msOf(test)
    return index === 0 || ms <= MAX_MS
  })
}

export const runMutants = async (run: MutationRun): Promise<void> => {
  const waiting = [...run.mutants]
  const runs = new Map(run.runs.flatMap(each => (each.passed ? [[each.test, each]] : [])))
  const order = createOrder(test => runs.get(test)?.ms ?? 0)
  const judge = async (mutant: Mutant, copy: TreeCopy): Promise<Verdict> => {
    const startedAt = performance.now()
    const { id, file, line, start, end, put, summary } = mutant
    const text = copy.read(file)
    const digest = digestOf(text)
    const covering = [...runs.values()].filter(each => hasRun(each, file, line, digest))
    const names = covering.map(({ test }) => test)
    const tests = affordable(
      order(file, names).slice(0, run.tests),
      test => runs.get(test)?.ms ?? 0,
    )
    const killedBy = await copy.firstFailure(
      new Map([[file, text.slice(0, start) + put + text.slice(end)]]),
      tests,
      test => timeoutFor(runs.get(test)?.ms ?? 0),
    )
    const place = `${file}:${line}`
    const ms = Math.round(performance.now() - startedAt)
    return { id, place, summary, killedBy, tests: tests.length, covering: names.length, ms }
  }
  const lane = async (): Promise<void> => {
    const copy = copyTree()
    try {
      for (let next = waiting.shift(); next && !run.isOver(); next = waiting.shift())
        run.onVerdict(await judge(next, copy))
    } finally {
      copy.remove()
    }
  }
  await Promise.all(Array.from({ length: run.lanes }, lane))
}

const readVerdicts = (): Map<string, Verdict> => {
  const text = existsSync(VERDICTS) ? readFileSync(VERDICTS, 'utf8') : ''
  const verdicts = text.split('\n').flatMap(line => (line ? (JSON.parse(line) as Verdict) : []))
  return new Map(verdicts.map(verdict => [verdict.id, verdict]))
}

/** Prints survivors and counts. Returns whether enough mutants are killed. Equivalent mutants do
 *  not count; mutants whose line no test runs count as survivors. */
const report = (mutants: readonly Mutant[], verdicts: ReadonlyMap<string, Verdict>): boolean => {
  const judged = mutants.flatMap(mutant => {
    const verdict = verdicts.get(mutant.id)
    return verdict ? [{ mutant, verdict }] : []
  })
  const survivors = judged.filter(({ verdict }) => verdict.killedBy === undefined)
  const open = survivors.filter(({ mutant }) => !isEquivalent(mutant))
  for (const { mutant, verdict } of open) {
    const tests = verdict.covering === 0 ? 'no test runs it' : `${verdict.tests} tests passed`
    console.log(`survived: ${mutant.file}:${mutant.line}: ${mutant.summary} (${tests})`)
  }
  const killed = judged.length - survivors.length
  const counted = killed + open.length
  const percent = counted === 0 ? 0 : (100 * killed) / counted
  const unrun = open.filter(({ verdict }) => verdict.covering === 0).length
  console.log(
    `${judged.length} of ${mutants.length} mutants judged: ${killed} killed, ${open.length} ` +
      `survived (no test runs ${unrun} of them), ${survivors.length - open.length} equivalent; ` +
      `${percent.toFixed(1)} % killed (at least ${LEAST_PERCENT} %)`,
  )
  return judged.length === mutants.length && percent >= LEAST_PERCENT
}

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '320' },
      seed: { type: 'string', default: '1' },
      lanes: { type: 'string', default: '2' },
      tests: { type: 'string', default: '12' },
      minutes: { type: 'string', default: '600' },
      survivors: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
    },
  })
  const patterns = positionals.length > 0 ? positionals : SOURCES
  const mutants = drawMutants(Number(values.count), Number(values.seed), patterns)
  const verdicts = readVerdicts()
  const isOpen = (mutant: Mutant): boolean => {
    const verdict = verdicts.get(mutant.id)
    if (!verdict) return !values.survivors
    return values.survivors && verdict.killedBy === undefined && !isEquivalent(mutant)
  }
  const until = performance.now() + Number(values.minutes) * 60_000
  const isOver = (): boolean => performance.now() > until
  const lanes = Number(values.lanes)
  if (!values.report) {
    await measureTests(SOURCES, lanes, isOver)
    await runMutants({
      mutants: isOver() ? [] : mutants.filter(isOpen),
      runs: readTestRuns(),
      lanes,
      tests: Number(values.tests),
      isOver,
      onVerdict(verdict) {
        verdicts.set(verdict.id, verdict)
        appendFileSync(VERDICTS, `${JSON.stringify(verdict)}\n`)
        const { place, summary, killedBy, tests, ms } = verdict
        const end = killedBy === undefined ? `SURVIVED ${tests} tests` : `killed by ${killedBy}`
        console.log(`${place}: ${summary}: ${end} (${ms} ms)`)
      },
    })
  }
  process.exitCode = report(mutants, verdicts) ? 0 : 1
}
if (import.meta.main) await main()
