/** Checks the coverage of the engine and the ledger, from the reports of a test run. Lines and
 *  branches count (`branches.ts` says which), and what ran in any process of the measured tests. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COVERAGE } from './covered.ts'
import { type Summary, summaryOf } from './v8-reports.ts'

const LEAST_PERCENT = {
  engine: { lines: 95, branches: 92 },
  'plugins/ledger': { lines: 95, branches: 92 },
} as const

interface Coverage {
  readonly percent: number
  /** The files that miss most first, as `path: 2 of 40 branches, lines 7, 9`. */
  readonly missing: readonly string[]
}

/** The coverage of one folder. */
export const coverageOf = (
  summary: Summary,
  root: string,
  folder: string,
  kind: 'lines' | 'branches',
): Coverage => {
  const files = Object.entries(summary)
    .map(([path, file]) => ({ path: relative(root, path), ...file[kind], at: file.missing }))
    .filter(file => file.path.startsWith(`${folder}/`))
  const sum = (key: 'total' | 'covered'): number => files.reduce((all, file) => all + file[key], 0)
  return {
    percent: sum('total') === 0 ? 0 : (100 * sum('covered')) / sum('total'),
    missing: files
      .filter(file => file.covered < file.total)
      .sort((a, b) => b.total - b.covered - (a.total - a.covered))
      .map(({ path, covered, total, at }) => {
        const places = kind === 'branches' ? `, lines ${at.join(', ')}` : ''
        return `${path}: ${total - covered} of ${total} ${kind}${places}`
      }),
  }
}

/** Prints the coverage. Returns whether it reaches `LEAST_PERCENT`. */
export const judgeCoverage = (): boolean => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const summary = summaryOf(COVERAGE, root, Object.keys(LEAST_PERCENT))
  let isEnough = true
  for (const [folder, least] of Object.entries(LEAST_PERCENT))
    for (const kind of ['lines', 'branches'] as const) {
      const { percent, missing } = coverageOf(summary, root, folder, kind)
      console.log(`${folder}/ ${kind} covered: ${percent.toFixed(2)} % (at least ${least[kind]} %)`)
      if (percent >= least[kind]) continue
      isEnough = false
      console.log(`FAILED: not covered:\n  ${missing.slice(0, 20).join('\n  ')}`)
    }
  return isEnough
}

if (import.meta.main && !judgeCoverage()) process.exitCode = 1
