/** Filters, and changes of a resource by PATCH (RFC 7644 §3.4.2.2 and §3.5.2), as Entra ID and Okta
 *  write them. Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import { type Attributes, itemsAt, type Resource, readValue, sameName } from './attributes.ts'
import { fault } from './faults.ts'
import { ItemList } from './item-list.ts'

const CORE = String.raw`(?:urn:ietf:params:scim:schemas:core:2\.0:\w+:)?`
const COMPARISON = String.raw`(\w+) +eq +("(?:[^"\\]|\\.)*"|true|false)`
const FILTER = new RegExp(`^ *${CORE}${COMPARISON} *$`, 'i')
/** A name; `[part eq "text"]`; `.part`. */
const PATH = new RegExp(String.raw`^${CORE}(\w+)(?:\[ *${COMPARISON} *\])?(?:\.(\w+))?$`, 'i')
/** An attribute of another schema, such as that of enterprise users. */
const OTHER_SCHEMA = /^urn:[\w.:-]+:[\w.]+$/i

const parsed = (text: string): string | undefined => {
  try {
    return String(JSON.parse(text))
  } catch {
    return undefined
  }
}
/** Throws SCIM_FILTER. */
export const readFilter = (text: string, names: readonly string[]) => {
  const [, attribute = '', quoted = ''] = FILTER.exec(text) ?? []
  const name = sameName(names, attribute)
  const value = parsed(quoted)
  if (name === undefined || value === undefined) throw fault('SCIM_FILTER', [names.join(' or ')])
  return { name, value }
}

interface Path {
  readonly name: string
  readonly part: string | undefined
  readonly match: { readonly part: string; readonly value: string } | undefined
}
/** Undefined: an attribute that the gateway does not keep. Throws SCIM_PATH. */
const readPath = (text: string, attributes: Attributes): Path | undefined => {
  const [, first = '', matched, quoted = '', last] = PATH.exec(text) ?? []
  if (first === '') {
    if (OTHER_SCHEMA.test(text)) return undefined
    throw fault('SCIM_PATH', [text.slice(0, 100)])
  }
  const name = sameName(Object.keys(attributes), first)
  if (name === undefined) return undefined
  const { kind, parts = [] } = attributes[name] ?? {}
  const part = last === undefined ? undefined : sameName(parts, last)
  if (last !== undefined && part === undefined && kind === 'object') return undefined
  const match = matched === undefined ? undefined : sameName(parts, matched)
  const value = parsed(quoted)
  const isOfList = kind === 'list'
  if (
    (last !== undefined && part === undefined) ||
    (matched !== undefined && (!isOfList || match === undefined || value === undefined)) ||
    (isOfList && part !== undefined && match === undefined)
  )
    throw fault('SCIM_PATH', [text.slice(0, 100)])
  return {
    name,
    part,
    match: match === undefined ? undefined : { part: match, value: value ?? '' },
  }
}

type WithPath<P> = Omit<Operation, 'path'> & { readonly path: P }
interface Operation {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path: string | undefined
  readonly value: Json | undefined
}
const OPS = ['add', 'replace', 'remove'] as const
const MOST_OPERATIONS = 1_000

const operationsIn = (body: Json): readonly Operation[] => {
  const key = isFields(body) && sameName(Object.keys(body), 'Operations')
  const list = isFields(body) && key ? body[key] : undefined
  if (!Array.isArray(list) || list.length === 0 || list.length > MOST_OPERATIONS)
    throw fault('SCIM_SYNTAX', [`The body must have 1 to ${MOST_OPERATIONS} Operations`])
  return list.map(each => {
    const { op, path, value } = isFields(each) ? each : {}
    const name = OPS.find(known => known === String(op).toLowerCase())
    if (!name) throw fault('SCIM_SYNTAX', ['`op` must be add, replace or remove'])
    if (path !== undefined && typeof path !== 'string') throw fault('SCIM_PATH', [typeof path])
    return { op: name, path, value }
  })
}

