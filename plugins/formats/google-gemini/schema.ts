/** Converts JSON Schema to Google's subset of OpenAPI, for models that accept nothing else. A table
 *  holds the rule for each keyword. */
import type { Json } from '../../../engine/plugin.ts'
import { entryOf, type Fields, isFields } from '../fields.ts'

/** Receives every constraining keyword that is dropped. */
type Lost = (word: string) => void
interface Walk {
  readonly lost: Lost
  readonly root: Fields
  /** The references being resolved; a recursive one ends here. */
  readonly inside: readonly string[]
  /** The number of schemas that may still be written: nested references could expand
   *  exponentially. */
  readonly budget: { left: number }
}
const MOST = 5_000
type Written = { [key: string]: Json }
type Rule = (schema: Written, value: Json, walk: Walk, given: Fields) => void

export const openApi = (schema: Json, lost: Lost): Fields => {
  const root = isFields(schema) ? schema : {}
  return write(root, { lost, root, inside: [], budget: { left: MOST } })
}
/** Google rejects an object without properties, so a function without parameters has no schema. */
export const isEmpty = ({ type, properties }: Fields): boolean =>
  type === 'OBJECT' && (!isFields(properties) || Object.keys(properties).length === 0)

const write = (given: Json | undefined, walk: Walk): Fields => {
  const schema: Written = {}
  if (walk.budget.left-- <= 0) return { type: 'STRING' }
  const [fields, deeper] = resolved(isFields(given) ? given : {}, walk)
  for (const [word, value] of Object.entries(fields)) {
    const rule = entryOf(RULES, word)
    if (rule) rule(schema, value, deeper, fields)
    else if (!SILENT.has(word)) walk.lost(word)
  }
  return complete(schema)
}
/** Resolves a reference and merges the keywords beside it. */
const resolved = (given: Fields, walk: Walk): readonly [Fields, Walk] => {
  const { $ref: reference, ...beside } = given
  if (typeof reference !== 'string') return [given, walk]
  if (walk.inside.includes(reference)) {
    walk.lost('$ref')
    return [{ type: 'object', ...beside }, walk]
  }
  const path = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
  let found: Json | undefined = walk.root
  for (const step of path)
    found = isFields(found) ? found[step.replace(/~1/g, '/').replace(/~0/g, '~')] : undefined
  const inside = [...walk.inside, reference]
  return resolved({ ...(isFields(found) ? found : {}), ...beside }, { ...walk, inside })
}
/** Adds the keywords that Google requires. */
const complete = (schema: Written): Fields => {
  if (schema.anyOf !== undefined) return schema
  schema.type ??= schema.properties ? 'OBJECT' : schema.items ? 'ARRAY' : 'STRING'
  if (schema.type === 'ARRAY') schema.items ??= { type: 'STRING' }
  if (Array.isArray(schema.required) && isFields(schema.properties)) {
    const known = schema.properties
    schema.required = schema.required.filter(name => typeof name === 'string' && name in known)
    if (schema.required.length === 0) delete schema.required
  }
  return schema
}

const keep =
  (word: string): Rule =>
  (schema, value) => {
    schema[word] = value
  }
const describe = (schema: Written, more: string): void => {
  schema.description = schema.description ? `${schema.description} ${more}` : more
}
const type: Rule = (schema, value) => {
  const types = (Array.isArray(value) ? value : [value]).filter(each => typeof each === 'string')
  const named = types.filter(each => each !== 'null').map(each => each.toUpperCase())
  if (types.length > named.length) schema.nullable = true
  if (named.length === 1) schema.type = named[0] as string
  else if (named.length > 1) schema.anyOf = named.map(each => complete({ type: each }))
}
/** Google allows `enum` for strings only; other values go into the description. */
const values: Rule = (schema, value) => {
  const all = Array.isArray(value) ? value : [value]
  const said = all.filter(each => each !== null)
  if (said.length < all.length) schema.nullable = true
  if (said.every(each => typeof each === 'string')) {
    schema.enum = said
    schema.type = 'STRING'
    return
  }
  schema.type ??= typeof said[0] === 'number' ? 'NUMBER' : String(typeof said[0]).toUpperCase()
  describe(schema, `One of: ${said.map(each => JSON.stringify(each)).join(', ')}.`)
}
const any: Rule = (schema, value, walk) => {
  const all = (Array.isArray(value) ? value : []).filter(isFields)
  const kept = all.filter(each => each.type !== 'null')
  if (kept.length < all.length) schema.nullable = true
  const [only] = kept
  if (kept.length === 1 && only) Object.assign(schema, { ...write(only, walk), ...schema })
  else if (kept.length > 1) schema.anyOf = kept.map(each => write(each, walk))
}
/** Merges `allOf` into one schema; on conflict the later one wins. */
const all: Rule = (schema, value, walk) => {
  for (const each of Array.isArray(value) ? value : []) {
    const { properties, required, ...rest } = write(each, walk)
    Object.assign(schema, rest)
    if (isFields(properties))
      schema.properties = { ...(isFields(schema.properties) && schema.properties), ...properties }
    if (Array.isArray(required))
      schema.required = [...(Array.isArray(schema.required) ? schema.required : []), ...required]
  }
}
const bound =
  (word: string, step: number): Rule =>
  (schema, value, _, given) => {
    if (typeof value !== 'number') return
    schema[word] = given.type === 'integer' ? value + step : value
  }
const FORMATS = new Set(['date-time', 'enum', 'float', 'double', 'int32', 'int64'])

const RULES: Readonly<Record<string, Rule>> = {
  type,
  enum: values,
  const: values,
  anyOf: any,
  oneOf: any,
  allOf: all,
  exclusiveMinimum: bound('minimum', 1),
  exclusiveMaximum: bound('maximum', -1),
  properties: (schema, value, walk) => {
    if (!isFields(value)) return
    const written = Object.entries(value).map(([name, each]) => [name, write(each, walk)] as const)
    schema.properties = Object.fromEntries(written)
  },
  items: (schema, value, walk) => {
    schema.items = write(value, walk)
  },
  description: (schema, value) => {
    if (typeof value !== 'string') return
    schema.description = schema.description ? `${value} ${schema.description}` : value
  },
  format: (schema, value) => {
    if (typeof value === 'string' && FORMATS.has(value)) schema.format = value
    else describe(schema, `Format: ${value}.`)
  },
  ...Object.fromEntries(
    [
      'title',
      'nullable',
      'required',
      'minItems',
      'maxItems',
      'minLength',
      'maxLength',
      'minimum',
      'maximum',
      'pattern',
      'default',
      'minProperties',
      'maxProperties',
    ].map(word => [word, keep(word)]),
  ),
}
/** Keywords that constrain nothing, or that Google implies. */
const SILENT: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$comment',
  '$defs',
  'definitions',
  '$anchor',
  'strict',
  'additionalProperties',
  'examples',
  'readOnly',
  'writeOnly',
  'deprecated',
])
