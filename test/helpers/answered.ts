/** Judges answers and events of streams by the schemas of the SDKs' own types: what a client of a format may be told. Compiled
 *  when first asked for. What passes although the types do not know it is named, with its reason. */
import { readFileSync } from 'node:fs'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { ANSWER_TYPES, fileOf } from '../laws/sdk-schemas.ts'
import { type Any, list, object } from './loose.ts'

type Kind = 'answer' | 'event'

/** A complaint, or undefined. What is excused is mended in place. */
export interface Judge {
  complaint(kind: Kind, told: unknown): string | undefined
  /** The exceptions that were met. */
  readonly met: ReadonlySet<string>
}

/** Members that a client is told beside its types, with the reason. */
const BESIDE: Readonly<Record<string, string>> = {
  'openai-chat reasoning_content': 'thoughts: what every reasoning chat upstream calls them',
  'openai-chat reasoning_details': 'their signatures: the field that chat clients give back',
  'openai-chat extra_content': "a call's signature, where Google's own chat endpoint has it",
  'openai-chat annotations': 'citations of a stream: the types have them in whole answers only',
  'openai-responses frequency_penalty': "of OpenAI's own responses, and not of its types",
  'openai-responses presence_penalty': 'the same',
  'openai-responses store': 'the same',
}
/** Values that the types do not have at that member. */
const VALUES: Readonly<Record<string, string>> = {
  'openai-responses usage null': 'OpenAI has null there as long as nothing is counted',
  'openai-responses user null': 'as OpenAI has it where the request names nobody',
  'anthropic-messages name "file_search"':
    'tools that only another provider runs have no name there:',
  'anthropic-messages name "other"': 'what they did is told by the name that we have for it',
}
/** Members that its SDK puts there itself. */
const ADDED: Readonly<Record<string, string>> = { 'openai-responses output_text': '' }

export const EXCEPTIONS: readonly string[] = [BESIDE, VALUES, ADDED].flatMap(Object.keys)

/** `name`: of a file of the schemas without its `-answered`. */
export const judgeOf = (name: string): Judge => {
  const {
    $comment: _,
    $ref: __,
    ...schema
  } = JSON.parse(readFileSync(fileOf(`${name}-answered`), 'utf8'))
  const ajv = new Ajv({ strict: false }).addSchema(discriminated(schema) as Any, 'sdk')
  const root = `sdk#/definitions/${ANSWER_TYPES[`${name}-answered`]}/properties/`
  const met = new Set<string>()
  const compiled = new Map<Kind, ValidateFunction>()
  /** What is excused is made as the types would have it, and judged again. */
  const excuse = ({ instancePath: path, params }: ErrorObject, told: unknown): boolean => {
    const { additionalProperty: beside, missingProperty: missing, allowedValues = [] } = params
    const parent = object(at(told, beside || missing ? path : path.slice(0, path.lastIndexOf('/'))))
    const member: string = beside ?? missing ?? path.slice(path.lastIndexOf('/') + 1)
    const key = `${name} ${member}`
    const valued = `${key} ${JSON.stringify(parent[member])}`
    if (beside !== undefined && key in BESIDE) delete parent[member]
    else if (missing !== undefined && key in ADDED) parent[member] = ADDED[key]
    else if (valued in VALUES && allowedValues.length > 0) parent[member] = allowedValues[0]
    else if (valued in VALUES) delete parent[member]
    else return false
    met.add(beside === undefined && missing === undefined ? valued : key)
    return true
  }
  return {
    met,
    complaint(kind, told) {
      const fits = compiled.get(kind) ?? ajv.compile({ $ref: root + kind })
      compiled.set(kind, fits)
      while (!fits(told)) {
        const error = fits.errors?.find(({ keyword }) => keyword !== 'if')
        if (error && excuse(error, told)) continue
        const found = JSON.stringify(at(told, error?.instancePath ?? ''))?.slice(0, 200)
        return `${error?.instancePath} ${error?.message} ${JSON.stringify(error?.params)}: ${found}`
      }
      return undefined
    },
  }
}
const at = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce((found, key) => object(found)[key.replaceAll('~1', '/').replaceAll('~0', '~')], value)

/** The same schema, in which a union of objects is told apart by `type`: one of fifty is tried then, and a complaint is about
 *  that one. */
const discriminated = (schema: Any): unknown => {
  const definitions = object(schema.definitions)
  const constOf = (each: Any): unknown => {
    const name = decodeURIComponent(String(each.$ref)).split('/')[2] ?? ''
    const { properties } = object(each.$ref ? definitions[name] : each)
    return object(object(properties).type).const
  }
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (value === null || typeof value !== 'object') return value
    const entries = Object.entries(value).map(([key, each]) => [key, walk(each)])
    const { anyOf, ...rest } = Object.fromEntries(entries)
    const types = list(anyOf).map(constOf)
    if (!anyOf) return rest
    if (new Set(types).size < types.length || types.includes(undefined)) return { anyOf, ...rest }
    const branches = list(anyOf).map((each, index) => ({
      if: { properties: { type: { const: types[index] } } },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
      then: each,
    }))
    const some = { type: 'object', required: ['type'], properties: { type: { enum: types } } }
    return { ...rest, ...some, allOf: branches }
  }
  return walk(schema)
}