/** The lists that the operations of a body have changed so far, by attribute. */
type Lists = Map<string, ItemList>

/** The resource after the operations of a PATCH body. Throws SCIM_…. */
export const patch = (resource: Resource, body: Json, attributes: Attributes): Resource => {
  const lists: Lists = new Map()
  const apply = (result: Resource, operation: WithPath<string>): Resource => {
    const path = readPath(operation.path, attributes)
    if (!path) return result
    if (operation.op !== 'remove' && operation.value === undefined)
      throw fault('SCIM_VALUE', [`The ${operation.op} of ${path.name} has no value`])
    if (attributes[path.name]?.kind !== 'list')
      return change(result, { ...operation, path }, attributes)
    const list = lists.get(path.name) ?? new ItemList(itemsAt(result, path.name))
    lists.set(path.name, list)
    changeList(list, { ...operation, path }, attributes)
    return result
  }
  const result = operationsIn(body).reduce((before, { op, path, value }) => {
    if (path !== undefined) return apply(before, { op, path, value })
    if (op === 'remove') throw fault('SCIM_TARGET')
    if (!isFields(value)) throw fault('SCIM_VALUE', ['Without `path`, `value` must be an object'])
    return Object.entries(value).reduce(
      (each, [name, inner]) => apply(each, { op, path: name, value: inner }),
      before,
    )
  }, resource)
  const changed = [...lists].map(([name, { items }]) => [name, items] as const)
  return { ...result, ...Object.fromEntries(changed) }
}

const change = (
  resource: Resource,
  { op, path, value }: WithPath<Path>,
  attributes: Attributes,
): Resource => {
  const { name } = path
  const { kind } = attributes[name] ?? {}
  const isRemoval = op === 'remove' || value === null
  if (path.part !== undefined) {
    const { [path.part]: _, ...others } = objectAt(resource, name)
    const added = isRemoval ? {} : readValue(attributes, name, { [path.part]: value ?? null })
    return { ...resource, [name]: { ...others, ...(added as object) } }
  }
  // A user without `active` would be active.
  if (isRemoval && kind === 'boolean')
    throw fault('SCIM_VALUE', [`${name} can be replaced, not removed`])
  if (isRemoval) return without(resource, name)
  const read = readValue(attributes, name, value ?? null)
  // Parts that a replacement does not name stay (RFC 7644 §3.5.2.3).
  const next = kind === 'object' ? { ...objectAt(resource, name), ...(read as object) } : read
  return { ...resource, [name]: next }
}
const without = (resource: Resource, name: string): Resource =>
  Object.fromEntries(Object.entries(resource).filter(([each]) => each !== name))
const objectAt = (resource: Resource, name: string): Readonly<Record<string, string>> =>
  (resource[name] ?? {}) as Readonly<Record<string, string>>

const changeList = (
  list: ItemList,
  { op, path, value }: WithPath<Path>,
  attributes: Attributes,
): void => {
  const { name, part, match } = path
  const read = (raw: Json | undefined) =>
    readValue(attributes, name, raw ?? []) as ReturnType<typeof itemsAt>
  if (!match) {
    const items = read(value)
    if (op === 'add') list.add(items)
    // A removal without a value removes all items: `items` is empty.
    else if (op === 'replace' || value === undefined || value === null) list.replaceAll(items)
    else list.remove(items)
    return
  }
  const { part: matched, value: text } = match
  if (op === 'remove' && part === undefined) {
    list.changeMatches(matched, text, () => undefined)
    return
  }
  const [added = {}] =
    op === 'remove' ? [] : read(part === undefined ? value : { [part]: value ?? null })
  const isFound = list.changeMatches(matched, text, item => {
    const { [part ?? '']: _, ...others } = item
    return { ...others, ...added }
  })
  // Entra ID sets the first work address so.
  if (op !== 'remove' && !isFound)
    list.append(read({ [matched]: text }).map(each => ({ ...each, ...added })))
}
