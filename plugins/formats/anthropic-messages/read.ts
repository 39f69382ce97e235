/** Reads members of a body: strictly from a client (an invalid member is a fault that names it),
 *  leniently from an upstream (an invalid member counts as missing). */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { type Fields, isFields } from '../fields.ts'

/** The name of this format, the origin of its own payloads. */
export const OWN = 'anthropic-messages'

/** The field's path in a client's request; undefined for an upstream's answer, which is read
 *  leniently. */
export type Place = string | undefined

export const within = (at: Place, key: string | number): Place => {
  if (at === undefined) return undefined
  if (typeof key === 'number') return `${at}[${key}]`
  return at === '' ? key : `${at}.${key}`
}

type Reader<T> = (fields: Fields, key: string, at: Place) => T | undefined

/** Null counts as missing. */
const reader =
  <T extends Json>(is: (value: Json) => value is T, expected: string): Reader<T> =>
  (fields, key, at) => {
    const value = fields[key]
    if (value === undefined || value === null) return undefined
    if (is(value)) return value
    return reject('MEMBER_TYPE', within(at, key), expected)
  }
export const text = reader((value): value is string => typeof value === 'string', 'a string')
export const number = reader((value): value is number => typeof value === 'number', 'a number')
export const flag = reader((value): value is boolean => typeof value === 'boolean', 'a boolean')
export const object = reader(isFields, 'an object')
export const list = reader((value): value is Json[] => Array.isArray(value), 'an array')

/** Ignores invalid members of an answer. */
const reject = (code: 'MEMBER_TYPE' | 'MEMBER_VALUE', at: Place, expected: string): undefined => {
  if (at !== undefined) throw fault(code, [at, expected], { param: at })
  return undefined
}

/** A required member; `otherwise` replaces it in an answer. */
export const needed = <T>(
  read: Reader<T>,
  fallback: T,
): ((fields: Fields, key: string, at: Place) => T) => {
  return (fields, key, at) => {
    const value = read(fields, key, at)
    if (value !== undefined) return value
    const name = within(at, key)
    if (name !== undefined) throw fault('MEMBER_MISSING', [name], { param: name })
    return fallback
  }
}
export const neededText = needed(text, '')
export const neededObject = needed<Fields>(object, {})

/** The objects of a list, each with its path. */
export const objects = (
  values: readonly Json[],
  at: Place,
): readonly { readonly fields: Fields; readonly at: Place }[] =>
  values.flatMap((value, index) => {
    const path = within(at, index)
    if (isFields(value)) return [{ fields: value, at: path }]
    reject('MEMBER_TYPE', path, 'an object')
    return []
  })
export const texts = (fields: Fields, key: string, at: Place): readonly string[] | undefined =>
  list(fields, key, at)?.flatMap((value, index) => {
    if (typeof value === 'string') return [value]
    reject('MEMBER_TYPE', within(within(at, key), index), 'a string')
    return []
  })

/** A value outside the allowed ones. */
export const misplaced = (at: Place, why: string): undefined => reject('MEMBER_VALUE', at, why)
