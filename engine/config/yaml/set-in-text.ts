/** Writes values into the text of a YAML file. All other characters stay: comments,
 *  order, quotes, line ends. Pure. */
import { isDeepStrictEqual } from 'node:util'
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type ParsedNode,
  parseDocument,
  stringify,
  type YAMLMap,
} from 'yaml'
import { errors } from '../../errors.ts'
import type { EditPath, Json } from '../../plugin.ts'

const fault = errors({
  EDIT_SYNTAX: [409, 'Line %d of the file cannot be changed here: %s'],
  EDIT_ITEM: [404, 'The file has no item with %s in "%s"'],
  EDIT_PLACE: [
    409,
    'The value of "%s" in line %d cannot be changed here: it is %s. Change it in the file.',
  ],
})
/** Characters of a line up to which a map is written on it. */
const LONGEST_LINE = 120

type Tree = Document<ParsedNode>
interface Place {
  /** The node at the end of the known part of the path. */
  readonly node: Node | null
  /** The parts of the path that the text lacks. */
  readonly rest: EditPath
  readonly key: Node | undefined
  readonly isShared: boolean
}

/** How many parts of the path the text has; -1: it has errors of YAML. */
export const depthIn = (text: string, path: EditPath): number => {
  const tree = parseDocument(text)
  if (tree.errors.length > 0) return -1
  try {
    return path.length - locate(tree, path).rest.length
  } catch {
    return 0
  }
}

/** The text with the value at the path. Throws EDIT_SYNTAX, EDIT_ITEM, EDIT_PLACE. */
export const setInText = (text: string, path: EditPath, value: Json): string => {
  const tree = parse(text)
  const place = locate(tree, path)
  if (place.isShared)
    throw fault('EDIT_PLACE', [nameOf(path), lineOf(text, place.node), 'shared by an anchor'])
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const changed = place.rest.length === 0 ? replace(text, place, value) : insert(text, place, value)
  const result = end === '\n' ? changed : changed.replace(/\r?\n/g, end)
  if (!isAsWanted(tree, result, path, value))
    throw fault('EDIT_PLACE', [nameOf(path), lineOf(text, place.node), 'written in another way'])
  return result
}

const parse = (text: string): Tree => {
  const tree = parseDocument(text)
  const [error] = tree.errors
  if (error)
    throw fault('EDIT_SYNTAX', [error.linePos?.[0].line ?? 1, error.message.split('\n')[0]])
  return tree
}
const lineOf = (text: string, node: Node | null | undefined): number =>
  text.slice(0, node?.range?.[0] ?? 0).split('\n').length
/** As messages name it: `upstreams.a.url`. */
export const nameOf = (path: EditPath): string =>
  path.map(step => (typeof step === 'string' ? step : Object.values(step)[0])).join('.')

const locate = ({ contents }: Tree, path: EditPath): Place => {
  let node: Node | null = contents
  let key: Node | undefined
  let isShared = false
  for (const [index, step] of path.entries()) {
    isShared ||= hasAnchor(node)
    if (typeof step !== 'string') {
      const item = isSeq(node) ? node.items.find(each => fits(each, step)) : undefined
      if (!item) throw fault('EDIT_ITEM', [Object.values(step)[0], nameOf(path.slice(0, index))])
      node = item as Node
      key = undefined
      continue
    }
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      : undefined
    if (!pair) return { node, rest: path.slice(index), key, isShared }
    key = pair.key as Node
    node = pair.value as Node | null
  }
  return { node, rest: [], key, isShared: isShared || hasAnchor(node) }
}
/** Other entries have the same value. */
const hasAnchor = (node: Node | null): boolean =>
  isAlias(node) || (node as { anchor?: string } | null)?.anchor !== undefined
const fits = (item: unknown, members: object): boolean =>
  isMap(item) && Object.entries(members).every(([name, value]) => item.get(name) === value)

// ---------------------------------------------------------------- a value in place of another

const replace = (text: string, { node, key }: Place, value: Json): string => {
  const [start = 0, end = 0] = node?.range ?? []
  if (isEmpty(node) || isBlock(node)) {
    const colon = text.indexOf(':', key?.range?.[1] ?? 0)
    const until = isBlock(node) ? Math.max(end, colon + 1) : colon + 1
    const lineEnd = text[until - 1] === '\n' ? '\n' : ''
    return `${text.slice(0, colon + 1)} ${flow(value)}${lineEnd}${text.slice(until)}`
  }
  return text.slice(0, start) + flow(value) + text.slice(end)
}
/** `key:` without a value. */
const isEmpty = (node: Node | null): boolean =>
  node === null || (isScalar(node) && node.value === null && node.source === '')
const isBlock = (node: Node | null): boolean =>
  (isMap(node) || isSeq(node)) && node.flow !== true && node.items.length > 0

