/** Files that a document names (`format: file`) and those that they name: read once, part of the version. */
import { dirname, relative, resolve } from 'node:path'
import { shownPath } from '../snapshot/shown-path.ts'
import { nearest } from './nearest.ts'
import { type Place, type Problem, problems } from './problem.ts'
import type { Source } from './read.ts'

const problem = problems({
  FILE_MISSING: 'no readable file %j',
  JSON_SYNTAX: 'this is not JSON: %s',
})

/** `placeOf` finds where a name stands; it is asked only for a problem. */
export const attachments = (
  names: Iterable<string>,
  root: string,
  source: Source,
  placeOf: (name: string) => Place,
) => {
  /** By their path as it is shown. */
  const texts = new Map<string, string>()
  /** All that were tried, absolute. */
  const paths: string[] = []
  const found: Problem[] = []
  const add = (name: string, from: string, place: () => Place): void => {
    const path = resolve(from, name)
    const file = shownPath(root, path)
    if (texts.has(file)) return
    const text = source.text(path)
    paths.push(path)
    if (text === undefined) {
      const beside = source.list('*', dirname(path)).map(other => relative(from, other))
      found.push(problem('FILE_MISSING', place(), [name], nearest(relative(from, path), beside)))
      return
    }
    texts.set(file, text)
    if (!file.endsWith('.json')) return
    const fault = jsonFault(text)
    if (fault)
      found.push(problem('JSON_SYNTAX', placeIn(file, text, fault.position), [fault.words]))
    else
      for (const [match, other = ''] of text.matchAll(/"\$ref"\s*:\s*"([^"#:]+)(?:#[^"]*)?"/g))
        add(other, dirname(path), () => placeIn(file, text, text.indexOf(match), match.length))
  }
  for (const name of names) add(name, root, () => placeOf(name))
  return { texts, paths, problems: found }
}

const placeIn = (file: string, text: string, position: number, length = 1): Place => {
  const before = text.slice(0, position).split('\n')
  return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1, length }
}

const jsonFault = (text: string): { position: number; words: string } | undefined => {
  const message = refusal(text)
  if (message === undefined) return undefined
  const words = message.replace(/,? (\.\.\.)?".*| in JSON at position.*/s, '')
  const said = positionIn(message)
  if (said !== undefined) return { position: said, words }
  // V8 names no position here. It is where the text stops being the beginning of any JSON.
  let [low, high] = [0, text.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const part = refusal(text.slice(0, middle)) ?? 'end of JSON'
    if (part.includes('end of JSON') || (positionIn(part) ?? -1) >= middle) low = middle
    else high = middle - 1
  }
  return { position: low, words }
}
const refusal = (text: string): string | undefined => {
  try {
    JSON.parse(text)
    return undefined
  } catch (thrown) {
    return (thrown as Error).message
  }
}
const positionIn = (message: string): number | undefined => {
  const digits = /at position (\d+)/.exec(message)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
