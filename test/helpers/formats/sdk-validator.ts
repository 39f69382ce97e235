/** Checks answers and stream events against the schemas of the SDKs' own types: these bound what a
 *  client of a format may receive. Validators are compiled on first use. Each exception from the
 *  types is listed with its reason. */
import { readFileSync } from 'node:fs'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { ANSWER_TYPES, fileOf } from '../../laws/sdk-schemas.ts'
import { asList, asObject, type LooseObject } from './loose-json.ts'

type Kind = 'answer' | 'event'

/** Returns the first error, or undefined. Corrects the excepted members in place. */
export interface AnswerValidator {
  errorIn(kind: Kind, payload: unknown): string | undefined
  /** The exceptions that were needed. */
  readonly usedExceptions: ReadonlySet<string>
}

/** Members that clients receive beyond the types, with the reason. */
const EXTRA_MEMBERS: Readonly<Record<string, string>> = {
  'openai-chat reasoning_content': 'thoughts: what every reasoning chat upstream calls them',
  'openai-chat reasoning_details': 'their signatures: the field that chat clients give back',
  'openai-chat extra_content': "a call's signature, where Google's own chat endpoint has it",
  'openai-chat annotations': 'citations of a stream: the types have them in whole answers only',
  'openai-responses frequency_penalty': "of OpenAI's own responses, and not of its types",
  'openai-responses presence_penalty': 'the same',
  'openai-responses store': 'the same',
}
/** Values that the types do not list for that member. */
const EXTRA_VALUES: Readonly<Record<string, string>> = {
  'openai-responses usage null': 'OpenAI has null there as long as nothing is counted',
  'openai-responses user null': 'as OpenAI has it where the request names nobody',
  'anthropic-messages name "file_search"':
    'tools that only another provider runs have no name there:',
  'anthropic-messages name "other"': 'what they did is told by the name that we have for it',
}
/** Blocks that the types of the stable endpoints do not have, with the reason. */
const EXTRA_BLOCKS: Readonly<Record<string, string>> = {
  'anthropic-messages type "mcp_tool_use"': 'a beta: its clients ask for it',
  'anthropic-messages type "mcp_tool_result"': 'the same',
}
const TEXT_BLOCK = { type: 'text', text: '', citations: null }
/** Members that the types require, and that the SDK adds itself or the provider omits, with a value
 *  that the types allow. */
const OMITTED_MEMBERS: Readonly<Record<string, string | null>> = {
  'openai-responses output_text': '',
  'anthropic-messages citations': null,
}

export const SCHEMA_EXCEPTIONS: readonly string[] = [
  EXTRA_MEMBERS,
  EXTRA_VALUES,
  EXTRA_BLOCKS,
  OMITTED_MEMBERS,
].flatMap(Object.keys)

/** `name`: the name of a schema file without its suffix `-answered`. */
export const createValidator = (name: string): AnswerValidator => {
  const {
    $comment: _,
    $ref: __,
    ...schema
  } = JSON.parse(readFileSync(fileOf(`${name}-answered`), 'utf8'))
  const ajv = new Ajv({ strict: false }).addSchema(addDiscriminators(schema) as LooseObject, 'sdk')
  const root = `sdk#/definitions/${ANSWER_TYPES[`${name}-answered`]}/properties/`
  const usedExceptions = new Set<string>()
  const validators = new Map<Kind, ValidateFunction>()
  /** Replaces an excepted member by one that the types allow, so that validation can go on. */
  const excuse = ({ instancePath: path, params }: ErrorObject, payload: unknown): boolean => {
    const { additionalProperty: beside, missingProperty: missing, allowedValues = [] } = params
    const parent = asObject(
      at(payload, beside || missing ? path : path.slice(0, path.lastIndexOf('/'))),
    )
    const member: string = beside ?? missing ?? path.slice(path.lastIndexOf('/') + 1)
    const key = `${name} ${member}`
    const keyWithValue = `${key} ${JSON.stringify(parent[member])}`
    if (beside !== undefined && key in EXTRA_MEMBERS) delete parent[member]
    else if (missing !== undefined && key in OMITTED_MEMBERS) parent[member] = OMITTED_MEMBERS[key]
    else if (keyWithValue in EXTRA_BLOCKS) {
      for (const each in parent) delete parent[each]
      Object.assign(parent, TEXT_BLOCK)
    } else if (keyWithValue in EXTRA_VALUES && allowedValues.length > 0)
      parent[member] = allowedValues[0]
    else if (keyWithValue in EXTRA_VALUES) delete parent[member]
    else return false
    usedExceptions.add(beside === undefined && missing === undefined ? keyWithValue : key)
    return true
  }
  return {
    usedExceptions: usedExceptions,
    errorIn(kind, payload) {
      const fits = validators.get(kind) ?? ajv.compile({ $ref: root + kind })
      validators.set(kind, fits)
      while (!fits(payload)) {
        const error = fits.errors?.find(({ keyword }) => keyword !== 'if')
        if (error && excuse(error, payload)) continue
        const excerpt = JSON.stringify(at(payload, error?.instancePath ?? ''))?.slice(0, 200)
        return `${error?.instancePath} ${error?.message} ${JSON.stringify(error?.params)}: ${excerpt}`
      }
      return undefined
    },
  }
}
const at = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce((node, key) => asObject(node)[key.replaceAll('~1', '/').replaceAll('~0', '~')], value)

