/** Brings JSON schemas into this provider's subset, for structured output and strict tools: what it
 *  does not enforce moves into descriptions, as the provider's own SDK does. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lookUp } from '../fields.ts'

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
type Convert = (value: Json, walk: Walk) => Json
const keep: Convert = value => value
const convertList: Convert = (value, walk) =>
  Array.isArray(value) ? value.map(each => convert(each, walk)) : value
const convertMap: Convert = (value, walk) =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, convert(each, walk)]))
    : value

/** Keyword -> conversion of its value. All others constrain values, and become descriptions. */
const KEYWORDS: Readonly<Record<string, Convert>> = {
  $ref: keep,
  $schema: keep,
  $id: keep,
  $defs: convertMap,
  definitions: convertMap,
  type: keep,
  title: keep,
  description: keep,
  default: keep,
  enum: keep,
  const: keep,
  anyOf: convertList,
  allOf: convertList,
  properties: convertMap,
  required: keep,
  items: (value, walk) => convert(value, walk),
}
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
  (word === 'format' && FORMATS.has(value)) || (word === 'minItems' && (value === 0 || value === 1))

const convert = (schema: Json, walk: Walk, isRoot = false): Json => {
  if (!isFields(schema)) return schema
  const result: { [word: string]: Json } = {}
  const constraints: string[] = []
  for (const [word, value] of Object.entries(schema)) {
    const conversion = lookUp(KEYWORDS, word)
    if (conversion) result[word] = conversion(value, walk)
    else if (word === 'oneOf') result.anyOf = convertList(value, walk)
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
