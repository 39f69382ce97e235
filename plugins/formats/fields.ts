/** Reads JSON from outside: strictly from clients (mistakes become faults), leniently from
 *  upstreams. */
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import { fault } from './faults.ts'

export type Fields = { readonly [key: string]: Json }

export { isFields }

/** A whole number from 0 to 2^53 - 1. */
export const isCount = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
/** A count, or 0 if it is missing. Upstreams send null, omit counts, and sometimes send text. */
export const count = (value: Json | undefined): number => (isCount(value) ? value : 0)
/** A quantity that may be a fraction, such as seconds; 0 if it is missing. */
export const quantity = (value: Json | undefined): number =>
  typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0

/** A member that is an object; an empty object otherwise. */
export const lenientObject = (fields: Fields, key: string): Fields => {
  const value = fields[key]
  return isFields(value) ? value : EMPTY
}
const EMPTY: Fields = Object.freeze({})

/** JSON with the members of objects in order: equal values are equal texts. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, withSortedMembers)
const withSortedMembers = (_: string, value: unknown): unknown =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value

// ---------------------------------------------------------------- clients
// `at`: the path of the field, for error messages.

/** Undefined if the member is absent or null. */
export const textIn = (fields: Fields, key: string, at = key): string | undefined =>
  checkType(fields[key], at, 'a string', value => typeof value === 'string')
export const numberIn = (fields: Fields, key: string, at = key): number | undefined =>
  checkType(fields[key], at, 'a number', value => typeof value === 'number')
export const flagIn = (fields: Fields, key: string, at = key): boolean | undefined =>
  checkType(fields[key], at, 'a boolean', value => typeof value === 'boolean')
export const fieldsIn = (fields: Fields, key: string, at = key): Fields | undefined =>
  checkType(fields[key], at, 'an object', isFields)
/** The members that are not null. */
export const presentFieldsIn = (fields: Fields, key: string, at = key): Fields | undefined => {
  const value = fieldsIn(fields, key, at)
  return value && omitNull(value)
}
export const listIn = (fields: Fields, key: string, at = key): readonly Json[] | undefined =>
  checkType(fields[key], at, 'an array', Array.isArray)

const checkType = <T extends Json>(
  value: Json | undefined,
  at: string,
  kind: string,
  isType: (value: Json) => boolean,
): T | undefined => {
  if (value === undefined || value === null) return undefined
  if (!isType(value)) throw fault('MEMBER_TYPE', [at, kind], { param: at })
  return value as T
}

/** Requires a member to be present. */
export const requireMember = <T>(value: T | undefined, at: string): T => {
  if (value === undefined) throw fault('MEMBER_MISSING', [at], { param: at })
  return value
}
/** Requires an element of a list to be an object. */
export const requireObject = (value: Json | undefined, at: string): Fields => {
  if (!isFields(value)) throw fault('MEMBER_TYPE', [at, 'an object'], { param: at })
  return value
}

// ---------------------------------------------------------------- upstreams

/** A member that is text; undefined otherwise. */
export const lenientText = (fields: Fields, key: string): string | undefined => {
  const value = fields[key]
  return typeof value === 'string' ? value : undefined
}
/** The objects in a list; an empty list otherwise. */
export const lenientObjects = (fields: Fields, key: string): readonly Fields[] => {
  const value = fields[key]
  return Array.isArray(value) ? value.filter(isFields) : []
}

// ---------------------------------------------------------------- both

/** Whether a store keeps the text: PostgreSQL refuses U+0000 and unpaired surrogates in JSON. */
export const isStorable = (text: string, maxLength: number): boolean =>
  text.length <= maxLength && text.isWellFormed() && !text.includes('\0')

/** Omits the undefined members. */
export const omitUndefined = (members: { readonly [key: string]: Json | undefined }): Fields => {
  const result: { [key: string]: Json } = {}
  for (const key in members) {
    const value = members[key]
    if (value !== undefined) result[key] = value
  }
  return result
}
/** Omits the members that are null: they count as absent. */
export const omitNull = (fields: Fields): Fields => {
  const entries = Object.entries(fields)
  const present = entries.filter(([, value]) => value !== null)
  return present.length === entries.length ? fields : Object.fromEntries(present)
}
/** Looks up a key from outside in a table; inherited properties such as `constructor` do not
 *  match. */
export const lookUp = <T>(table: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined
/** Joins texts into one. JSON.stringify is two to three times as slow for an object that has a text
 *  made by `+` or a template: some 2 µs for an answer of 2 KB. */
export const joinText = (...parts: readonly string[]): string => parts.join('')
/** Parses JSON; undefined if the text is invalid. */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** The arguments of a call as an object, whatever the model wrote. */
export const argumentsOf = (input: string): Fields => {
  if (input.trim() === '') return {}
  const value = parseJson(input)
  return isFields(value) ? value : { input: value === undefined ? input : value }
}
