/** Requests of generateContent that Google refuses although they fit its types. Quoted texts are
 *  messages of its own 400 answers; the rest is ai.google.dev/gemini-api/docs. */
import {
  asList,
  asNumber,
  asObject,
  asString,
  type LooseObject,
} from '../helpers/formats/loose-json.ts'
import {
  beyond,
  duplicates,
  has,
  INT32,
  isEmptyList,
  objectsIn,
  type Rule,
  type Rules,
  when,
} from './rule.ts'

const contentsOf = (body: LooseObject): readonly LooseObject[] => asList(body.contents)
const partsOf = ({ parts }: LooseObject): readonly LooseObject[] => asList(parts)
const configOf = (body: LooseObject): LooseObject => asObject(body.generationConfig)
const declarationsOf = (body: LooseObject): readonly LooseObject[] =>
  asList(body.tools).flatMap(each => asList(each.functionDeclarations))
const named = (content: LooseObject | undefined, member: string): readonly LooseObject[] =>
  content
    ? partsOf(content).flatMap(each => (has(each, member) ? [asObject(each[member])] : []))
    : []

/** "contents is not specified", "contents.parts must not be empty", "Please use a valid role: user,
 *  model", "Please ensure that single turn requests end with a user role". */
const contents: Rule = ({ body }) => {
  const list = contentsOf(body)
  return [
    ...when(list.length === 0, 'contents: none'),
    ...when(
      has(body, 'systemInstruction') && isVoid(asObject(body.systemInstruction)),
      'systemInstruction: empty',
    ),
    ...list.flatMap((each, index) => [
      ...when(isVoid(each), `contents/${index}: empty`),
      ...when(each.role !== 'user' && each.role !== 'model', `contents/${index}: ${each.role}`),
    ]),
  ]
}
/** A content whose parts hold nothing; a signature alone is something. */
const isVoid = (content: LooseObject): boolean =>
  partsOf(content).every(
    ({ text, thought: _, ...rest }) => asString(text) === '' && Object.keys(rest).length === 0,
  )
/** "Please ensure that the number of function response parts is equal to the number of function
 *  call parts of the function call turn", "Please ensure that function call turn comes
 *  immediately after a user turn or after a function response turn". */
const pairs: Rule = ({ body }) => {
  const list = contentsOf(body)
  return list.flatMap((each, index) => {
    const calls = named(each, 'functionCall')
    const responses = named(each, 'functionResponse')
    const openCalls = named(list[index - 1], 'functionCall')
    const names = (all: readonly LooseObject[]): string =>
      all
        .map(({ name }) => name)
        .sort()
        .join()
    return [
      ...when(
        responses.length > 0 && responses.length !== openCalls.length,
        `contents/${index}: ${responses.length} responses of ${openCalls.length} calls`,
      ),
      ...when(responses.length === 0 && openCalls.length > 0, `contents/${index}: no responses`),
      ...when(
        responses.length === openCalls.length && names(responses) !== names(openCalls),
        `contents/${index}: responses of ${names(responses)}`,
      ),
      ...when(
        calls.length > 0 && list[index - 1]?.role !== 'user',
        `contents/${index}: calls behind no user turn`,
      ),
      ...when(calls.length > 0 && index === list.length - 1, `contents/${index}: calls are last`),
    ]
  })
}
/** docs, thought signatures: "Function call is missing a thought_signature in functionCall parts":
 *  the first call of each step since the last turn of the user, at Gemini 3. */
const signatures: Rule = ({ body, family }) => {
  if (family.generation !== 3) return []
  const list = contentsOf(body)
  const from = list.findLastIndex(
    each => each.role === 'user' && named(each, 'functionResponse').length === 0,
  )
  return list.slice(from + 1).flatMap(each => {
    const first = partsOf(each).find(part => has(part, 'functionCall'))
    return when(
      first !== undefined && !has(first, 'thoughtSignature'),
      'a call without thoughtSignature',
    )
  })
}
/** "Invalid function name. Must start with a letter or an underscore…", "Duplicate function
 *  declaration found". */
