/** Attached files: those that a document names (`format: file`) and those that they reference, read
 *  once and stored with the version. */
import { dirname } from 'node:path'
import { formatPath } from './format-path.ts'
import { keepByText } from './keep-by-text.ts'
import { nearest } from './nearest.ts'
import { locate, nameLike } from './plugins/program.ts'
import { defineProblems, type Place, type Problem } from './problem.ts'
import type { Source } from './read.ts'

const problem = defineProblems({
  FILE_MISSING: 'no readable file %j',
  JSON_SYNTAX: 'invalid JSON: %s',
})

/** `placeOf` finds the source position of a name; it is called only for a problem. */
export const readAttachments = (
  names: Iterable<string>,
  root: string,
  source: Source,
  placeOf: (name: string) => Place,
) => {
  /** Texts by displayed path. */
  const texts = new Map<string, string>()
  /** Absolute paths of all files, also of missing ones. */
  const paths: string[] = []
  const problems: Problem[] = []
  const add = (name: string, from: string, place: () => Place): void => {
    const path = locate(from, name)
    const file = formatPath(root, path)
    if (texts.has(file)) return
    const text = source.text(path)
    paths.push(path)
    if (text === undefined) {
      const nameOf = (each: string) => nameLike(name, from, each)
      const beside = source.list('*', dirname(path)).map(nameOf)
      problems.push(problem('FILE_MISSING', place(), [name], nearest(nameOf(path), beside)))
      return
    }
    texts.set(file, text)
    if (!file.endsWith('.json')) return
    const { fault, references } = examine(text)
    if (fault)
      problems.push(problem('JSON_SYNTAX', placeIn(file, text, fault.position), [fault.text]))
    for (const { name, match } of references)
      add(name, dirname(path), () => placeIn(file, text, text.indexOf(match), match.length))
  }
  for (const name of names) add(name, root, () => placeOf(name))
  return { texts, paths, problems: problems }
}

interface Examined {
  readonly fault: { readonly position: number; readonly text: string } | undefined
  /** Files that it refers to. `match`: the text of the reference. */
  readonly references: readonly { readonly name: string; readonly match: string }[]
}
const examine = keepByText((text): Examined => {
  const fault = jsonFault(text)
  if (fault) return { fault, references: [] }
  const matches = text.matchAll(/"\$ref"\s*:\s*"([^"#:]+)(?:#[^"]*)?"/g)
  return { fault, references: [...matches].map(([match, name = '']) => ({ name, match })) }
})

const placeIn = (file: string, text: string, position: number, length = 1): Place => {
  const before = text.slice(0, position).split('\n')
  return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1, length }
}

const jsonFault = (json: string): Examined['fault'] => {
  const message = parseError(json)
  if (message === undefined) return undefined
  const text = message.replace(/,? (\.\.\.)?".*| in JSON at position.*/s, '')
  const position = positionIn(message)
  if (position !== undefined) return { position, text }
  // V8 reports no position for this message: find where the text stops being a prefix of any JSON.
  let [low, high] = [0, json.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const part = parseError(json.slice(0, middle)) ?? 'end of JSON'
    if (part.includes('end of JSON') || (positionIn(part) ?? -1) >= middle) low = middle
    else high = middle - 1
  }
  return { position: low, text }
}
const parseError = (text: string): string | undefined => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
const positionIn = (message: string): number | undefined => {
  const digits = /at position (\d+)/.exec(message)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
