/** What ajv found, as one fault that names the field the way the client wrote it. */
import type { ErrorObject } from 'ajv'
import { errors } from '../../engine/errors.ts'
import type { Fault } from '../../engine/plugin.ts'
import { NOT_ABOVE } from './not-above.ts'

const fault = errors({
  REQUIRED_PARAMETER: [400, '%s'],
  UNKNOWN_PARAMETER: [400, '%s'],
  UNSUPPORTED_PARAMETER: [400, '%s'],
  INVALID_TYPE: [400, '%s'],
  INVALID_VALUE: [400, '%s'],
  INVALID_SIZE: [400, '%s'],
  OUT_OF_RANGE: [400, '%s'],
})
type Code = Parameters<typeof fault>[0]

/** How one keyword complains. `name` is the field, quoted. */
interface Complaint {
  readonly code: Code
  say(error: ErrorObject, name: string): string
  /** The field at fault, where it is not the one that holds the keyword. */
  field?(error: ErrorObject): string
}

const KEYWORDS: Readonly<Record<string, Complaint>> = {
  required: {
    code: 'REQUIRED_PARAMETER',
    say: (_, name) => `Missing required parameter: ${name}.`,
    field: ({ params }) => String(params.missingProperty),
  },
  dependentRequired: {
    code: 'REQUIRED_PARAMETER',
    say: ({ params }, name) => `Missing parameter: ${name} is required with '${params.property}'.`,
    field: ({ params }) => String(params.missingProperty),
  },
  additionalProperties: {
    code: 'UNKNOWN_PARAMETER',
    say: (_, name) => `Unknown parameter: ${name}.`,
    field: ({ params }) => String(params.additionalProperty),
  },
  unevaluatedProperties: {
    code: 'UNKNOWN_PARAMETER',
    say: (_, name) => `Unknown parameter: ${name}.`,
    field: ({ params }) => String(params.unevaluatedProperty),
  },
  type: {
    code: 'INVALID_TYPE',
    say: ({ params, data }, name) =>
      `Invalid type for ${name}: expected ${article(params.type)}, but got ${kindOf(data)} instead.`,
  },
  enum: {
    code: 'INVALID_VALUE',
    say: ({ params, data }, name) =>
      `Invalid value for ${name}: ${shown(data)}. Supported values are: ${list(params.allowedValues)}.`,
  },
  const: {
    code: 'INVALID_VALUE',
    say: ({ params, data }, name) =>
      `Invalid value for ${name}: ${shown(data)}. It must be ${shown(params.allowedValue)}.`,
  },
  discriminator: {
    code: 'INVALID_VALUE',
    say: ({ params, parentSchema }, name) =>
      `Invalid value for ${name}: ${shown(params.tagValue)}. Supported values are: ${list(tags(parentSchema, params.tag))}.`,
    field: ({ params }) => String(params.tag),
  },
  pattern: {
    code: 'INVALID_VALUE',
    say: ({ params }, name) => `Invalid ${name}: it does not match the pattern ${params.pattern}.`,
  },
  format: {
    code: 'INVALID_VALUE',
    say: ({ params }, name) => `Invalid ${name}: it is not a valid ${params.format}.`,
  },
  multipleOf: {
    code: 'INVALID_VALUE',
    say: ({ params }, name) => `Invalid ${name}: it must be a multiple of ${params.multipleOf}.`,
  },
  uniqueItems: {
    code: 'INVALID_VALUE',
    say: ({ params }, name) => `Invalid ${name}: items ${params.j} and ${params.i} are the same.`,
  },
  minItems: { code: 'INVALID_SIZE', say: (error, name) => size(error, name, 'at least', 'item') },
  maxItems: { code: 'INVALID_SIZE', say: (error, name) => size(error, name, 'at most', 'item') },
  minLength: {
    code: 'INVALID_VALUE',
    say: (error, name) => size(error, name, 'at least', 'character'),
  },
  maxLength: {
    code: 'INVALID_VALUE',
    say: (error, name) => size(error, name, 'at most', 'character'),
  },
  minimum: { code: 'OUT_OF_RANGE', say: (error, name) => range(error, name) },
  maximum: { code: 'OUT_OF_RANGE', say: (error, name) => range(error, name) },
  exclusiveMinimum: { code: 'OUT_OF_RANGE', say: (error, name) => range(error, name) },
  exclusiveMaximum: { code: 'OUT_OF_RANGE', say: (error, name) => range(error, name) },
  [NOT_ABOVE]: {
    code: 'OUT_OF_RANGE',
    say: ({ params }, name) =>
      `Invalid ${name}: expected a value <= '${params.bound}' (${params.limit}), but got ${shown(params.value)} instead.`,
    field: ({ params }) => String(params.field),
  },
}
/** `not: {}`: nothing at all fits. */
const UNSUPPORTED: Complaint = {
  code: 'UNSUPPORTED_PARAMETER',
  say: (_, name) => `Unsupported parameter: ${name}.`,
}
const OTHER: Complaint = {
  code: 'INVALID_VALUE',
  say: ({ message }, name) => `Invalid ${name}: it ${message ?? 'is not acceptable'}.`,
}
/** Keywords that only say that something inside them failed. */
const CONTAINERS = new Set(['anyOf', 'oneOf', 'if', '$ref', 'allOf', 'contains', 'propertyNames'])

