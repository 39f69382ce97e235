/** Sample values for JSON Schemas: arguments of a tool call, structured answers. Pure. */
import type { Json } from '../../engine/plugin.ts'

type Schema = { readonly [keyword: string]: Json }

/** A value that matches most schemas: constants, defaults and enums first, then the type. */
export const sampleValue = (value: Json | undefined): Json => {
  const schema = (value ?? {}) as Schema
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] as Json
  const [branch] = [schema.anyOf, schema.oneOf].flatMap(each => (Array.isArray(each) ? each : []))
  if (branch !== undefined) return sampleValue(branch)
  const type = String(Array.isArray(schema.type) ? schema.type[0] : (schema.type ?? 'object'))
  return (SAMPLES[type.toLowerCase()] ?? sampleObject)(schema)
}
const SAMPLES: Readonly<Record<string, (schema: Schema) => Json>> = {
  string: () => 'sandbox',
  integer: ({ minimum }) => (typeof minimum === 'number' ? minimum : 1),
  number: ({ minimum }) => (typeof minimum === 'number' ? minimum : 1),
  boolean: () => true,
  null: () => null,
  array: ({ items }) => [sampleValue(items)],
}
const sampleObject = ({ properties, required }: Schema): Json => {
  const propertySchemas = (properties ?? {}) as Schema
  const names = Array.isArray(required) ? required.map(String) : Object.keys(propertySchemas)
  return Object.fromEntries(names.map(name => [name, sampleValue(propertySchemas[name])]))
}
