/** Where the keys and values of one YAML file stand: looked up when a problem asks, never before. */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Document as Tree,
  type YAMLMap,
} from 'yaml'
import type { Place } from './problem.ts'
import { hasVariable } from './variables.ts'

export type Path = readonly (string | number)[]
/** The place of a piece of text, cut to its first line. */
export type At = (start: number, end?: number) => Place
/** What stands at a path, or the nearest thing around it. */
export interface Spot {
  place(what: 'key' | 'value'): Place
  /** The value as it is written, before variables were filled in. */
  readonly written: string
  /** Whether the value is (partly) given by a variable. */
  readonly varies: boolean
}
interface Pair {
  readonly key?: Node
  readonly value?: Node | undefined
}

export const placing =
  (file: string, text: string, lines: LineCounter): At =>
  (start, end = start + 1) => {
    const { line, col } = lines.linePos(start)
    const first = text.slice(start, end).split(/[\r\n]/, 1)[0] ?? ''
    // A byte order mark takes a character of the file but no column of an editor.
    const column = line === 1 && text.startsWith('\uFEFF') ? col - 1 : col
    const length = Math.max(1, first.trimEnd().length)
    return { file, line: Math.max(1, line), column: Math.max(1, column), length }
  }

export const finding = (tree: Tree, text: string, at: At): ((path: Path) => Spot) => {
  const indexes = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>()
  const target = (node: unknown) =>
    ((isAlias(node) ? node.resolve(tree) : node) ?? undefined) as Node | undefined
  const step = ({ value }: Pair, name: string | number): Pair | undefined => {
    if (isSeq(value))
      return value.items[Number(name)] ? { value: target(value.items[Number(name)]) } : undefined
    if (!isMap(value)) return undefined
    const index = indexes.get(value) ?? indexOf(value)
    indexes.set(value, index)
    const pair = index.get(String(name))
    return pair && { ...pair, value: target(pair.value) }
  }
  return path => {
    let found: Pair = { value: target(tree.contents) }
    for (const name of path) {
      const inner = step(found, name)
      if (!inner) break
      found = inner
    }
    return spotOf(found, text, at)
  }
}
const indexOf = ({ items }: YAMLMap): ReadonlyMap<string, Pair> =>
  new Map(
    items.map(({ key, value }) => [isScalar(key) ? String(key.value) : '', { key, value } as Pair]),
  )

const spotOf = ({ key, value }: Pair, text: string, at: At): Spot => {
  const [start = 0, end = 0] = value?.range ?? []
  const [keyStart = start, keyEnd = end] = key?.range ?? []
  return {
    // A value that is not there is shown at its key.
    place: what => (what === 'key' || start === end ? at(keyStart, keyEnd) : at(start, end)),
    written: text.slice(start, end),
    varies: isScalar(value) && typeof value.value === 'string' && hasVariable(value.value),
  }
}
