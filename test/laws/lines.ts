/** Line coverage from the V8 reports of many processes. Types are stripped in place, so offsets of
 *  the executed code are offsets of the source. */
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}
/** Ranges of a function lie in each other; outer ones come first. */
export interface Script {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Range[] }[]
}
export type Summary = Readonly<
  Record<string, { readonly lines: { readonly total: number; readonly covered: number } }>
>

/** Whether each line ran: a line inside of a range with count 0 did not. */
export const linesRun = (text: string, { functions }: Script): boolean[] => {
  let start = 0
  const lines = text.split('\n').map(line => {
    const textStart = start + (line.length - line.trimStart().length)
    start += line.length + 1
    return { start: textStart, end: start - 1 }
  })
  const run = lines.map(() => true)
  for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges))
    for (const [index, line] of lines.entries())
      if (line.start >= startOffset && line.end <= endOffset) run[index] = count > 0
  return run
}

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

/** The files of `folder` in `root`. In a file that no process loaded no line ran. */
export const summaryOf = (reports: string, root: string, folder: string): Summary => {
  const texts = new Map(
    globSync(`${folder}/**/*.{ts,cjs}`, { cwd: root }).flatMap(path => {
      const file = join(root, path)
      const text = readFileSync(file, 'utf8')
      return hasCode(text) ? [[file, text] as const] : []
    }),
  )
  const run = new Map<string, boolean[]>()
  for (const name of readdirSync(reports)) {
    for (const script of scriptsIn(join(reports, name))) {
      const file = script.url.startsWith('file:') ? fileURLToPath(script.url) : ''
      const text = texts.get(file)
      if (text === undefined) continue
      const before = run.get(file)
      const lines = linesRun(text, script)
      run.set(file, before ? lines.map((line, index) => line || before[index] === true) : lines)
    }
  }
  return Object.fromEntries(
    [...texts].map(([file, text]) => {
      const covered = run.get(file)?.filter(Boolean).length ?? 0
      return [file, { lines: { total: text.split('\n').length, covered } }]
    }),
  )
}
