/** Collects the arguments of a call that arrive value by value: `{jsonPath: '$.a[0].b',
 *  stringValue, willContinue}`. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, itemsIn, wordIn } from '../fields.ts'

type Node = Map<string, Node | Json> | (Node | Json)[]

export class PartialArgs {
  readonly #root: Map<string, Node | Json> = new Map()
  /** The path of the string that continues in the next piece. */
  #unfinished: string | undefined

  constructor(args: Fields = {}) {
    for (const key in args) this.#root.set(key, args[key] ?? null)
  }
  take(call: Fields): void {
    for (const given of itemsIn(call, 'partialArgs')) {
      const path = wordIn(given, 'jsonPath')
      if (path !== undefined) this.#put(path, given)
    }
  }
  get json(): string {
    return JSON.stringify(plain(this.#root))
  }
  /** The single argument of a free-text tool. */
  get input(): string {
    const input = this.#root.get('input')
    return typeof input === 'string' ? input : this.json
  }
  #put(path: string, given: Fields): void {
    const steps = stepsOf(path)
    const last = steps.pop()
    if (last === undefined) return
    let node: Node = this.#root
    steps.forEach((step, index) => {
      node = child(node, step, typeof (steps[index + 1] ?? last) === 'number')
    })
    const more = this.#unfinished === path ? read(node, last) : undefined
    const value = scalarIn(given)
    if (value === undefined) return
    write(node, last, typeof more === 'string' && typeof value === 'string' ? more + value : value)
    this.#unfinished = given.willContinue === true ? path : undefined
  }
}

const scalarIn = (given: Fields): Json | undefined => {
  if ('nullValue' in given) return null
  return given.stringValue ?? given.numberValue ?? given.boolValue ?? undefined
}

/** `$.a[0]['b.c']` */
const STEP = /\.([^.[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/g
const stepsOf = (path: string): (string | number)[] =>
  [...path.matchAll(STEP)].map(([, name, index, single, double]) =>
    index === undefined ? (name ?? single ?? double ?? '').replace(/\\(.)/g, '$1') : Number(index),
  )

/** A list grows by at most one element per step, so that a large index cannot allocate a long
 *  list. */
const slot = (list: readonly unknown[], step: string | number): number =>
  Math.min(Number(step) || 0, list.length)
const read = (node: Node, step: string | number): Node | Json | undefined =>
  Array.isArray(node) ? node[slot(node, step)] : node.get(String(step))
const write = (node: Node, step: string | number, value: Node | Json): void => {
  if (Array.isArray(node)) node[slot(node, step)] = value
  else node.set(String(step), value)
}
const isNode = (value: Node | Json | undefined): value is Node =>
  value instanceof Map || Array.isArray(value)
const child = (node: Node, step: string | number, list: boolean): Node => {
  const found = read(node, step)
  if (isNode(found)) return found
  const made: Node = list ? [] : new Map()
  write(node, step, made)
  return made
}
const plain = (value: Node | Json): Json => {
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, each]) => [key, plain(each)]))
  return Array.isArray(value) ? (value as (Node | Json)[]).map(plain) : (value as Json)
}
