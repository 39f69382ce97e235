/** Source positions of the keys and values of a YAML file, computed on demand for a problem. */
import { isAlias, isMap, isScalar, isSeq, type LineCounter, type Node, type YAMLMap } from 'yaml'
import type { Place } from '../problem.ts'
import {
  linesOf,
  type ParsedPart,
  type Parts,
  type PlacedPart,
  type SplitSection,
} from './parsed-text.ts'
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

type Find = (path: Path) => SourceNode

/** Finds the node at a path in the parts of a file. */
export const createFind = (parts: Parts, at: PlaceOf): Find => {
  const finds = new Map<PlacedPart, Find>()
  return path => {
    const [first] = parts
    const placed = parts.find(({ part }) => part.key === String(path[0])) ?? first
    const find = finds.get(placed) ?? createFindInPart(placed, at)
    finds.set(placed, find)
    return find(path)
  }
}
/** Positions in a part that begins at `start`. */
export const shift =
  (at: PlaceOf, start: number): PlaceOf =>
  (from, end = from + 1) =>
    at(start + from, start + end)

const createFindInPart = ({ part, start }: PlacedPart, at: PlaceOf): Find =>
  'entries' in part
    ? createFindInSection(part, shift(at, start))
    : createFindInTree(part, shift(at, start))

const createFindInSection = (section: SplitSection, at: PlaceOf): Find => {
  const { text, key, keyAt, isList, entries } = section
  const byKey = new Map(entries.map((each, index) => [isList ? `${index}` : each.part.key, each]))
  const last = entries.at(-1) ?? entries[0]
  const from = entries[0].start + (entries[0].part.tree.contents?.range[0] ?? 0)
  const end = last.start + (last.part.tree.contents?.range[1] ?? 0)
  const whole = rangeNode(text, at, [keyAt, text.length], [keyAt, text.length])
  const ownNode = rangeNode(text, at, [keyAt, keyAt + key.length], [from, end])
  return ([name, step, ...rest]) => {
    if (name !== key) return whole
    const entry = step === undefined ? undefined : byKey.get(`${step}`)
    if (!entry) return ownNode
    const find = createFindInTree(entry.part, shift(at, entry.start))
    return find([isList ? 0 : (step ?? ''), ...rest])
  }
}
type Range = readonly [start: number, end: number]
const rangeNode = (text: string, at: PlaceOf, key: Range, value: Range): SourceNode => ({
  place: what => at(...(what === 'key' ? key : value)),
  source: text.slice(...value),
  hasVariable: false,
})

const createFindInTree = ({ text, tree }: ParsedPart, at: PlaceOf): Find => {
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
    return toSourceNode(pair, text, at)
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
