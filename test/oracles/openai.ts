/** OpenAI's refusals of requests of both its formats, beyond what the types say. */
import { asList, asObject, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import {
  arrayProblems,
  beyond,
  dataType,
  duplicates,
  has,
  INT32,
  isEmptyList,
  objectsIn,
  type Ranges,
  type Rule,
  type Rules,
  rootProblems,
  type SentRequest,
  strictProblems,
  when,
} from './rule.ts'

/** A function of either format: name, parameters, strict. */
const functionsIn = (body: LooseObject): readonly LooseObject[] =>
  asList(body.tools)
    .filter(each => each.type === 'function' || each.type === 'custom')
    .map(each => asObject(each[asString(each.type)] ?? each))

/** API reference, `tools[].function.name`: "Must be a-z, A-Z, 0-9, or contain underscores and
 *  dashes, with a maximum length of 64." */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const toolNames: Rule = ({ body }) => {
  const names = functionsIn(body).map(({ name }) => asString(name))
  return [...names.filter(name => !TOOL_NAME.test(name)), ...duplicates(names)].map(
    name => `tools: the name ${name}`,
  )
}
const ROOT_KEYWORDS = ['oneOf', 'anyOf', 'allOf', 'enum', 'not']
/** OpenAI's 400 invalid_function_parameters; "object schema missing properties" is another of its
 *  messages for the same parameter. */
const toolSchemas: Rule = ({ body, family }) =>
  functionsIn(body).flatMap(({ name, parameters, strict }) => {
    if (parameters === undefined || parameters === null) return []
    const title = `tools: ${name}`
    if (family.provider !== 'openai') return rootProblems(title, parameters, [])
    return [
      ...rootProblems(title, parameters, ROOT_KEYWORDS),
      ...when(
        asObject(parameters).type === 'object' && !('properties' in asObject(parameters)),
        `${title}: an object without properties`,
      ),
      ...arrayProblems(title, parameters),
      ...(strict === true ? strictProblems(title, parameters) : []),
    ]
  })
/** "tool_choice is only allowed when tools are specified", "'tools': empty array", "Tool choice
 *  'function' not found in 'tools' parameter". */
const toolChoice: Rule = ({ body }) => {
  const hasTools = asList(body.tools).length > 0
  const { name } = asObject(asObject(body.tool_choice).function ?? body.tool_choice)
  const isKnown = name === undefined || functionsIn(body).some(each => each.name === name)
  return [
    ...when(isEmptyList(body.tools), 'tools: an empty list'),
    ...when(
      !hasTools &&
        has(body, 'tool_choice') &&
        body.tool_choice !== 'none' &&
        body.tool_choice !== 'auto',
      'tool_choice without tools',
    ),
    ...when(!isKnown, `tool_choice: ${name} is not a tool of the request`),
  ]
}
/** API reference, `metadata`: 16 pairs, keys of 64 and values of 512 characters. "The 'metadata'
 *  parameter is only allowed when 'store' is enabled." (chat). */
const metadata: Rule = ({ body, path }) => {
  const pairs = Object.entries(asObject(body.metadata))
  const isLong = pairs.some(([key, value]) => key.length > 64 || asString(value).length > 512)
  return [
    ...when(pairs.length > 16 || isLong, 'metadata: more than 16 pairs, or one is too long'),
    ...when(
      /chat\/completions/.test(path) && pairs.length > 0 && body.store !== true,
      'metadata without store: true',
    ),
  ]
}
/** API reference: `safety_identifier` and `prompt_cache_key` have at most 64 characters. */
const userLengths: Rule = ({ body }) =>
  ['user', 'safety_identifier', 'prompt_cache_key']
    .filter(member => asString(body[member]).length > 64)
    .map(member => `${member}: longer than 64 characters`)
/** platform.openai.com/docs/guides/reasoning, "Unsupported parameter": the default value passes. */
const UNSUPPORTED: Readonly<Record<string, unknown>> = {
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  logprobs: false,
  top_logprobs: 0,
  logit_bias: undefined,
  stop: undefined,
  max_tokens: undefined,
}
const sampling: Rule = ({ body, family }) => {
  if (family.provider !== 'openai' || !family.reasons) return outOfRange(body)
  return Object.entries(UNSUPPORTED)
    .filter(([member, neutral]) => has(body, member) && body[member] !== neutral)
    .map(([member]) => `${member} at a reasoning model`)
}
const outOfRange = (body: LooseObject): readonly string[] => [
  ...when(
    Number(body.temperature ?? 0) > 2 || Number(body.temperature ?? 0) < 0,
    'temperature: beyond 0 to 2',
  ),
  ...when(Number(body.top_p ?? 0) > 1, 'top_p: beyond 1'),
]
/** API reference: minimum and maximum of each. "Invalid 'max_completion_tokens': integer below
 *  minimum value. Expected a value >= 1". */
const RANGES: Ranges = {
  max_tokens: [1, INT32, true],
  max_completion_tokens: [1, INT32, true],
  max_output_tokens: [1, INT32, true],
  n: [1, 128, true],
  seed: [-(2 ** 63), 2 ** 63 - 1024, true],
  frequency_penalty: [-2, 2],
  presence_penalty: [-2, 2],
  top_logprobs: [0, 20, true],
  top_p: [0, 1],
}
const ranges: Rule = ({ body }) => beyond(body, RANGES)
/** developers.openai.com/api/docs/guides/reasoning: words that a model lacks are an "Unsupported
 *  value". And "Unsupported parameter: 'reasoning.effort' is not supported with this model." */
const effort: Rule = ({ body, family }) => {
  const word = body.reasoning_effort ?? asObject(body.reasoning).effort ?? undefined
  if (family.provider !== 'openai' || word === undefined) return []
  if (!family.reasons) return ['an effort at a model that does not reason']
  const isKnown = family.efforts?.includes(asString(word)) ?? true
  return when(!isKnown, `effort ${word} at ${family.name}`)
}
/** platform.openai.com/docs/guides/images: PNG, JPEG, WEBP, GIF. "Expected a base64-encoded
 *  data URL with an image MIME type". */
const IMAGES = /^image\/(?:png|jpeg|jpg|gif|webp)$/
const images: Rule = ({ body }) =>
  objectsIn(body.messages ?? body.input).flatMap(([{ type, image_url: image }, path]) => {
    if (type !== 'image_url' && type !== 'input_image') return []
    const url = asObject(image).url ?? image
    if (url === undefined || url === null) return []
    const media = dataType(url)
    const isFetched = /^https?:/.test(asString(url))
    return when(!isFetched && !IMAGES.test(media ?? ''), `${path}: an image of ${media}`)
  })
/** "Invalid 'text.format.name'": the pattern of tool names holds for schemas. Their root is an
 *  object ("schema must be a JSON Schema of 'type: \"object\"'"). */
const formOf = (body: LooseObject): LooseObject => {
  const format = asObject(body.response_format ?? asObject(body.text).format)
  return asObject(format.json_schema ?? format)
}
const schemas: Rule = ({ body }) => {
  const { name, schema, strict } = formOf(body)
  if (schema === undefined) return []
  return [
    ...when(!TOOL_NAME.test(asString(name)), `format: the name ${name}`),
    ...(strict === true ? strictProblems('format', schema) : []),
    ...(strict === true ? rootProblems('format', schema, ['anyOf', 'oneOf', 'allOf']) : []),
  ]
}
/** "'messages' must contain the word 'json' in some form, to use 'response_format' of type
 *  'json_object'"; Responses looks in `input` only. */
const jsonWord: Rule = ({ body }) => {
  const { type } = asObject(body.response_format ?? asObject(body.text).format)
  const text = JSON.stringify(body.messages ?? body.input ?? '')
  return when(type === 'json_object' && !/json/i.test(text), 'json_object without the word JSON')
}
/** "The 'stream_options' parameter is only allowed when 'stream' is enabled." */
const streamOptions: Rule = ({ body }) =>
  when(has(body, 'stream_options') && body.stream !== true, 'stream_options without stream')

/** The ids of calls, at most 64 characters: "Invalid 'input[1].call_id': string too long". */
export const longIds = (ids: readonly string[]): readonly string[] =>
  ids.filter(id => id.length === 0 || id.length > 64).map(id => `the call id "${id}"`)

const ofOpenAi =
  (rule: Rule): Rule =>
  (request: SentRequest) =>
    request.family.provider === 'openai' ? rule(request) : []
export const OPENAI_RULES: Rules = {
  'tool-names': toolNames,
  'tool-schemas': toolSchemas,
  'tool-choice': toolChoice,
  metadata: ofOpenAi(metadata),
  'user-lengths': userLengths,
  sampling,
  ranges,
  effort,
  images,
  schemas,
  'json-word': ofOpenAi(jsonWord),
  'stream-options': streamOptions,
}
