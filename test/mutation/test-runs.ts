/** Which lines of the source each test file runs, by V8's coverage of the test and of the
 *  processes that it starts. Plugins that a gateway has bundled do not count. Measured once for
 *  each test file and kept in `.tap/`. */
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, matchesGlob, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { passes } from '../helpers/tree-copy.ts'
import { linesRun } from '../laws/lines.ts'
import { scriptsIn } from '../laws/v8-reports.ts'
import { testFiles } from './nearest.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const RUNS = join(ROOT, '.tap', 'test-runs')
/** Milliseconds: a test that takes longer judges no mutant. */
const TIMEOUT = 120_000

export interface TestRun {
  readonly test: string
  readonly passed: boolean
  readonly ms: number
  /** By source file: a digest of its text, and a digit for each line, 1 if it ran. */
  readonly files: Readonly<Record<string, readonly [digest: string, lines: string]>>
}
export const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url')

const readLines = (reports: string, sources: readonly string[]): TestRun['files'] => {
  const files: Record<string, readonly [string, string]> = {}
  for (const script of readdirSync(reports).flatMap(name => scriptsIn(join(reports, name)))) {
    const file = script.url.startsWith('file:') ? relative(ROOT, fileURLToPath(script.url)) : ''
    if (!sources.some(pattern => matchesGlob(file, pattern)) || !existsSync(script.url.slice(7)))
      continue
    const text = readFileSync(join(ROOT, file), 'utf8')
    const before = files[file]?.[1] ?? ''
    const lines = linesRun(text, script).map((run, index) => (run || before[index] === '1' ? 1 : 0))
    files[file] = [digestOf(text), lines.join('')]
  }
  return files
}

export const measureTest = async (test: string, sources: readonly string[]): Promise<TestRun> => {
  const reports = mkdtempSync(join(tmpdir(), 'tollgate-reports-'))
  const startedAt = performance.now()
  const passed = await passes(ROOT, test, { timeout: TIMEOUT, coverage: reports })
  const ms = Math.round(performance.now() - startedAt)
  const files = readLines(reports, sources)
  rmSync(reports, { recursive: true })
  return { test, passed, ms, files }
}

/** Measures test files that have not been measured yet, until `isOver`. */
export const measureTests = async (
  sources: readonly string[],
  lanes: number,
  isOver: () => boolean,
): Promise<void> => {
  mkdirSync(RUNS, { recursive: true })
  const waiting = testFiles().filter(test => !existsSync(fileOf(test)))
  const lane = async (): Promise<void> => {
    for (let test = waiting.shift(); test !== undefined && !isOver(); test = waiting.shift()) {
      const run = await measureTest(test, sources)
      writeFileSync(fileOf(test), JSON.stringify(run))
      console.log(`measured ${test}: ${run.passed ? 'passed' : 'FAILED'} (${run.ms} ms)`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
const fileOf = (test: string): string => join(RUNS, `${test.replaceAll('/', '_')}.json`)

export const readTestRuns = (): TestRun[] =>
  readdirSync(RUNS).map(name => JSON.parse(readFileSync(join(RUNS, name), 'utf8')) as TestRun)

/** Whether a test ran this line; in a file that has changed since, whether it loaded the file. */
export const hasRun = (run: TestRun, file: string, line: number, digest: string): boolean => {
  const [before, lines] = run.files[file] ?? []
  return before !== undefined && (before !== digest || lines?.[line - 1] === '1')
}
