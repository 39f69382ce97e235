/** Collects the arguments of a call that arrive value by value: `{jsonPath: '$.a[0].b',
 *  stringValue, willContinue}`. */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, lenientObjects, lenientText } from '../../fields.ts'

type Node = Map<string, Node | Json> | (Node | Json)[]

export class PartialArguments {
  readonly #root: Map<string, Node | Json> = new Map()
  /** The path of the string that continues in the next piece. */
  #openPath: string | undefined

  constructor(args: Fields = {}) {
    for (const key in args) this.#root.set(key, args[key] ?? null)
  }
  add(call: Fields): void {
    for (const argument of lenientObjects(call, 'partialArgs')) {
      const path = lenientText(argument, 'jsonPath')
      if (path !== undefined) this.#set(path, argument)
    }
  }
  get json(): string {
    return JSON.stringify(toJson(this.#root))
  }
  /** The single argument of a free-text tool. */
  get input(): string {
    const input = this.#root.get('input')
    return typeof input === 'string' ? input : this.json
  }
  #set(path: string, argument: Fields): void {
    const steps = stepsOf(path)
    const last = steps.pop()
    if (last === undefined) return
    let node: Node = this.#root
    steps.forEach((step, index) => {
      node = childOf(node, step, typeof (steps[index + 1] ?? last) === 'number')
    })
    const prefix = this.#openPath === path ? read(node, last) : undefined
    const value = scalarIn(argument)
    if (value === undefined) return
    write(
      node,
      last,
      typeof prefix === 'string' && typeof value === 'string' ? prefix + value : value,
    )
    this.#openPath = argument.willContinue === true ? path : undefined
  }
}

const scalarIn = (argument: Fields): Json | undefined => {
  if ('nullValue' in argument) return null
  return argument.stringValue ?? argument.numberValue ?? argument.boolValue ?? undefined
}

/** `$.a[0]['b.c']` */
const STEP = /\.([^.[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/g
const stepsOf = (path: string): (string | number)[] =>
  [...path.matchAll(STEP)].map(([, name, index, single, double]) =>
    index === undefined ? (name ?? single ?? double ?? '').replace(/\\(.)/g, '$1') : Number(index),
  )

/** A list grows by at most one element per step, so that a large index cannot allocate a long
 *  list. */
const slotOf = (list: readonly unknown[], step: string | number): number =>
  Math.min(Number(step) || 0, list.length)
const read = (node: Node, step: string | number): Node | Json | undefined =>
  Array.isArray(node) ? node[slotOf(node, step)] : node.get(String(step))
const write = (node: Node, step: string | number, value: Node | Json): void => {
  if (Array.isArray(node)) node[slotOf(node, step)] = value
  else node.set(String(step), value)
}
const isNode = (value: Node | Json | undefined): value is Node =>
  value instanceof Map || Array.isArray(value)
const childOf = (node: Node, step: string | number, list: boolean): Node => {
  const existing = read(node, step)
  if (isNode(existing)) return existing
  const container: Node = list ? [] : new Map()
  write(node, step, container)
  return container
}
const toJson = (value: Node | Json): Json => {
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, each]) => [key, toJson(each)]))
  return Array.isArray(value) ? (value as (Node | Json)[]).map(toJson) : (value as Json)
}
