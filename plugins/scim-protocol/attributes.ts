/** The attributes of users and groups that the gateway keeps. Others are ignored, since providers
 *  send all that they have. Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import { fault } from './faults.ts'

/** An entry of `emails` or `members`. */
export type Item = Readonly<Record<string, string | boolean>>
type Value = string | boolean | Readonly<Record<string, string>> | readonly Item[]
/** A user or a group with canonical names. */
export type Resource = Readonly<Record<string, Value>>
type Kind = 'text' | 'boolean' | 'object' | 'list'
export interface Attribute {
  readonly kind: Kind
  /** Of an object or of the items of a list. */
  readonly parts?: readonly string[]
}
export type Attributes = Readonly<Record<string, Attribute>>

export const USER: Attributes = {
  userName: { kind: 'text' },
  externalId: { kind: 'text' },
  active: { kind: 'boolean' },
  displayName: { kind: 'text' },
  name: { kind: 'object', parts: ['formatted', 'familyName', 'givenName', 'middleName'] },
  emails: { kind: 'list', parts: ['value', 'type', 'primary', 'display'] },
}
export const GROUP: Attributes = {
  displayName: { kind: 'text' },
  externalId: { kind: 'text' },
  members: { kind: 'list', parts: ['value', 'display'] },
}

const LONGEST = 256
const MOST_ITEMS = 10_000

/** Names are compared without case (RFC 7643 §2.1). */
export const sameName = (names: readonly string[], name: string): string | undefined =>
  names.find(each => each.toLowerCase() === name.toLowerCase())

/** The resource in a body; what it lacks is absent, and null is the same (RFC 7643 §2.5). */
export const readResource = (body: Json, attributes: Attributes): Resource => {
  if (!isFields(body)) throw fault('SCIM_SYNTAX', ['The body must be a JSON object'])
  const names = Object.keys(attributes)
  const entries = Object.entries(body).flatMap(([key, value]) => {
    const name = sameName(names, key)
    return name === undefined || value === null ? [] : [[name, readValue(attributes, name, value)]]
  })
  return Object.fromEntries(entries)
}
export const readValue = (attributes: Attributes, name: string, value: Json): Value => {
  const { kind, parts = [] } = attributes[name] ?? { kind: 'text' }
  if (kind === 'text') return readText(name, value)
  if (kind === 'boolean') return readBoolean(name, value)
  if (kind === 'object') return readObject(name, value, parts)
  const items = Array.isArray(value) ? value : [value]
  if (items.length > MOST_ITEMS) throw fault('SCIM_TOO_MANY', [MOST_ITEMS])
  return items.map(each => readItem(name, each, parts))
}
const readText = (name: string, value: Json): string => {
  // Some directories have numbers where others have texts.
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text === 'string' && text.length <= LONGEST && !/\p{Cc}/u.test(text)) return text
  throw fault('SCIM_VALUE', [`${name} must be a text of at most ${LONGEST} characters`])
}
/** Entra ID sends `"False"`. */
const readBoolean = (name: string, value: Json): boolean => {
  const text = String(value).toLowerCase()
  if (text === 'true' || text === 'false') return text === 'true'
  throw fault('SCIM_VALUE', [`${name} must be true or false`])
}
const knownParts = (name: string, value: Json, parts: readonly string[]) => {
  if (!isFields(value)) throw fault('SCIM_VALUE', [`${name} must be an object`])
  return Object.entries(value).flatMap(([key, each]): readonly (readonly [string, Json])[] => {
    const part = sameName(parts, key)
    return part === undefined || each === null ? [] : [[part, each]]
  })
}
const readObject = (name: string, value: Json, parts: readonly string[]) =>
  Object.fromEntries(
    knownParts(name, value, parts).map(([part, each]) => [part, readText(`${name}.${part}`, each)]),
  )
const readItem = (name: string, value: Json, parts: readonly string[]): Item =>
  Object.fromEntries(
    knownParts(name, value, parts).map(([part, each]) => [
      part,
      part === 'primary' ? readBoolean(part, each) : readText(`${name}.${part}`, each),
    ]),
  )

export const textAt = (resource: Resource, name: string): string | undefined => {
  const value = resource[name]
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}
export const itemsAt = (resource: Resource, name: string): readonly Item[] => {
  const value = resource[name]
  return Array.isArray(value) ? value : []
}
