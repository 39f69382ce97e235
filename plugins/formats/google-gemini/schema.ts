/** Converts JSON Schema to Google's subset of OpenAPI, for models that accept nothing else. A table
 *  holds the rule for each keyword. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lookUp } from '../fields.ts'

/** Receives every constraining keyword that is dropped. */
type OnDropped = (word: string) => void
interface Walk {
  readonly onDropped: OnDropped
  readonly root: Fields
  /** The references being resolved; a recursive one ends here. */
  readonly references: readonly string[]
  /** The number of schemas that may still be written: nested references could expand
   *  exponentially. */
  readonly budget: { remaining: number }
}
const MAX_SCHEMAS = 5_000
type OpenApi = { [key: string]: Json }
type Rule = (schema: OpenApi, value: Json, walk: Walk, keywords: Fields) => void

export const convertToOpenApi = (schema: Json, onDropped: OnDropped): Fields => {
  const root = isFields(schema) ? schema : {}
  const budget = { remaining: MAX_SCHEMAS }
  return withKnownRequired(convertSchema(root, { onDropped, root, references: [], budget }))
}
/** Google rejects a required property that is not defined. */
const withKnownRequired = (schema: Fields): Fields => {
  const { required, ...rest } = schema
  const known = isFields(rest.properties) ? rest.properties : {}
  const names = Array.isArray(required) ? required.map(String).filter(name => name in known) : []
  return {
    ...rest,
    ...(isFields(rest.properties) && {
      properties: Object.fromEntries(
        Object.entries(rest.properties).map(([name, each]) => [name, knownRequiredIn(each)]),
      ),
    }),
    ...(rest.items !== undefined && { items: knownRequiredIn(rest.items) }),
    ...(Array.isArray(rest.anyOf) && { anyOf: rest.anyOf.map(knownRequiredIn) }),
    ...(names.length > 0 && { required: names }),
  }
}
const knownRequiredIn = (value: Json): Json => (isFields(value) ? withKnownRequired(value) : value)
/** Google rejects an object without properties, so a function without parameters has no schema. */
export const isEmpty = ({ type, properties }: Fields): boolean =>
  type === 'OBJECT' && (!isFields(properties) || Object.keys(properties).length === 0)

const convertSchema = (value: Json | undefined, walk: Walk): Fields =>
  completeSchema(convertKeywords(value, walk))
const convertKeywords = (value: Json | undefined, walk: Walk): OpenApi => {
  const schema: OpenApi = {}
  if (walk.budget.remaining-- <= 0) return { type: 'STRING' }
  const [fields, deeper] = resolveReference(isFields(value) ? value : {}, walk)
  for (const [word, value] of Object.entries(fields)) {
    const rule = lookUp(RULES, word)
    if (rule) rule(schema, value, deeper, fields)
    else if (!IGNORED_KEYWORDS.has(word)) walk.onDropped(word)
  }
  return schema
}
/** Resolves a reference and merges the keywords beside it. */
const resolveReference = (schema: Fields, walk: Walk): readonly [Fields, Walk] => {
  const { $ref: reference, ...siblings } = schema
  if (typeof reference !== 'string') return [schema, walk]
  if (walk.references.includes(reference)) {
    walk.onDropped('$ref')
    return [{ type: 'object', ...siblings }, walk]
  }
  const path = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
  let target: Json | undefined = walk.root
  for (const step of path)
    target = isFields(target) ? target[step.replace(/~1/g, '/').replace(/~0/g, '~')] : undefined
  const references = [...walk.references, reference]
  return resolveReference(
    { ...(isFields(target) ? target : {}), ...siblings },
    { ...walk, references },
  )
}
/** Adds the keywords that Google requires. */
const completeSchema = (schema: OpenApi): Fields => {
  if (schema.anyOf !== undefined) return schema
  schema.type ??= schema.properties ? 'OBJECT' : schema.items ? 'ARRAY' : 'STRING'
  if (schema.type === 'ARRAY') schema.items ??= { type: 'STRING' }
  return schema
}

const copyKeyword =
  (word: string): Rule =>
  (schema, value) => {
    schema[word] = value
  }
