/** Turns ajv's errors into one fault that names the field as the client wrote it. */
import type { ErrorObject } from 'ajv'
import { errors } from '../../engine/errors.ts'
import type { Fault, Json } from '../../engine/plugin.ts'
import { allowedBy } from './allowed-values.ts'
import { MAX_TOTAL } from './max-total.ts'
import { NOT_ABOVE } from './not-above.ts'

const fault = errors({
  REQUIRED_PARAMETER: [400, '%s'],
  UNKNOWN_PARAMETER: [400, '%s'],
  UNSUPPORTED_PARAMETER: [400, '%s'],
  EMPTY_PARAMETER: [400, '%s'],
  INVALID_TYPE: [400, '%s'],
  INVALID_VALUE: [400, '%s'],
  INVALID_SIZE: [400, '%s'],
  OUT_OF_RANGE: [400, '%s'],
})
type Code = Parameters<typeof fault>[0]

/** Fault code and message of a keyword. `name` is the quoted field. */
interface KeywordMessage {
  readonly code: Code
  message(error: ErrorObject, name: string): string
  /** The field at fault, if it is a member of the field that the keyword validates. */
  field?(error: ErrorObject): string
}

const KEYWORDS: Readonly<Record<string, KeywordMessage>> = {
  required: {
    code: 'REQUIRED_PARAMETER',
    message: (_, name) => `Missing required parameter: ${name}.`,
    field: ({ params }) => String(params.missingProperty),
  },
  dependentRequired: {
    code: 'REQUIRED_PARAMETER',
    message: ({ params }, name) =>
      `Missing parameter: ${name} is required with '${params.property}'.`,
    field: ({ params }) => String(params.missingProperty),
  },
  additionalProperties: {
    code: 'UNKNOWN_PARAMETER',
    message: (_, name) => `Unknown parameter: ${name}.`,
    field: ({ params }) => String(params.additionalProperty),
  },
  unevaluatedProperties: {
    code: 'UNKNOWN_PARAMETER',
    message: (_, name) => `Unknown parameter: ${name}.`,
    field: ({ params }) => String(params.unevaluatedProperty),
  },
  type: {
    code: 'INVALID_TYPE',
    message: ({ params, data }, name) =>
      `Invalid type for ${name}: expected ${typeNames(params.type)}, but got ${kindOf(data)} instead.`,
  },
  enum: {
    code: 'INVALID_VALUE',
    message: ({ params, data }, name) =>
      `Invalid value for ${name}: ${printValue(data)}. Supported values are: ${printValues(params.allowedValues)}.`,
  },
  const: {
    code: 'INVALID_VALUE',
    message: ({ params, data }, name) =>
      `Invalid value for ${name}: ${printValue(data)}. It must be ${printValue(params.allowedValue)}.`,
  },
  discriminator: {
    code: 'INVALID_VALUE',
    message: ({ params, parentSchema }, name) =>
      `Invalid value for ${name}: ${printValue(params.tagValue)}. Supported values are: ${printValues(discriminatorValues(parentSchema, params.tag))}.`,
    field: ({ params }) => String(params.tag),
  },
  pattern: {
    code: 'INVALID_VALUE',
    message: ({ params }, name) =>
      `Invalid ${name}: it does not match the pattern ${params.pattern}.`,
  },
  format: {
    code: 'INVALID_VALUE',
    message: ({ params }, name) => `Invalid ${name}: it is not a valid ${params.format}.`,
  },
  multipleOf: {
    code: 'INVALID_VALUE',
    message: ({ params }, name) =>
      `Invalid ${name}: it must be a multiple of ${params.multipleOf}.`,
  },
  uniqueItems: {
    code: 'INVALID_VALUE',
    message: ({ params }, name) =>
      `Invalid ${name}: items ${params.j} and ${params.i} are the same.`,
  },
  minItems: {
    code: 'INVALID_SIZE',
    message: (error, name) => sizeMessage(error, name, 'at least', 'item'),
  },
  maxItems: {
    code: 'INVALID_SIZE',
    message: (error, name) => sizeMessage(error, name, 'at most', 'item'),
  },
  minLength: {
    code: 'INVALID_VALUE',
    message: (error, name) => sizeMessage(error, name, 'at least', 'character'),
  },
  maxLength: {
    code: 'INVALID_VALUE',
    message: (error, name) => sizeMessage(error, name, 'at most', 'character'),
  },
  minimum: { code: 'OUT_OF_RANGE', message: (error, name) => rangeMessage(error, name) },
  maximum: { code: 'OUT_OF_RANGE', message: (error, name) => rangeMessage(error, name) },
  exclusiveMinimum: { code: 'OUT_OF_RANGE', message: (error, name) => rangeMessage(error, name) },
  exclusiveMaximum: { code: 'OUT_OF_RANGE', message: (error, name) => rangeMessage(error, name) },
  [MAX_TOTAL]: {
    code: 'INVALID_SIZE',
    message: ({ params }, name) =>
      `Invalid ${name}: expected at most ${params.limit} ${params.member} in all, but got ${params.total} instead.`,
  },
  [NOT_ABOVE]: {
    code: 'OUT_OF_RANGE',
    message: ({ params }, name) =>
      `Invalid ${name}: expected a value <= '${params.bound}' (${params.limit}), but got ${printValue(params.value)} instead.`,
    field: ({ params }) => String(params.field),
  },
}
/** `not: {}`: no value is valid. */
const UNSUPPORTED: KeywordMessage = {
  code: 'UNSUPPORTED_PARAMETER',
  message: (_, name) => `Unsupported parameter: ${name}.`,
}
const OTHER: KeywordMessage = {
  code: 'INVALID_VALUE',
  message: ({ message }, name) => `Invalid ${name}: it ${message ?? 'is not acceptable'}.`,
}
/** Keywords whose errors only report that a subschema failed. */
const CONTAINERS = new Set(['anyOf', 'oneOf', 'if', '$ref', 'allOf', 'contains', 'propertyNames'])

