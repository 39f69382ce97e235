/** Schemas that OpenAI's `strict` accepts: every object is closed, and requires all of its
 *  properties. Pure. */
import type { Json } from '../../engine/plugin.ts'
import { type Fields, isFields } from './fields.ts'
import type { DroppedFields } from './hub/codec.ts'
import { mapSubschemas } from './subschemas.ts'

/** The schema with its objects closed; undefined if it has optional properties, free keys, or
 *  keywords that are refused. */
const strictSchemaOf = (schema: Json | undefined): Fields | undefined => {
  const { type } = isFields(schema) ? schema : {}
  if (!isFields(schema) || (type !== undefined && type !== 'object')) return undefined
  const walk: Walk = { isStrict: true }
  const result = close(schema, walk)
  return walk.isStrict && isFields(result) ? result : undefined
}

interface Walk {
  isStrict: boolean
}
const REFUSED: readonly string[] = [
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'prefixItems',
  'contains',
]

const close = (schema: Json, walk: Walk): Json => {
  if (!isFields(schema)) return schema
  if (REFUSED.some(word => word in schema)) walk.isStrict = false
  const result: { [word: string]: Json } = {}
  for (const [word, value] of Object.entries(schema))
    result[word] = mapSubschemas(word, value, each => close(each, walk)) ?? value
  const { properties, required, type } = schema
  if (type !== 'object' && properties === undefined) return result
  const names = isFields(properties) ? Object.keys(properties) : []
  const requiredNames = new Set(Array.isArray(required) ? required : [])
  result.additionalProperties ??= false
  if (result.additionalProperties !== false || !names.every(name => requiredNames.has(name)))
    walk.isStrict = false
  // A schema without the member is refused even if there are no properties.
  return { ...result, properties: result.properties ?? {}, required: result.required ?? [] }
}

/** The name of a schema in the characters that OpenAI takes. */
export const schemaName = (name = 'answer'): string =>
  name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'answer'

/** A schema and its `strict`, as OpenAI's formats send them. `strict` without a schema that it
 *  accepts is reported as dropped by this name. */
export const strictly = (
  schema: Json | undefined,
  strict: boolean | undefined,
  name: 'strict' | 'form',
  dropped: DroppedFields,
): { readonly schema: Json | undefined; readonly strict: boolean | undefined } => {
  if (!strict) return { schema: withMembers(schema), strict }
  const strictSchema = strictSchemaOf(schema)
  if (!strictSchema) dropped.add(name)
  return { schema: strictSchema ?? withMembers(schema), strict: strictSchema !== undefined }
}

/** The schema of a function with what OpenAI demands of all: "object schema missing properties" at
 *  its root, "array schema missing items" anywhere. */
const withMembers = (schema: Json | undefined): Json | undefined => {
  if (!isFields(schema)) return schema
  const result = needsItems(schema) ? (withItems(schema) as Fields) : schema
  return result.type === 'object' && !('properties' in result)
    ? { ...result, properties: {} }
    : result
}
const needsOwnItems = (schema: Fields): boolean =>
  schema.type === 'array' && !('items' in schema) && !('prefixItems' in schema)
/** Most schemas have them all, and are not copied. */
const needsItems = (value: Json | undefined): boolean => {
  if (Array.isArray(value)) return value.some(needsItems)
  return isFields(value) && (needsOwnItems(value) || Object.values(value).some(needsItems))
}
const withItems = (schema: Json): Json => {
  if (!isFields(schema)) return schema
  const entries = Object.entries(schema).map(([word, value]) => [
    word,
    mapSubschemas(word, value, withItems) ?? value,
  ])
  return { ...Object.fromEntries(entries), ...(needsOwnItems(schema) && { items: {} }) }
}
