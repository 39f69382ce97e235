/** Brings JSON schemas into Anthropic's subset, which Bedrock shares, for structured output and
 *  strict tools: what it does not enforce moves into descriptions, as Anthropic's own SDK does. */
import type { Json } from '../../engine/plugin.ts'
import { type Fields, isFields } from './fields.ts'
import { mapSubschemas } from './subschemas.ts'

export interface SubsetSchema {
  readonly schema: Json
  /** False if an object with free keys had to be closed: the schema then allows other values. */
  readonly isEqual: boolean
}
export const subsetOf = (schema: Json): SubsetSchema => {
  const walk: Walk = { hasFreeKeys: false }
  return { schema: convert(schema, walk, true), isEqual: !walk.hasFreeKeys }
}

interface Walk {
  hasFreeKeys: boolean
}
/** Keywords without schemas that stay. All others constrain values, and become descriptions. */
const PLAIN_KEYWORDS: ReadonlySet<string> = new Set([
  '$ref',
  '$schema',
  '$id',
  'type',
  'title',
  'description',
  'default',
  'enum',
  'const',
  'required',
])
const FORMATS: ReadonlySet<Json> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])
const isKept = (word: string, value: Json): boolean =>
  PLAIN_KEYWORDS.has(word) ||
  (word === 'format' && FORMATS.has(value)) ||
  (word === 'minItems' && (value === 0 || value === 1))

const convert = (schema: Json, walk: Walk, isRoot = false): Json => {
  if (!isFields(schema)) return schema
  const result: { [word: string]: Json } = {}
  const constraints: string[] = []
  for (const [word, value] of Object.entries(schema)) {
    const converted = mapSubschemas(word, value, each => convert(each, walk))
    if (converted !== undefined) result[word === 'oneOf' ? 'anyOf' : word] = converted
    else if (isKept(word, value)) result[word] = value
    else if (word !== 'additionalProperties')
      constraints.push(`${word}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  }
  if (isObject(schema)) {
    if (isOpen(schema, isRoot)) walk.hasFreeKeys = true
    result.additionalProperties = false
  }
  if (constraints.length > 0) {
    const { description } = result
    const text = `{${constraints.join(', ')}}`
    result.description = typeof description === 'string' ? `${description}\n\n${text}` : text
  }
  return result
}
const isObject = ({ type, properties }: Fields): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined
/** Whether keys are allowed that `properties` does not name. At the root an object without any is a
 *  function without arguments. */
const isOpen = ({ additionalProperties, properties }: Fields, isRoot: boolean): boolean =>
  isFields(additionalProperties) ||
  additionalProperties === true ||
  (additionalProperties === undefined && properties === undefined && !isRoot)
