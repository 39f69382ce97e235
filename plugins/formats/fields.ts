/** Reading JSON that others wrote: of clients, whose mistakes are named, and of upstreams, whose are let pass. */
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import { fault } from './faults.ts'

export type Fields = { readonly [key: string]: Json }

export { isFields }

/** A whole number that is not negative and exact: up to 2^53. */
export const isCount = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
/** A count, or 0 where there is none. Upstreams write null, leave out, and once in a while send text or nonsense. */
export const count = (value: Json | undefined): number => (isCount(value) ? value : 0)
/** A quantity that may be a fraction: seconds. 0 where there is none. */
export const quantity = (value: Json | undefined): number =>
  typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0

/** A member that is an object, or one without members. */
export const inner = (fields: Fields, key: string): Fields => {
  const value = fields[key]
  return isFields(value) ? value : NOTHING
}
const NOTHING: Fields = Object.freeze({})

// ---------------------------------------------------------------- of clients: `at` is the place, as they would name it

/** Absent where the member is absent or null. */
export const textIn = (fields: Fields, key: string, at = key): string | undefined =>
  typed(fields[key], at, 'a string', value => typeof value === 'string')
export const numberIn = (fields: Fields, key: string, at = key): number | undefined =>
  typed(fields[key], at, 'a number', value => typeof value === 'number')
export const flagIn = (fields: Fields, key: string, at = key): boolean | undefined =>
  typed(fields[key], at, 'a boolean', value => typeof value === 'boolean')
export const fieldsIn = (fields: Fields, key: string, at = key): Fields | undefined =>
  typed(fields[key], at, 'an object', isFields)
export const listIn = (fields: Fields, key: string, at = key): readonly Json[] | undefined =>
  typed(fields[key], at, 'an array', Array.isArray)

const typed = <T extends Json>(
  value: Json | undefined,
  at: string,
  kind: string,
  fits: (value: Json) => boolean,
): T | undefined => {
  if (value === undefined || value === null) return undefined
  if (!fits(value)) throw fault('MEMBER_TYPE', [at, kind], { param: at })
  return value as T
}

/** As above, where it must be there. */
export const need = <T>(value: T | undefined, at: string): T => {
  if (value === undefined) throw fault('MEMBER_MISSING', [at], { param: at })
  return value
}
/** An element of a list that must be an object. */
export const element = (value: Json | undefined, at: string): Fields => {
  if (!isFields(value)) throw fault('MEMBER_TYPE', [at, 'an object'], { param: at })
  return value
}

// ---------------------------------------------------------------- of upstreams

/** Only what is a text; anything else is as if it were absent. */
export const wordIn = (fields: Fields, key: string): string | undefined => {
  const value = fields[key]
  return typeof value === 'string' ? value : undefined
}
/** Only the objects in a list; of anything else, none. */
export const itemsIn = (fields: Fields, key: string): readonly Fields[] => {
  const value = fields[key]
  return Array.isArray(value) ? value.filter(isFields) : []
}

// ---------------------------------------------------------------- of both

/** Members without those that are undefined: what a format writes when it has nothing to say. */
export const present = (members: { readonly [key: string]: Json | undefined }): Fields => {
  const kept: { [key: string]: Json } = {}
  for (const key in members) {
    const value = members[key]
    if (value !== undefined) kept[key] = value
  }
  return kept
}
/** What a table says of a word that somebody else wrote: `constructor` stands in none. */
export const entryOf = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined
/** JSON of a text, or undefined. */
export const parsed = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