/** `schema` and `body`: of the whole request. */
export const validationFault = (
  schemaErrors: readonly ErrorObject[],
  schema: Json,
  body: Json,
): Fault => {
  const withMessage = schemaErrors.findLast(
    ({ parentSchema }) => customMessage(parentSchema) !== undefined,
  )
  const error = withMessage ?? mostSpecific(schemaErrors)
  if (!error) return fault('INVALID_VALUE', ['The request body is not valid.'])
  const { code, message: describe, field } = ruleOf(error)
  const param = join(error.instancePath, field?.(error))
  const name = param === '' ? 'the request body' : `'${param}'`
  const message =
    customMessage(error.parentSchema)?.replaceAll('{param}', param) ?? describe(error, name)
  const fields = fieldsOf(code, param, error, { schema, body })
  return fault(code, [message], {
    ...(param !== '' && { param }),
    ...(fields !== undefined && { as: { vidu: { fields } } }),
  })
}
/** The fields at fault for a dialect whose messages name fields only: all that are missing, or one
 *  with what it may be. */
const fieldsOf = (
  code: Code,
  param: string,
  error: ErrorObject,
  { schema, body }: { readonly schema: Json; readonly body: Json },
): string | undefined => {
  if (!LACKING.has(code)) {
    const allowed = RANGED.has(code) && param !== '' ? allowedBy(error) : undefined
    return allowed === undefined ? undefined : `${param} (${allowed})`
  }
  const lacking = lackingFields(error, schema, body)
  return lacking.length > 1 ? lacking.join(', ') : undefined
}
const RANGED: ReadonlySet<Code> = new Set(['INVALID_TYPE', 'INVALID_VALUE', 'OUT_OF_RANGE'])
const LACKING: ReadonlySet<Code> = new Set(['REQUIRED_PARAMETER', 'EMPTY_PARAMETER'])
/** The members of one object that are missing or empty: ajv stops at the first. */
const lackingFields = (error: ErrorObject, schema: Json, body: Json): readonly string[] => {
  const { keyword, instancePath, data } = error
  const isMissing = keyword === 'required'
  const path = isMissing ? instancePath : instancePath.replace(/\/[^/]*$/, '')
  // Of the parent of an empty member ajv tells nothing.
  if (!isMissing && path !== '') return []
  const object = (isMissing ? data : body) as Readonly<Record<string, unknown>>
  const { properties } = (path === '' ? schema : error.parentSchema) as ObjectSchema
  const missing = isMissing ? (error.schema as readonly string[]) : []
  const empty = Object.keys(properties ?? {}).filter(name => properties?.[name]?.minLength)
  return [
    ...missing.filter(name => object[name] === undefined),
    ...empty.filter(name => object[name] === ''),
  ].map(name => join(path, name))
}
interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly minLength?: number }>>
}
const ruleOf = (error: ErrorObject): KeywordMessage => {
  const rule = keywordRuleOf(error)
  const isEmptyText = error.keyword === 'minLength' && error.data === ''
  return isEmptyText ? { ...rule, code: 'EMPTY_PARAMETER' } : rule
}
const keywordRuleOf = ({ keyword, schema, instancePath }: ErrorObject): KeywordMessage => {
  const isForbidden = keyword === 'not' && instancePath !== '' && isEmpty(schema)
  return isForbidden ? UNSUPPORTED : (KEYWORDS[keyword] ?? OTHER)
}
const isEmpty = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0

