/** Source positions of the keys and values of a YAML file, computed on demand for a problem. */
import { isAlias, isMap, isScalar, isSeq, type LineCounter, type Node, type YAMLMap } from 'yaml'
import type { Place } from '../problem.ts'
import { linesOf, type Parts, type PlacedPart } from './parsed-text.ts'
import { hasVariable } from './variables.ts'

export type Path = readonly (string | number)[]
/** The place of a text range; its length ends with the first line. */
export type PlaceOf = (start: number, end?: number) => Place
/** The node at a path, or the nearest enclosing one. */
export interface SourceNode {
  place(what: 'key' | 'value'): Place
  /** Source text of the value, before variables are expanded. */
  readonly source: string
  /** Whether the value contains a variable. */
  readonly hasVariable: boolean
}
interface Pair {
  readonly key?: Node
  readonly value?: Node | undefined
}

export const createPlaceOf = (file: string, text: string): PlaceOf => {
  let lines: LineCounter | undefined
  return (start, end = start + 1) => {
    lines ??= linesOf(text)
    const { line, col } = lines.linePos(start)
    const first = text.slice(start, end).split(/[\r\n]/, 1)[0] ?? ''
    // Editors do not count a byte order mark as a column.
    const column = line === 1 && text.startsWith('\uFEFF') ? col - 1 : col
    const length = Math.max(1, first.trimEnd().length)
    return { file, line: Math.max(1, line), column: Math.max(1, column), length }
  }
}

/** Finds the node at a path in the parts of a file. */
export const createFind = (parts: Parts, at: PlaceOf): ((path: Path) => SourceNode) => {
  const finds = new Map<PlacedPart, (path: Path) => SourceNode>()
  return path => {
    const [first] = parts
    const placed = parts.find(({ part }) => part.section === String(path[0])) ?? first
    const find = finds.get(placed) ?? createFindIn(placed, at)
    finds.set(placed, find)
    return find(path)
  }
}

const createFindIn = ({ part, start }: PlacedPart, at: PlaceOf): ((path: Path) => SourceNode) => {
  const { text, tree } = part
  const placeOf: PlaceOf = (from, end = from + 1) => at(start + from, start + end)
  const indexes = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>()
  const resolveAlias = (node: unknown) =>
    ((isAlias(node) ? node.resolve(tree) : node) ?? undefined) as Node | undefined
  const step = ({ value }: Pair, name: string | number): Pair | undefined => {
    if (isSeq(value))
      return value.items[Number(name)]
        ? { value: resolveAlias(value.items[Number(name)]) }
        : undefined
    if (!isMap(value)) return undefined
    const index = indexes.get(value) ?? indexOf(value)
    indexes.set(value, index)
    const pair = index.get(String(name))
    return pair && { ...pair, value: resolveAlias(pair.value) }
  }
  return path => {
    let pair: Pair = { value: resolveAlias(tree.contents) }
    for (const name of path) {
      const inner = step(pair, name)
      if (!inner) break
      pair = inner
    }
    return toSourceNode(pair, text, placeOf)
  }
}
const indexOf = ({ items }: YAMLMap): ReadonlyMap<string, Pair> =>
  new Map(
    items.map(({ key, value }) => [isScalar(key) ? String(key.value) : '', { key, value } as Pair]),
  )

const toSourceNode = ({ key, value }: Pair, text: string, at: PlaceOf): SourceNode => {
  const [start = 0, end = 0] = value?.range ?? []
  const [keyStart = start, keyEnd = end] = key?.range ?? []
  return {
    // An empty value is shown at its key.
    place: what => (what === 'key' || start === end ? at(keyStart, keyEnd) : at(start, end)),
    source: text.slice(start, end),
    hasVariable: isScalar(value) && typeof value.value === 'string' && hasVariable(value.value),
  }
}
