/** One order of keywords in all schemas, so that the text does not depend on how a schema is
 *  written. Members of `properties` keep their order. Pure. */
import { isFields } from '../../kit.ts'

/** Others follow these, in their own order. */
const ORDER = [
  '$schema',
  '$id',
  '$ref',
  '$comment',
  'title',
  'description',
  'type',
  'const',
  'enum',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'exclusiveMinimum',
  'maximum',
  'minItems',
  'maxItems',
  'uniqueItems',
  'items',
  'minProperties',
  'maxProperties',
  'required',
  'propertyNames',
  'additionalProperties',
  'properties',
  'patternProperties',
  'anyOf',
  'allOf',
  'default',
  'examples',
]
const RANKS: ReadonlyMap<string, number> = new Map(ORDER.map((keyword, rank) => [keyword, rank]))
/** Keywords whose members are schemas by name. */
const BY_NAME = ['properties', 'patternProperties', 'dependencies', '$defs', 'definitions']
/** Keywords whose values are not schemas. */
const VALUES = ['const', 'enum', 'default', 'examples', 'required']

export const orderKeywords = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(orderKeywords)
  if (!isFields(schema)) return schema
  const rank = (keyword: string): number => RANKS.get(keyword) ?? ORDER.length
  const keywords = Object.keys(schema).sort((a, b) => rank(a) - rank(b))
  return Object.fromEntries(keywords.map(each => [each, orderValue(each, schema[each])]))
}
const orderValue = (keyword: string, value: unknown): unknown => {
  if (VALUES.includes(keyword)) return value
  if (!BY_NAME.includes(keyword) || !isFields(value)) return orderKeywords(value)
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, orderKeywords(each)]),
  )
}