const customMessage = (schema: unknown): string | undefined => {
  const { errorMessage } = (schema ?? {}) as { readonly errorMessage?: unknown }
  return typeof errorMessage === 'string' ? errorMessage : undefined
}

/** The most specific error. Of the branches of an `anyOf`, the client most likely meant the one
 *  whose error is deepest; at equal depth the branches are different types of one field, and the
 *  message lists all types. */
const mostSpecific = (schemaErrors: readonly ErrorObject[]): ErrorObject | undefined => {
  const leaves = schemaErrors.filter(({ keyword }) => !CONTAINERS.has(keyword))
  const deepest = Math.max(...leaves.map(depthOf))
  const candidates = leaves.filter(error => depthOf(error) === deepest)
  const beyond = candidates.find(({ keyword }) => keyword !== 'type')
  const [first] = candidates
  if (beyond || !first) return beyond ?? schemaErrors.at(-1)
  const type = [...new Set(candidates.flatMap(({ params }) => params.type as string | string[]))]
  return { ...first, params: { type } }
}
const depthOf = ({ instancePath }: ErrorObject): number => instancePath.split('/').length

/** JSON Pointer to a path: `/messages/0/content` becomes `messages[0].content`. */
const join = (pointer: string, last: string | undefined): string => {
  const steps = pointer.split('/').slice(1).map(decodeStep)
  if (last !== undefined) steps.push(last)
  return steps.reduce(
    (path, step) =>
      /^\d+$/.test(step) ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`,
    '',
  )
}
const decodeStep = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')

const typeNames = (types: string | readonly string[]): string => {
  const names = [types].flat().map(type => (TYPE_NAMES[type] ?? `a ${type}`) as string)
  return names.length < 2
    ? names.join()
    : `one of ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}
const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'an array',
  integer: 'an integer',
  null: 'null',
}
const kindOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeNames(typeof value)
}
/** A value for a message: shortened, and objects only by their type. */
const printValue = (value: unknown): string => {
  if (typeof value === 'object' && value !== null) return kindOf(value)
  if (typeof value !== 'string') return String(value)
  const text = String(value)
  return `'${text.length > 64 ? `${text.slice(0, 61)}…` : text}'`
}
const printValues = (values: readonly unknown[]): string => values.map(printValue).join(', ')

const sizeMessage = (
  { params, data }: ErrorObject,
  name: string,
  bound: string,
  unit: string,
): string => {
  const { length } = data as string | readonly unknown[]
  const size = `${params.limit} ${unit}${params.limit === 1 ? '' : 's'}`
  return `Invalid ${name}: expected ${bound} ${size}, but got ${length} instead.`
}
const rangeMessage = ({ params, data }: ErrorObject, name: string): string =>
  `Invalid ${name}: expected a value ${params.comparison} ${params.limit}, but got ${printValue(data)} instead.`

/** The values of a discriminator that select a branch. */
const discriminatorValues = (schema: unknown, tag: string): readonly unknown[] => {
  const { oneOf } = (schema ?? {}) as {
    readonly oneOf?: readonly {
      readonly properties?: Record<string, { const?: unknown; enum?: unknown[] }>
    }[]
  }
  return (oneOf ?? []).flatMap(({ properties }) => {
    const own = properties?.[tag]
    return own?.enum ?? (own?.const === undefined ? [] : [own.const])
  })
}
