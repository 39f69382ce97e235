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

export type Path = readonly (string | number)[]
/** The place of a piece of text, cut to its first line. */
export type At = (start: number, end?: number) => Place
export interface Found {
  readonly key: Node | undefined
  readonly value: Node | undefined
  /** Whether the whole path led there, not only its beginning. */
  readonly exact: boolean
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

/** The node at a path, else the nearest one around it. */
export const finding = (tree: Tree): ((path: Path) => Found) => {
  const indexes = new WeakMap<YAMLMap, Map<string, { key: Node; value: Node | undefined }>>()
  const index = (map: YAMLMap) => {
    const known = indexes.get(map)
    if (known) return known
    const made = new Map<string, { key: Node; value: Node | undefined }>()
    for (const { key, value } of map.items)
      if (isScalar(key)) made.set(String(key.value), { key, value: value as Node | undefined })
    indexes.set(map, made)
    return made
  }
  const target = (node: Node | null | undefined) =>
    (isAlias(node) ? node.resolve(tree) : node) ?? undefined
  return path => {
    let found: Found = { key: undefined, value: target(tree.contents), exact: true }
    for (const step of path) {
      const { value } = found
      if (isMap(value)) {
        const pair = index(value).get(String(step))
        if (!pair) return { ...found, exact: false }
        found = { key: pair.key, value: target(pair.value), exact: true }
      } else if (isSeq(value) && value.items[Number(step)] !== undefined) {
        found = { key: undefined, value: target(value.items[Number(step)] as Node), exact: true }
      } else return { ...found, exact: false }
    }
    return found
  }
}

/** A value that is not there is shown at its key. */
export const placeOf = ({ key, value }: Found, what: 'key' | 'value', at: At): Place => {
  const [start = 0, end = 0] = value?.range ?? []
  const [keyStart = start, keyEnd = end] = key?.range ?? []
  return what === 'key' || start === end ? at(keyStart, keyEnd) : at(start, end)
}
