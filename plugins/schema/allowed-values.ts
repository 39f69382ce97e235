/** The allowed values of a field, in a few words, for the keyword that refused it. Pure. */
import type { ErrorObject } from 'ajv'

/** Characters of a list of values. */
const MOST = 200

interface Bounds {
  readonly type?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
}

/** `1 to 16`, `540p, 720p`, `at most 5000 characters`, `an integer, 1 to 16`; undefined if the
 *  keyword says nothing short. */
export const allowedBy = ({ keyword, params, parentSchema }: ErrorObject): string | undefined => {
  const bounds = (parentSchema ?? {}) as Bounds
  if (keyword === 'enum') return listed(params.allowedValues)
  if (keyword === 'const') return listed([params.allowedValue])
  if (keyword === 'maxLength') return `at most ${params.limit} characters`
  if (keyword === 'minLength') return `at least ${params.limit} characters`
  if (keyword === 'multipleOf') return `a multiple of ${params.multipleOf}`
  if (keyword === 'type')
    return [typesOf(params.type), rangeOf(bounds)].filter(Boolean).join(', ') || undefined
  return /^(?:exclusive)?m(?:in|ax)imum$/i.test(keyword) ? rangeOf(bounds) : undefined
}
const listed = (values: readonly unknown[]): string | undefined => {
  const text = values.map(String).filter(Boolean).join(', ')
  return text === '' || text.length > MOST ? undefined : text
}
const NAMES: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  integer: 'an integer',
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
}
const typesOf = (type: string | readonly string[]): string =>
  [type]
    .flat()
    .map(each => NAMES[each] ?? each)
    .join(' or ')
const rangeOf = ({
  minimum,
  maximum,
  exclusiveMinimum,
  exclusiveMaximum,
}: Bounds): string | undefined => {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  const parts = [
    minimum === undefined ? undefined : `at least ${minimum}`,
    exclusiveMinimum === undefined ? undefined : `above ${exclusiveMinimum}`,
    maximum === undefined ? undefined : `at most ${maximum}`,
    exclusiveMaximum === undefined ? undefined : `below ${exclusiveMaximum}`,
  ].filter(part => part !== undefined)
  return parts.length === 0 ? undefined : parts.join(', ')
}
