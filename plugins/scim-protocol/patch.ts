/** Filters, and changes of a resource by PATCH (RFC 7644 §3.4.2.2 and §3.5.2), as Entra ID and Okta
 *  write them. Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import { type Attributes, itemsAt, type Resource, readValue, sameName } from './attributes.ts'
import { fault } from './faults.ts'

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

/** The resource after the operations of a PATCH body. Throws SCIM_…. */
export const patch = (resource: Resource, body: Json, attributes: Attributes): Resource =>
  operationsIn(body).reduce((result, { op, path, value }) => {
    if (path !== undefined) return change(result, { op, path, value }, attributes)
    if (op === 'remove') throw fault('SCIM_TARGET')
    if (!isFields(value)) throw fault('SCIM_VALUE', ['Without `path`, `value` must be an object'])
    return Object.entries(value).reduce(
      (each, [name, inner]) => change(each, { op, path: name, value: inner }, attributes),
      result,
    )
  }, resource)

const change = (
  resource: Resource,
  { op, path: text, value }: Operation & { readonly path: string },
  attributes: Attributes,
): Resource => {
  const path = readPath(text, attributes)
  if (!path) return resource
  const { name } = path
  const { kind } = attributes[name] ?? {}
  if (op !== 'remove' && value === undefined)
    throw fault('SCIM_VALUE', [`The ${op} of ${name} has no value`])
  const isRemoval = op === 'remove' || value === null
  if (kind === 'list')
    return { ...resource, [name]: changeList(resource, { op, path, value }, attributes) }
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
  resource: Resource,
  { op, path, value }: Omit<Operation, 'path'> & { readonly path: Path },
  attributes: Attributes,
): ReturnType<typeof itemsAt> => {
  const { name, part, match } = path
  const items = itemsAt(resource, name)
  const read = (raw: Json | undefined) =>
    readValue(attributes, name, raw ?? []) as ReturnType<typeof itemsAt>
  if (!match) {
    if (op === 'replace') return read(value)
    const values = new Set(read(value).map(each => each.value))
    const others = items.filter(each => !values.has(each.value))
    if (op === 'add') return [...others, ...read(value)]
    // Without a value all items are removed.
    return value === undefined || value === null ? [] : others
  }
  const isMatch = (item: (typeof items)[number]): boolean =>
    String(item[match.part] ?? '').toLowerCase() === match.value.toLowerCase()
  if (op === 'remove' && part === undefined) return items.filter(each => !isMatch(each))
  const [added = {}] =
    op === 'remove' ? [] : read(part === undefined ? value : { [part]: value ?? null })
  const next = items.map(item => {
    if (!isMatch(item)) return item
    const { [part ?? '']: _, ...others } = item
    return { ...others, ...added }
  })
  // Entra ID sets the first work address so.
  if (op === 'remove' || items.some(isMatch)) return next
  return [...items, ...read({ [match.part]: match.value }).map(each => ({ ...each, ...added }))]
}