const toolNames: Rule = ({ body }) => {
  const names = declarationsOf(body).map(({ name }) => asString(name))
  return [
    ...names
      .filter(name => !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name))
      .map(name => `the name "${name}"`),
    ...duplicates(names).map(name => `two functions are named "${name}"`),
  ]
}
/** The subset of OpenAPI: "Unknown name "x" at 'tools[0].function_declarations[0].parameters'". */
const KEYWORDS = new Set(
  'type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum'.split(
    ' ',
  ),
)
const openApi = (schema: unknown, path: string): readonly string[] => {
  const { properties, items, anyOf, ...rest } = asObject(schema)
  const keys = Object.keys(asObject(schema))
  const type = asString(rest.type).toUpperCase()
  const members = Object.keys(asObject(properties))
  return [
    ...keys.filter(key => !KEYWORDS.has(key)).map(key => `${path}: the keyword ${key}`),
    ...when(Array.isArray(rest.type), `${path}: several types`),
    // "only allowed for STRING type", "property is not defined".
    ...when(has(rest, 'enum') && type !== 'STRING' && type !== '', `${path}: an enum of ${type}`),
    ...(asList(rest.required) as readonly unknown[])
      .filter(key => !members.includes(asString(key)))
      .map(key => `${path}: ${key} is required and not defined`),
    ...when(type === 'ARRAY' && !has(asObject(schema), 'items'), `${path}: an array without items`),
    ...Object.entries(asObject(properties)).flatMap(([key, each]) =>
      openApi(each, `${path}/${key}`),
    ),
    ...(items === undefined ? [] : openApi(items, `${path}/items`)),
    ...asList(anyOf).flatMap(each => openApi(each, `${path}/anyOf`)),
  ]
}
const toolSchemas: Rule = ({ body }) =>
  declarationsOf(body).flatMap(({ name, parameters, parametersJsonSchema: schema }) => [
    ...(has({ parameters }, 'parameters') ? openApi(parameters, asString(name)) : []),
    ...when(has({ schema }, 'schema') && has({ parameters }, 'parameters'), `${name}: two schemas`),
    ...when(
      has({ schema }, 'schema') && asObject(schema).type !== 'object',
      `${name}: the root is not an object`,
    ),
  ])
/** docs, function calling: "allowed_function_names should be set only when mode is ANY", names are
 *  declared ones. "Function calling config is set without function_declarations." */
const toolChoice: Rule = ({ body }) => {
  const config = asObject(asObject(body.toolConfig).functionCallingConfig)
  const names = asList(config.allowedFunctionNames) as readonly unknown[]
  const known = declarationsOf(body).map(({ name }) => name)
  return [
    ...when(
      names.length > 0 && !['ANY', 'VALIDATED'].includes(asString(config.mode)),
      `names in mode ${config.mode}`,
    ),
    ...names
      .filter(name => !known.includes(name as string))
      .map(name => `${name} is not a function of the request`),
    ...when(config.mode === 'ANY' && known.length === 0, 'a forced call without functions'),
    ...when(
      asList(body.tools).some(({ functionDeclarations: list }) => isEmptyList(list)),
      'functionDeclarations: empty',
    ),
  ]
}
/** "Tool use with function calling is unsupported", "Function calling with a response mime type:
 *  'application/json' is unsupported": before Gemini 3. */
const combinations: Rule = ({ body, family }) => {
  const generation = family.generation ?? 3
  const hosted = asList(body.tools)
    .flatMap(each => Object.keys(each))
    .filter(key => key !== 'functionDeclarations')
  const functions = declarationsOf(body).length > 0
  const config = configOf(body)
  const isJson = config.responseMimeType === 'application/json'
  const wantsSchema = ['responseSchema', 'responseJsonSchema', '_responseJsonSchema'].some(key =>
    has(config, key),
  )
  return [
    ...when(generation < 3 && functions && hosted.length > 0, `${hosted} beside functions`),
    ...when(generation < 3 && functions && isJson, 'JSON beside functions'),
    ...when(generation < 3 && hosted.length > 0 && isJson, `JSON beside ${hosted}`),
    ...when(
      generation >= 3 &&
        functions &&
        hosted.length > 0 &&
        asObject(body.toolConfig).includeServerSideToolInvocations !== true,
      `${hosted} beside functions without includeServerSideToolInvocations`,
    ),
    ...when(
      wantsSchema && !/json|text\/x\.enum/.test(asString(config.responseMimeType)),
      'a schema without its media type',
    ),
    ...when(
      has(config, 'responseSchema') && has(config, 'responseJsonSchema'),
      'two schemas of the answer',
    ),
    ...(has(config, 'responseSchema') ? openApi(config.responseSchema, 'responseSchema') : []),
  ]
}
/** docs, thinking: "You can only set only one of thinking budget and thinking level", "Thinking
 *  level is not supported for this model", "The thinking budget X is invalid. Please choose a
 *  value between Y and Z", "Thinking is not enabled for this model" (include_thoughts). */
