/** Files that a document names (`format: file`) and those that they name: read once, part of the version. */
import { dirname, relative, resolve } from 'node:path'
import { nearest } from './nearest.ts'
import { type Place, type Problem, problems } from './problem.ts'
import { type Source, shownPath } from './read.ts'

const problem = problems({
  FILE_MISSING: 'no readable file %j',
  JSON_SYNTAX: 'this is not JSON: %s',
})

export class Attachments {
  /** By their path as it is shown. */
  readonly texts = new Map<string, string>()
  readonly problems: Problem[] = []
  /** Every path that was tried, absolute. */
  readonly paths: string[] = []
  readonly #root: string
  readonly #source: Source

  constructor(root: string, source: Source) {
    this.#root = root
    this.#source = source
  }
  /** Reads `name`, relative to routes.yaml, and what it refers to. `place` is asked only for a problem. */
  add(name: string, place: () => Place, from = this.#root): void {
    const path = resolve(from, name)
    const file = shownPath(this.#root, path)
    if (this.texts.has(file)) return
    const text = this.#source.text(path)
    this.paths.push(path)
    if (text === undefined) {
      this.problems.push(problem('FILE_MISSING', place(), [name], this.#neighbour(path, from)))
      return
    }
    this.texts.set(file, text)
    if (file.endsWith('.json')) this.#json(path, file, text)
  }
  #json(path: string, file: string, text: string): void {
    const fault = jsonFault(text)
    if (fault) {
      this.problems.push(
        problem('JSON_SYNTAX', placeIn(file, text, fault.position), [fault.message]),
      )
      return
    }
    for (const match of text.matchAll(/"\$ref"\s*:\s*"(\.{0,2}[^"#:]+)(?:#[^"]*)?"/g)) {
      const name = match[1] ?? ''
      const position = match.index + match[0].lastIndexOf(name)
      this.add(name, () => placeIn(file, text, position, name.length), dirname(path))
    }
  }
  #neighbour(path: string, from: string): string | undefined {
    const beside = this.#source.list('*', dirname(path)).map(other => relative(from, other))
    return nearest(relative(from, path), beside)
  }
}

const placeIn = (file: string, text: string, position: number, length = 1): Place => {
  const before = text.slice(0, position).split('\n')
  return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1, length }
}

/** V8 says the position of some faults only; of the others it is where the text stops being a beginning of JSON. */
const jsonFault = (text: string): { position: number; message: string } | undefined => {
  const message = refusal(text)
  if (message === undefined) return undefined
  const words = message.replace(/,? ".*| in JSON at position.*/s, '')
  const said = positionIn(message)
  if (said !== undefined) return { position: said, message: words }
  let [low, high] = [0, text.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (isBeginning(text.slice(0, middle))) low = middle
    else high = middle - 1
  }
  return { position: low, message: words }
}
const refusal = (text: string): string | undefined => {
  try {
    JSON.parse(text)
    return undefined
  } catch (thrown) {
    return (thrown as Error).message
  }
}
const positionIn = (message: string) => {
  const digits = /at position (\d+)/.exec(message)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
const isBeginning = (text: string): boolean => {
  const message = refusal(text)
  if (message === undefined || /end of JSON input/.test(message)) return true
  return (positionIn(message) ?? -1) >= text.length
}
