/** Reads members of a body: strictly from a client (an invalid member is a fault that names it),
 *  leniently from an upstream (an invalid member counts as missing). */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { type Fields, isFields, lenientObjects } from '../fields.ts'
import type { MediaPlace } from '../media/media-places.ts'

/** The name of this format, the origin of its own payloads. */
export const NAME = 'anthropic-messages'

/** The field's path in a client's request; undefined for an upstream's answer, which is read
 *  leniently. */
export type FieldPath = string | undefined

export const memberPath = (at: FieldPath, key: string | number): FieldPath => {
  if (at === undefined) return undefined
  if (typeof key === 'number') return `${at}[${key}]`
  return at === '' ? key : `${at}.${key}`
}

type Reader<T> = (fields: Fields, key: string, at: FieldPath) => T | undefined

/** A reader of members of one type; null counts as missing. */
const reader =
  <T extends Json>(isType: (value: Json) => value is T, expectation: string): Reader<T> =>
  (fields, key, at) => {
    const value = fields[key]
    if (value === undefined || value === null) return undefined
    if (isType(value)) return value
    return reject('MEMBER_TYPE', memberPath(at, key), expectation)
  }
export const textIn = reader((value): value is string => typeof value === 'string', 'a string')
export const numberIn = reader((value): value is number => typeof value === 'number', 'a number')
export const flagIn = reader((value): value is boolean => typeof value === 'boolean', 'a boolean')
export const objectIn = reader(isFields, 'an object')
export const listIn = reader((value): value is Json[] => Array.isArray(value), 'an array')

/** Throws a fault for a client's invalid member; ignores an invalid member of an answer. */
const reject = (
  code: 'MEMBER_TYPE' | 'MEMBER_VALUE',
  at: FieldPath,
  expectation: string,
): undefined => {
  if (at !== undefined) throw fault(code, [at, expectation], { param: at })
  return undefined
}

/** A required member; `fallback` replaces it in an answer. */
export const requiredReader = <T>(
  read: Reader<T>,
  fallback: T,
): ((fields: Fields, key: string, at: FieldPath) => T) => {
  return (fields, key, at) => {
    const value = read(fields, key, at)
    if (value !== undefined) return value
    const name = memberPath(at, key)
    if (name !== undefined) throw fault('MEMBER_MISSING', [name], { param: name })
    return fallback
  }
}
export const requiredText = requiredReader(textIn, '')
export const requiredObject = requiredReader<Fields>(objectIn, {})

/** The objects of a list, each with its path. */
export const objectsIn = (
  values: readonly Json[],
  at: FieldPath,
): readonly { readonly fields: Fields; readonly at: FieldPath }[] =>
  values.flatMap((value, index) => {
    const path = memberPath(at, index)
    if (isFields(value)) return [{ fields: value, at: path }]
    reject('MEMBER_TYPE', path, 'an object')
    return []
  })
export const textsIn = (
  fields: Fields,
  key: string,
  at: FieldPath,
): readonly string[] | undefined =>
  listIn(fields, key, at)?.flatMap((value, index) => {
    if (typeof value === 'string') return [value]
    reject('MEMBER_TYPE', memberPath(memberPath(at, key), index), 'a string')
    return []
  })

/** A value outside the allowed ones. */
export const rejectValue = (at: FieldPath, why: string): undefined =>
  reject('MEMBER_VALUE', at, why)

/** Media of messages, also in results of tools. */
export const mediaIn = (body: Fields): readonly MediaPlace[] =>
  lenientObjects(body, 'messages').flatMap(message => {
    const isOfUser = message.role === 'user'
    return lenientObjects(message, 'content').flatMap(block => [
      ...placeOf(block, isOfUser),
      ...lenientObjects(block, 'content').flatMap(part => placeOf(part, false)),
    ])
  })
const placeOf = ({ type, source }: Fields, isOfUser: boolean): readonly MediaPlace[] =>
  type === 'image' || type === 'document'
    ? [{ kind: type, isUrl: isFields(source) && source.type === 'url', isOfUser }]
    : []