// ---------------------------------------------------------------- a key that the text lacks

const insert = (text: string, place: Place, value: Json): string => {
  const { node, rest, key } = place
  const [first = '', ...inner] = rest.map(String)
  const nested = inner.reduceRight<Json>((part, name) => ({ [name]: part }), value)
  if (isMap(node)) {
    if (node.flow) return insertInFlow(text, node, `${flow(first)}: ${flow(nested)}`)
    if (node.items.length > 0) return insertInBlock(text, node, rest, value)
  }
  if (isEmpty(node) && key) {
    const indent = columnOf(text, key) + 2
    const at = endOfLine(text, key.range?.[1] ?? 0)
    return addLines(text, at, block(rest, value, indent))
  }
  if (isEmpty(node) && !key) return addLines(text, text.length, block(rest, value, 0))
  throw fault('EDIT_PLACE', [
    isScalar(key) ? String(key.value) : first,
    lineOf(text, node),
    'not a map',
  ])
}

const insertInFlow = (text: string, node: YAMLMap, entry: string): string => {
  const [start, end] = node.range ?? [0, 0]
  const last = node.items.at(-1)
  if (!last) return `${text.slice(0, start)}{ ${entry} }${text.slice(end)}`
  const at = endOfNode((last.value ?? last.key) as Node)
  const isLong = text.slice(start, end).includes('\n')
  const indent = ' '.repeat(columnOf(text, last.key as Node))
  return `${text.slice(0, at)},${isLong ? `\n${indent}` : ' '}${entry}${text.slice(at)}`
}

const insertInBlock = (text: string, node: YAMLMap, rest: EditPath, value: Json): string => {
  const [first] = node.items
  const last = node.items.at(-1)
  const at = lastCharacter((last?.value ?? last?.key) as Node)
  const position = text[at - 1] === '\n' ? at : endOfLine(text, at)
  return addLines(text, position, block(rest, value, columnOf(text, first?.key as Node)))
}
/** The end of the last value in a node. */
const lastCharacter = (node: Node): number => {
  if ((isMap(node) || isSeq(node)) && !node.flow) {
    const last = node.items.at(-1) as Node | { key: Node; value: Node | null } | undefined
    if (last && 'key' in last) return lastCharacter(last.value ?? last.key)
    if (last) return lastCharacter(last as Node)
  }
  return endOfNode(node)
}
const endOfNode = (node: Node): number => node.range?.[1] ?? 0
const endOfLine = (text: string, from: number): number => {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end + 1
}
const columnOf = (text: string, { range }: Node): number => {
  const start = range?.[0] ?? 0
  return start - (text.lastIndexOf('\n', start - 1) + 1)
}
const addLines = (text: string, at: number, lines: string): string => {
  const before = text.slice(0, at)
  return `${before}${before === '' || before.endsWith('\n') ? '' : '\n'}${lines}${text.slice(at)}`
}

// ---------------------------------------------------------------- values as text

const flow = (value: Json): string =>
  // As in a list: there the rules for quotes are those of flow maps, which hold everywhere.
  stringify([value], { collectionStyle: 'flow', lineWidth: 0 }).trim().slice(1, -1).trim()

/** `a:`, `b: value` below it: a map goes on lines of its own where one is too short. */
const block = (path: EditPath, value: Json, indent: number): string => {
  const [first = '', ...inner] = path.map(String)
  const head = `${' '.repeat(indent)}${flow(first)}:`
  if (inner.length > 0) return `${head}\n${block(inner, value, indent + 2)}`
  const line = `${head} ${flow(value)}`
  const isMapValue = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (line.length <= LONGEST_LINE || !isMapValue) return `${line}\n`
  const entries = Object.entries(value).map(([name, each]) => block([name], each, indent + 2))
  return `${head}\n${entries.join('')}`
}

// ---------------------------------------------------------------- checking the changed text

/** Whether the new text has the value, and all else as before. */
const isAsWanted = (before: Tree, text: string, path: EditPath, value: Json): boolean => {
  const after = parseDocument(text)
  if (after.errors.length > 0) return false
  return isDeepStrictEqual(after.toJS(), withValue(before.toJS() as Json, path, value))
}
const withValue = (tree: Json, path: EditPath, value: Json): Json => {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (typeof step === 'string') {
    const fields = (tree ?? {}) as { readonly [name: string]: Json }
    return { ...fields, [step]: withValue(fields[step] ?? null, rest, value) }
  }
  const items = tree as readonly Json[]
  const index = items.findIndex(each =>
    Object.entries(step).every(
      ([name, word]) => (each as { readonly [name: string]: Json } | null)?.[name] === word,
    ),
  )
  return items.map((each, at) => (at === index ? withValue(each, rest, value) : each))
}