const thinking: Rule = ({ body, family }) => {
  const config = asObject(configOf(body).thinkingConfig)
  const { thinkingBudget: budget, thinkingLevel: level } = config
  const [least, most] = family.budget ?? [0, Number.POSITIVE_INFINITY]
  const generation = family.generation ?? 3
  const isOutside = typeof budget === 'number' && budget !== -1 && (budget < least || budget > most)
  return [
    ...when(budget !== undefined && level !== undefined, 'a budget beside a level'),
    ...when(level !== undefined && generation < 3, `a level at ${family.name}`),
    ...when(generation < 2.5 && Object.keys(config).length > 0, `thinkingConfig at ${family.name}`),
    ...when(generation >= 2.5 && isOutside, `a budget of ${budget} at ${family.name}`),
    ...when(budget === 0 && config.includeThoughts === true, 'thoughts of a budget of 0'),
  ]
}
/** docs: media types of images, audio, video and documents; "Unsupported MIME type: image/gif". */
const MEDIA =
  /^(?:image\/(?:png|jpeg|webp|heic|heif)|audio\/[\w.+-]+|video\/[\w.+-]+|application\/(?:pdf|json|x-javascript|x-python|xml|rtf)|text\/[\w.+-]+)(?:;|$)/
const media: Rule = ({ body, family }) =>
  objectsIn(body.contents, 'contents').flatMap(
    ([{ inlineData, fileData, functionResponse }, path]) => {
      const { mimeType, data } = asObject(inlineData)
      return [
        ...when(
          inlineData !== undefined && !MEDIA.test(asString(mimeType)),
          `${path}: ${mimeType}`,
        ),
        ...when(inlineData !== undefined && asString(data) === '', `${path}: no data`),
        ...when(
          fileData !== undefined && !/^(?:https|gs):/.test(asString(asObject(fileData).fileUri)),
          `${path}: the uri`,
        ),
        ...when(
          asList(asObject(functionResponse).parts).length > 0 && (family.generation ?? 3) < 3,
          `${path}: media in a response at ${family.name}`,
        ),
      ]
    },
  )
/** API reference of GenerationConfig. */
const settings: Rule = ({ body }) => {
  const config = configOf(body)
  const { seed, temperature, topP, candidateCount: count, logprobs } = config
  return [
    ...when(asList(config.stopSequences).length > 5, 'stopSequences: more than 5'),
    ...when(
      (asList(config.stopSequences) as readonly unknown[]).includes(''),
      'stopSequences: an empty one',
    ),
    ...when(asNumber(temperature) > 2 || asNumber(temperature) < 0, 'temperature: beyond 0 to 2'),
    ...when(asNumber(topP) > 1, 'topP: beyond 1'),
    ...when(
      typeof seed === 'number' && (!Number.isInteger(seed) || Math.abs(seed) > 2 ** 31),
      `seed: ${seed}`,
    ),
    ...when(
      has(config, 'logprobs') && (config.responseLogprobs !== true || asNumber(logprobs) > 20),
      'logprobs',
    ),
    ...when(
      count !== undefined && (asNumber(count) < 1 || asNumber(count) > 8),
      `candidateCount: ${count}`,
    ),
    ...beyond(config, {
      maxOutputTokens: [1, INT32, true],
      topK: [1, INT32, true],
      topP: [0, 1],
      frequencyPenalty: [-2, 2],
      presencePenalty: [-2, 2],
    }),
  ]
}
/** "labels" is of Vertex only: `Unknown name "labels"`. */
const labels: Rule = ({ body, path }) =>
  when(has(body, 'labels') && !/publishers/.test(path), 'labels at the Gemini API')

export const GEMINI_RULES: Rules = {
  contents,
  pairs,
  signatures,
  'tool-names': toolNames,
  'tool-schemas': toolSchemas,
  'tool-choice': toolChoice,
  combinations,
  thinking,
  media,
  settings,
  labels,
}