export const complaint = (found: readonly ErrorObject[]): Fault => {
  const told = found.findLast(({ parentSchema }) => wordsOf(parentSchema) !== undefined)
  const error = told ?? tellingOf(found)
  if (!error) return fault('INVALID_VALUE', ['The request body is not acceptable.'])
  const { code, say, field } = ruleOf(error)
  const param = join(error.instancePath, field?.(error))
  const name = param === '' ? 'the request body' : `'${param}'`
  const words = wordsOf(error.parentSchema)?.replaceAll('{param}', param) ?? say(error, name)
  return fault(code, [words], param === '' ? {} : { param })
}
const ruleOf = ({ keyword, schema, instancePath }: ErrorObject): Complaint => {
  const barred = keyword === 'not' && instancePath !== '' && isEmpty(schema)
  return barred ? UNSUPPORTED : (KEYWORDS[keyword] ?? OTHER)
}
const isEmpty = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0

const wordsOf = (schema: unknown): string | undefined => {
  const { errorMessage } = (schema ?? {}) as { readonly errorMessage?: unknown }
  return typeof errorMessage === 'string' ? errorMessage : undefined
}

/** Of the branches of an `anyOf` the one that went deepest is the one that was meant; where none went deeper than
 *  the other, they were different types of the same field, and it could have been any of them. */
const tellingOf = (found: readonly ErrorObject[]): ErrorObject | undefined => {
  const leaves = found.filter(({ keyword }) => !CONTAINERS.has(keyword))
  const deepest = Math.max(...leaves.map(depthOf))
  const candidates = leaves.filter(error => depthOf(error) === deepest)
  const beyond = candidates.find(({ keyword }) => keyword !== 'type')
  const [first] = candidates
  if (beyond || !first) return beyond ?? found.at(-1)
  const type = [...new Set(candidates.flatMap(({ params }) => params.type as string | string[]))]
  return { ...first, params: { type } }
}
const depthOf = ({ instancePath }: ErrorObject): number => instancePath.split('/').length

/** `/messages/0/content` is `messages[0].content`. */
const join = (pointer: string, last: string | undefined): string => {
  const steps = pointer.split('/').slice(1).map(decoded)
  if (last !== undefined) steps.push(last)
  return steps.reduce(
    (path, step) =>
      /^\d+$/.test(step) ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`,
    '',
  )
}
const decoded = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')

const article = (types: string | readonly string[]): string => {
  const named = [types].flat().map(type => (NAMED[type] ?? `a ${type}`) as string)
  return named.length < 2
    ? named.join()
    : `one of ${named.slice(0, -1).join(', ')} or ${named.at(-1)}`
}
const NAMED: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'an array',
  integer: 'an integer',
  null: 'null',
}
const kindOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return article(typeof value)
}
/** A value as it may stand in a message: short, and never a whole object. */
const shown = (value: unknown): string => {
  if (typeof value === 'object' && value !== null) return kindOf(value)
  if (typeof value === 'number') return String(value)
  const text = String(value)
  return `'${text.length > 64 ? `${text.slice(0, 61)}…` : text}'`
}
const list = (values: readonly unknown[]): string => values.map(shown).join(', ')

const size = ({ params, data }: ErrorObject, name: string, bound: string, unit: string): string => {
  const { length } = data as string | readonly unknown[]
  const wanted = `${params.limit} ${unit}${params.limit === 1 ? '' : 's'}`
  return `Invalid ${name}: expected ${bound} ${wanted}, but got ${length} instead.`
}
const range = ({ params, data }: ErrorObject, name: string): string =>
  `Invalid ${name}: expected a value ${params.comparison} ${params.limit}, but got ${shown(data)} instead.`

/** The values that lead somewhere, as the branches spell them. */
const tags = (schema: unknown, tag: string): readonly unknown[] => {
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
