/** Holds the engine to its share of covered lines, from what a test run leaves behind. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COVERAGE } from './covered.ts'
import { type Summary, summaryOf } from './lines.ts'

export const LEAST = 95

interface Share {
  readonly percent: number
  /** The files that miss most lines first, as `path: lines missed`. */
  readonly missing: readonly string[]
}

/** The share of covered lines in one folder. */
export const shareOf = (summary: Summary, root: string, folder: string): Share => {
  const files = Object.entries(summary)
    .map(([path, { lines }]) => ({ path: relative(root, path), ...lines }))
    .filter(file => file.path.startsWith(`${folder}/`))
  const sum = (key: 'total' | 'covered'): number => files.reduce((all, file) => all + file[key], 0)
  return {
    percent: sum('total') === 0 ? 0 : (100 * sum('covered')) / sum('total'),
    missing: files
      .filter(file => file.covered < file.total)
      .sort((left, right) => right.total - right.covered - (left.total - left.covered))
      .map(file => `${file.path}: ${file.total - file.covered} of ${file.total} lines`),
  }
}

/** Says what a run covered. Whether that is enough. */
export const judgeCoverage = (): boolean => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const { percent, missing } = shareOf(summaryOf(COVERAGE, root, 'engine'), root, 'engine')
  console.log(`engine/ lines covered: ${percent.toFixed(2)} % (at least ${LEAST} %)`)
  if (percent >= LEAST) return true
  console.log(`FAILED: not covered:\n  ${missing.slice(0, 20).join('\n  ')}`)
  return false
}

if (import.meta.main && !judgeCoverage()) process.exitCode = 1
