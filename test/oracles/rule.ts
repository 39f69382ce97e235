/** The shape of the oracles' rules, and what several providers share. */
import { asList, asObject, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import type { Family } from './families.ts'

/** A request as an upstream gets it. */
export interface SentRequest {
  readonly family: Family
  readonly body: LooseObject
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly path: string
}
/** Gives what breaks the rule, each with its place; an empty list if nothing does. */
export type Rule = (request: SentRequest) => readonly string[]
export type Rules = Readonly<Record<string, Rule>>

/** The message if the condition holds. */
export const when = (isBroken: boolean, message: string): readonly string[] =>
  isBroken ? [message] : []
export const has = (object: LooseObject, member: string): boolean =>
  object[member] !== undefined && object[member] !== null
export const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0
export const duplicates = (values: readonly string[]): readonly string[] => [
  ...new Set(values.filter((each, index) => values.indexOf(each) !== index)),
]
/** Numbers beyond their ranges; `isWhole`: fractions are as well. */
export type Ranges = Readonly<
  Record<string, readonly [least: number, most: number, isWhole?: true]>
>
export const beyond = (object: LooseObject, ranges: Ranges): readonly string[] =>
  Object.entries(ranges).flatMap(([name, [least, most, isWhole]]) => {
    const { [name]: value } = object
    if (typeof value !== 'number') return []
    const isWithin = value >= least && value <= most && (!isWhole || Number.isInteger(value))
    return when(!isWithin, `${name}: ${value}`)
  })
export const INT32 = 2 ** 31 - 1

/** Every object inside a value, with its path. */
export const objectsIn = (
  value: unknown,
  path = '',
): readonly (readonly [object: LooseObject, path: string])[] => {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.entries(value).flatMap(([key, each]) => objectsIn(each, `${path}/${key}`))
  return Array.isArray(value) ? inside : [[value as LooseObject, path], ...inside]
}

/** Keywords that neither OpenAI nor Anthropic takes at the root of a tool's schema. OpenAI:
 *  "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top
 *  level". Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top level". */
export const rootProblems = (
  name: string,
  schema: unknown,
  keywords: readonly string[],
): readonly string[] => {
  const root = asObject(schema)
  return [
    ...when(root.type !== 'object', `${name}: the root has type ${JSON.stringify(root.type)}`),
    ...keywords.filter(each => each in root).map(each => `${name}: ${each} at the root`),
  ]
}
/** OpenAI's strict schemas (https://platform.openai.com/docs/guides/structured-outputs, "All fields
 *  must be required", "additionalProperties: false must always be set in objects"). */
export const strictProblems = (name: string, schema: unknown): readonly string[] =>
  objectsIn(schema).flatMap(([each, path]) => {
    if (each.type !== 'object' || /\/(?:enum|const|default|examples)\b/.test(path)) return []
    const required = asList(each.required) as readonly unknown[]
    const optional = Object.keys(asObject(each.properties)).filter(key => !required.includes(key))
    return [
      ...when(each.additionalProperties !== false, `${name}${path}: not closed`),
      ...optional.map(key => `${name}${path}: ${key} is optional`),
    ]
  })
/** OpenAI: "array schema missing items" (vercel/ai, langchain and others report it). */
export const arrayProblems = (name: string, schema: unknown): readonly string[] =>
  objectsIn(schema)
    .filter(([each, path]) => each.type === 'array' && !/\/properties$/.test(path))
    .filter(([each]) => !('items' in each) && !('prefixItems' in each))
    .map(([, path]) => `${name}${path}: an array without items`)

/** The media type of a data URL in lower case, or undefined for another URL. */
export const dataType = (url: unknown): string | undefined =>
  /^data:([^;,]*)/i.exec(asString(url))?.[1]?.toLowerCase()
