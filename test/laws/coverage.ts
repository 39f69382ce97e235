/** Holds the engine to its share of covered lines, from the summary a test run leaves behind. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const LEAST = 95

export type Summary = Readonly<
  Record<string, { readonly lines: { readonly total: number; readonly covered: number } }>
>
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

if (import.meta.main) {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const text = readFileSync(`${root}/.tap/report/coverage-summary.json`, 'utf8')
  const { percent, missing } = shareOf(JSON.parse(text), root, 'engine')
  console.log(`engine/ lines covered: ${percent.toFixed(2)} % (at least ${LEAST} %)`)
  if (percent < LEAST) {
    console.log(`FAILED: not covered:\n  ${missing.slice(0, 20).join('\n  ')}`)
    process.exitCode = 1
  }
}
