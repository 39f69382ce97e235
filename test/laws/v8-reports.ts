/** Coverage of source files from the V8 reports of many processes: what ran in any of them. Types
 *  are stripped in place, so offsets of the executed code are offsets of the source. */
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { branchesOf, branchesRun } from './branches.ts'
import { addBundle, type Bundle, type FileRun, readBundle } from './bundles.ts'
import { linesRun, type Script } from './lines.ts'

interface Part {
  readonly total: number
  readonly covered: number
}
export interface FileCoverage {
  readonly lines: Part
  readonly branches: Part
  /** The lines of branches that did not run. */
  readonly missing: readonly number[]
}
export type Summary = Readonly<Record<string, FileCoverage>>

/** Whether a file has code to cover: a file of types has none. */
const hasCode = (text: string): boolean =>
  /^(?:export )?(?:default|const|let|class|function|async|await)\b|require\(/m.test(text)

/** The scripts of a report; none if the process was killed while it wrote it. */
export const scriptsIn = (report: string): readonly Script[] => {
  try {
    return (JSON.parse(readFileSync(report, 'utf8')) as { result: Script[] }).result
  } catch {
    return []
  }
}

/** The files of these folders in `root`, with what their processes and the bundles in them ran. In
 *  a file that no process loaded nothing ran. */
export const summaryOf = (reports: string, root: string, folders: readonly string[]): Summary => {
  const files = new Map(
    folders
      .flatMap(folder => globSync(`${folder}/**/*.{ts,cjs}`, { cwd: root }))
      .flatMap(path => {
        const file = readFileRun(path, readFileSync(join(root, path), 'utf8'))
        return file ? [[join(root, path), file] as const] : []
      }),
  )
  const bundles = new Map<string, Bundle | undefined>()
  for (const script of readdirSync(reports).flatMap(name => scriptsIn(join(reports, name)))) {
    if (!script.url.startsWith('file:')) continue
    const path = fileURLToPath(script.url)
    const file = files.get(path)
    if (file) {
      addTo(file.linesRun, linesRun(file.text, script))
      addTo(file.branchesRun, branchesRun(file.branches, script))
    } else if (path.endsWith('.mjs')) {
      if (!bundles.has(path)) bundles.set(path, readBundle(path, files))
      const bundle = bundles.get(path)
      if (bundle) addBundle(bundle, script)
    }
  }
  return Object.fromEntries(
    [...files].map(([path, file]) => [
      path,
      {
        lines: partOf(file.linesRun),
        branches: partOf(file.branchesRun),
        missing: file.branches.flatMap(({ line }, index) => (file.branchesRun[index] ? [] : line)),
      },
    ]),
  )
}
const readFileRun = (path: string, text: string): FileRun | undefined => {
  if (!hasCode(text)) return undefined
  const branches = branchesOf(path, text)
  const lines = text.split('\n').map(() => false)
  return { text, branches, linesRun: lines, branchesRun: branches.map(() => false) }
}
const addTo = (sum: boolean[], more: readonly boolean[]): void => {
  for (const [index, run] of more.entries()) if (run) sum[index] = true
}
const partOf = (all: readonly boolean[]): Part => ({
  total: all.length,
  covered: all.filter(Boolean).length,
})
