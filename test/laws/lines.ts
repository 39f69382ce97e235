/** The lines of a source file that ran, by V8's report of a process. */
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
/** Whether each character ran, as 1 or 0. */
export const wasRun = (text: string, { functions }: Script): Uint8Array => {
  const run = new Uint8Array(text.length).fill(1)
  const ranges = functions.flatMap(each => each.ranges)
  for (const { startOffset, endOffset, count } of ranges)
    run.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  return run
}