/** Google's counts have 64 bits, which its JSON writes as texts. */
const copyCount =
  (word: string): Rule =>
  (schema, value) => {
    schema[word] = typeof value === 'number' ? String(value) : value
  }
const describe = (schema: OpenApi, sentence: string): void => {
  schema.description = schema.description ? `${schema.description} ${sentence}` : sentence
}
const typeRule: Rule = (schema, value) => {
  const types = (Array.isArray(value) ? value : [value]).filter(each => typeof each === 'string')
  const typeNames = types.filter(each => each !== 'null').map(each => each.toUpperCase())
  if (types.length > typeNames.length) schema.nullable = true
  if (typeNames.length === 1) schema.type = typeNames[0] as string
  else if (typeNames.length > 1)
    schema.anyOf = typeNames.map(each => completeSchema({ type: each }))
}
/** Google allows `enum` for strings only; other values go into the description. */
const valuesRule: Rule = (schema, value) => {
  const allValues = Array.isArray(value) ? value : [value]
  const nonNull = allValues.filter(each => each !== null)
  if (nonNull.length < allValues.length) schema.nullable = true
  if (nonNull.every(each => typeof each === 'string')) {
    schema.enum = nonNull
    schema.type = 'STRING'
    return
  }
  schema.type ??=
    typeof nonNull[0] === 'number' ? 'NUMBER' : String(typeof nonNull[0]).toUpperCase()
  describe(schema, `One of: ${nonNull.map(each => JSON.stringify(each)).join(', ')}.`)
}
const anyOfRule =
  (word: string): Rule =>
  (schema, value, walk) => {
    const schemas = (Array.isArray(value) ? value : []).filter(isFields)
    // Branches that only say which properties are required would become texts.
    if (schemas.some(each => Object.keys(each).every(word => word === 'required')))
      return walk.onDropped(word)
    const nonNull = schemas.filter(each => each.type !== 'null')
    if (nonNull.length < schemas.length) schema.nullable = true
    const [only] = nonNull
    if (nonNull.length === 1 && only)
      Object.assign(schema, { ...convertSchema(only, walk), ...schema })
    else if (nonNull.length > 1) schema.anyOf = nonNull.map(each => convertSchema(each, walk))
  }
/** Merges `allOf` into one schema; on conflict the later one wins. */
const allOfRule: Rule = (schema, value, walk) => {
  for (const each of Array.isArray(value) ? value : []) {
    const { properties, required, ...rest } = convertKeywords(each, walk)
    Object.assign(schema, rest)
    if (isFields(properties))
      schema.properties = { ...(isFields(schema.properties) && schema.properties), ...properties }
    if (Array.isArray(required))
      schema.required = [...(Array.isArray(schema.required) ? schema.required : []), ...required]
  }
}
const boundRule =
  (word: string, step: number): Rule =>
  (schema, value, _, keywords) => {
    if (typeof value !== 'number') return
    schema[word] = keywords.type === 'integer' ? value + step : value
  }
const FORMATS = new Set(['date-time', 'enum', 'float', 'double', 'int32', 'int64'])

const RULES: Readonly<Record<string, Rule>> = {
  type: typeRule,
  enum: valuesRule,
  const: valuesRule,
  anyOf: anyOfRule('anyOf'),
  oneOf: anyOfRule('oneOf'),
  allOf: allOfRule,
  exclusiveMinimum: boundRule('minimum', 1),
  exclusiveMaximum: boundRule('maximum', -1),
  properties: (schema, value, walk) => {
    if (!isFields(value)) return
    const entries = Object.entries(value).map(
      ([name, each]) => [name, convertSchema(each, walk)] as const,
    )
    schema.properties = Object.fromEntries(entries)
  },
  items: (schema, value, walk) => {
    schema.items = convertSchema(value, walk)
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
    ['title', 'nullable', 'required', 'minimum', 'maximum', 'pattern', 'default'].map(word => [
      word,
      copyKeyword(word),
    ]),
  ),
  ...Object.fromEntries(
    ['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'].map(
      word => [word, copyCount(word)],
    ),
  ),
}
/** Keywords that constrain nothing, or that Google implies. */
const IGNORED_KEYWORDS: ReadonlySet<string> = new Set([
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
