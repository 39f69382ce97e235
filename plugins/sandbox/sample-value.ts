/** Sample values for JSON Schemas: arguments of a tool call, structured answers. Pure. */
import type { Json } from '../../engine/plugin.ts'
import { type Fields, fieldsIn, listIn } from './sandbox-format.ts'

/** Schemas inside schemas beyond which only what is required is made. */
const MAX_DEPTH = 12
/** Beyond it a schema that requires itself has no value. */
const MAX_RECURSION = 24

/** A value that matches most schemas: references are followed, then constants, defaults and enums
 *  come first, then the type. */
export const sampleValue = (schema: Json | undefined): Json => sampleOf({ root: schema }, schema, 0)

interface Context {
  /** The document that references point into. */
  readonly root: Json | undefined
}
const sampleOf = (context: Context, value: Json | undefined, depth: number): Json => {
  if (depth > MAX_RECURSION) return null
  const schema = resolved(context, fieldsIn(value))
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  const [choice] = listIn(schema.enum)
  if (choice !== undefined) return choice
  const branches = [...listIn(schema.anyOf), ...listIn(schema.oneOf)]
  // The last branch of a schema that contains itself is mostly the one that ends it.
  const branch = branches.at(depth > MAX_DEPTH ? -1 : 0)
  if (branch !== undefined) return sampleOf(context, branch, depth + 1)
  const [type] = [schema.type].flat()
  const name = String(type ?? (schema.items === undefined ? 'object' : 'array')).toLowerCase()
  return (SAMPLES[name] ?? sampleObject)(schema, context, depth)
}

// ---------------------------------------------------------------- references

/** The schema with those that it refers to, and those of `allOf`, merged into it. */
const resolved = (context: Context, schema: Fields): Fields => {
  const followed = new Set<string>()
  let { $ref, ...merged } = schema
  while (typeof $ref === 'string' && !followed.has($ref)) {
    followed.add($ref)
    const target = fieldsIn(pointed(context.root, $ref))
    const { $ref: next, ...rest } = target
    merged = mergeSchemas(rest, merged)
    $ref = next as Json
  }
  const { allOf, ...rest } = merged
  return listIn(allOf).reduce<Fields>(
    (whole, part) =>
      whole === part ? whole : mergeSchemas(whole, resolvedPart(context, part, followed)),
    rest,
  )
}
const resolvedPart = (context: Context, part: Json, followed: ReadonlySet<string>): Fields => {
  const fields = fieldsIn(part)
  return typeof fields.$ref === 'string' && followed.has(fields.$ref)
    ? {}
    : resolved(context, fields)
}
const mergeSchemas = (one: Fields, other: Fields): Fields => ({
  ...one,
  ...other,
  ...(one.properties !== undefined && {
    properties: { ...fieldsIn(one.properties), ...fieldsIn(other.properties) },
  }),
  ...(Array.isArray(one.required) && {
    required: [...new Set([...one.required, ...listIn(other.required)])],
  }),
})
/** The schema at a JSON pointer such as `#/$defs/step`. */
const pointed = (root: Json | undefined, reference: string): Json | undefined => {
  if (!reference.startsWith('#')) return undefined
  const names = decodeURIComponent(reference.slice(1)).split('/').slice(1)
  return names.reduce<Json | undefined>((value, name) => {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    return Array.isArray(value) ? value[Number(key)] : fieldsIn(value)[key]
  }, root)
}

// ---------------------------------------------------------------- types

type Sample = (schema: Fields, context: Context, depth: number) => Json

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'sandbox@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}
const sampleText: Sample = ({ format, minLength, maxLength }) => {
  const text = FORMATS[String(format)] ?? 'sandbox'
  const least = Number(minLength ?? 0)
  return text.padEnd(Math.min(least, 10_000), 'x').slice(0, Number(maxLength ?? Infinity))
}
const sampleNumber: Sample = ({
  minimum,
  exclusiveMinimum,
  maximum,
  exclusiveMaximum,
  multipleOf,
}) => {
  const step = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : 1
  const least = [minimum, exclusiveMinimum].filter(each => typeof each === 'number')
  const most = [maximum, exclusiveMaximum].filter(each => typeof each === 'number')
  if (least.length > 0) {
    const start = Math.ceil(Math.max(...least) / step) * step
    return start === exclusiveMinimum ? start + step : start
  }
  const end = Math.floor(Math.min(...most, step) / step) * step
  return end === exclusiveMaximum ? end - step : end
}
const sampleList: Sample = ({ items, prefixItems, minItems, maxItems }, context, depth) => {
  const first = listIn(prefixItems)
  const usual = depth > MAX_DEPTH || maxItems === 0 || (first.length > 0 && !items) ? 0 : 1
  const count = Math.min(Math.max(first.length, usual, Number(minItems ?? 0)), 100)
  return Array.from({ length: count }, (_, at) => sampleOf(context, first[at] ?? items, depth + 1))
}
const sampleObject: Sample = ({ properties, required }, context, depth) => {
  const schemas = fieldsIn(properties)
  const isRequired = Array.isArray(required) || depth > MAX_DEPTH
  const names = isRequired ? listIn(required).map(String) : Object.keys(schemas)
  return Object.fromEntries(names.map(name => [name, sampleOf(context, schemas[name], depth + 1)]))
}
const SAMPLES: Readonly<Record<string, Sample>> = {
  string: sampleText,
  integer: sampleNumber,
  number: sampleNumber,
  boolean: () => true,
  null: () => null,
  array: sampleList,
}