/** Adds a discriminator `type` to unions of objects: then one of fifty members is tried, and errors
 *  are about that member. */
const addDiscriminators = (schema: LooseObject): unknown => {
  const definitions = asObject(schema.definitions)
  const constOf = (each: LooseObject): unknown => {
    const name = decodeURIComponent(String(each.$ref)).split('/')[2] ?? ''
    const { properties } = asObject(each.$ref ? definitions[name] : each)
    return asObject(asObject(properties).type).const
  }
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (value === null || typeof value !== 'object') return value
    const entries = Object.entries(value).map(([key, each]) => [key, walk(each)])
    const { anyOf, ...rest } = Object.fromEntries(entries)
    const types = asList(anyOf).map(constOf)
    if (!anyOf) return rest
    // A member of that name is not a union.
    if (!Array.isArray(anyOf)) return { anyOf, ...rest }
    if (new Set(types).size < types.length || types.includes(undefined)) return { anyOf, ...rest }
    const branches = asList(anyOf).map((each, index) => ({
      if: { properties: { type: { const: types[index] } } },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
      then: each,
    }))
    const some = { type: 'object', required: ['type'], properties: { type: { enum: types } } }
    return { ...rest, ...some, allOf: branches }
  }
  return walk(schema)
}

/** Members that providers take in requests beyond the types, with the reason. */
const EXTRA_REQUEST_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  // Removed from the SDK's types, and still part of its API.
  'anthropic-messages': ['top_k', 'top_p', 'temperature'],
}
/** Gives the first error of a request body, or undefined. `name`: the name of a schema file;
 *  `members`: members that this provider takes beyond the types. */
export const createRequestValidator = (
  name: string,
  members: readonly string[] = [],
): ((body: unknown) => string | undefined) => {
  const { $comment: _, ...schema } = JSON.parse(readFileSync(fileOf(name), 'utf8'))
  const fits = new Ajv({ strict: false, logger: false }).compile(
    addDiscriminators(schema) as LooseObject,
  )
  const extra = [...(EXTRA_REQUEST_MEMBERS[name] ?? []), ...members]
  return body => {
    const typed = JSON.parse(JSON.stringify(body), (key, value) =>
      extra.includes(key) ? undefined : value,
    )
    if (fits(typed)) return undefined
    const errors = (fits.errors ?? []).filter(
      ({ keyword }) => !/^(?:if|anyOf|oneOf)$/.test(keyword),
    )
    // Of a union, the error that lies deepest belongs to the member that was meant.
    const depth = ({ instancePath }: ErrorObject): number => instancePath.split('/').length
    const [error] = errors.sort((a, b) => depth(b) - depth(a))
    const excerpt = JSON.stringify(at(typed, error?.instancePath ?? ''))?.slice(0, 200)
    return `${error?.instancePath} ${error?.message} ${JSON.stringify(error?.params)}: ${excerpt}`
  }
}
