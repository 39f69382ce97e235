/** Checks the line coverage of the engine, from the reports of a test run. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COVERAGE } from './covered.ts'
import { type Summary, summaryOf } from './lines.ts'

export const LEAST_PERCENT = 95

interface Coverage {
  readonly percent: number
  /** The files that miss most lines first, as `path: lines missed`. */
  readonly missing: readonly string[]
}

/** The line coverage of one folder. */
export const coverageOf = (summary: Summary, root: string, folder: string): Coverage => {
  const files = Object.entries(summary)
    .map(([path, { lines }]) => ({ path: relative(root, path), ...lines }))
    .filter(file => file.path.startsWith(`${folder}/`))
  const sum = (key: 'total' | 'covered'): number => files.reduce((all, file) => all + file[key], 0)
  return {
    percent: sum('total') === 0 ? 0 : (100 * sum('covered')) / sum('total'),
    missing: files
      .filter(file => file.covered < file.total)
      .sort((a, b) => b.total - b.covered - (a.total - a.covered))
      .map(file => `${file.path}: ${file.total - file.covered} of ${file.total} lines`),
  }
}

/** Prints the line coverage of the engine. Returns whether it reaches `LEAST_PERCENT`. */
export const judgeCoverage = (): boolean => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const { percent, missing } = coverageOf(summaryOf(COVERAGE, root, 'engine'), root, 'engine')
  console.log(`engine/ lines covered: ${percent.toFixed(2)} % (at least ${LEAST_PERCENT} %)`)
  if (percent >= LEAST_PERCENT) return true
  console.log(`FAILED: not covered:\n  ${missing.slice(0, 20).join('\n  ')}`)
  return false
}

if (import.meta.main && !judgeCoverage()) process.exitCode = 1
