/** JSON Pointers (RFC 6901): where a value is in an answer or a request. */
import type { Json } from '../../engine/plugin.ts'

export const POINTER = '^(?:/(?:[^~/]|~[01])*)*$'
/** Begins the name of a header that may hold an id. */
export const HEADER = 'header:'
export const ID_PLACE = `${POINTER}|^${HEADER}[A-Za-z][A-Za-z0-9-]*$`

/** A copy with a value at this place; missing objects on the way are made, and for the key 0
 *  lists. */
export const withPointer = (json: Json | undefined, pointer: string, value: Json): Json => {
  const [key, ...rest] = pointer.split('/').slice(1).map(unescapePart)
  if (key === undefined) return value
  const inner = rest.map(part => `/${escapePart(part)}`).join('')
  if (key === '0' && (json === undefined || Array.isArray(json))) {
    const [first, ...others] = (json ?? []) as readonly Json[]
    return [withPointer(first, inner, value), ...others]
  }
  const members = isObject(json) ? json : {}
  return { ...members, [key]: withPointer(members[key], inner, value) }
}
const isObject = (json: Json | undefined): json is { readonly [name: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json)
const unescapePart = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')
const escapePart = (part: string): string => part.replaceAll('~', '~0').replaceAll('/', '~1')

/** Undefined if there is no such value. */
export const readPointer = (json: Json | undefined, pointer: string): Json | undefined => {
  let value = json
  for (const part of pointer.split('/').slice(1)) {
    const key = unescapePart(part)
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Readonly<Record<string, Json>>)[key]
  }
  return value
}

/** Name of a member, or the place of an inner one -> where its value is; a list of places makes a
 *  list of values. */
export type MemberPlaces = Readonly<Record<string, string | readonly string[]>>
/** An object of the values at these places. A member without a value is left out, and so is a list
 *  without values. */
export const membersAt = (json: Json, places: MemberPlaces): { readonly [name: string]: Json } => {
  let members: Json = {}
  for (const [name, place] of Object.entries(places)) {
    const value = typeof place === 'string' ? readPointer(json, place) : listAt(json, place)
    const target = name.startsWith('/') ? name : `/${escapePart(name)}`
    if (value !== undefined) members = withPointer(members, target, value)
  }
  return members as { readonly [name: string]: Json }
}
const listAt = (json: Json, places: readonly string[]): readonly Json[] | undefined => {
  const list = places.flatMap(place => readPointer(json, place) ?? [])
  return list.length === 0 ? undefined : list
}
