/** Requests for interactions that Google refuses although they fit its types. Source:
 *  ai.google.dev/gemini-api/docs/interactions, and generateContent for what it does not say. */
import { asList, asObject, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import {
  beyond,
  duplicates,
  INT32,
  isEmptyList,
  objectsIn,
  type Rule,
  type Rules,
  when,
} from './rule.ts'

const stepsOf = ({ input }: LooseObject): readonly LooseObject[] => asList(input)
const ofType = (body: LooseObject, type: string): readonly LooseObject[] =>
  stepsOf(body).filter(each => each.type === type)

const input: Rule = ({ body }) => [
  ...when(body.input === '' || isEmptyList(body.input), 'input: empty'),
  ...stepsOf(body).flatMap(({ type, content }, at) =>
    when(
      /^(?:user_input|model_output)$/.test(asString(type)) && isEmptyList(content),
      `${at}: empty`,
    ),
  ),
]
/** Each result follows the call of its id, and each call has a result. */
const calls: Rule = ({ body }) => {
  const ids = ofType(body, 'function_call').map(({ id }) => asString(id))
  const results = ofType(body, 'function_result').map(({ call_id: id }) => asString(id))
  const positionOf = (type: string, member: string, id: string): number =>
    stepsOf(body).findIndex(each => each.type === type && each[member] === id)
  return [
    ...duplicates(ids).map(id => `${id}: twice`),
    ...ids.filter(id => !results.includes(id)).map(id => `${id}: no result`),
    ...results
      .filter(
        id =>
          positionOf('function_result', 'call_id', id) <
            Math.max(0, positionOf('function_call', 'id', id)) || !ids.includes(id),
      )
      .map(id => `${id}: no call before it`),
  ]
}
const NAME = /^[A-Za-z_][\w.:-]{0,127}$/
const tools: Rule = ({ body }) => {
  const names = asList(body.tools)
    .filter(({ type }) => type === 'function')
    .map(({ name }) => asString(name))
  const choice = asObject(asObject(body.generation_config).tool_choice)
  const choices = asList(asObject(choice.allowed_tools).tools) as readonly unknown[]
  return [
    ...names.filter(name => !NAME.test(name)).map(name => `${name}: no valid name`),
    ...duplicates(names).map(name => `${name}: twice`),
    ...choices.filter(name => !names.includes(String(name))).map(name => `${name}: not offered`),
  ]
}
/** The SDK's `ImageContentMimeType`. */
const IMAGES = /^image\/(?:png|jpeg|webp|heic|heif|gif|bmp|tiff)$/
const MEDIA: ReadonlySet<unknown> = new Set(['image', 'audio', 'document', 'video'])
const media: Rule = ({ body }) =>
  objectsIn(body.input, 'input').flatMap(([each, path]) => {
    if (!MEDIA.has(each.type) || path.includes('/arguments')) return []
    const { data, uri, mime_type: type } = each
    return [
      ...when(!data && !uri, `${path}: no data`),
      ...when(data !== undefined && !type, `${path}: no type`),
      ...when(
        each.type === 'image' && type !== undefined && !IMAGES.test(asString(type)),
        `${path}: ${type}`,
      ),
      ...when(asString(uri).startsWith('http:'), `${path}: a URL without https`),
    ]
  })

/** The bounds of generateContent. */
const settings: Rule = ({ body }) => {
  const config = asObject(body.generation_config)
  const stops = asList(config.stop_sequences) as readonly unknown[]
  return [
    ...beyond(config, {
      max_output_tokens: [1, INT32, true],
      seed: [-INT32, INT32, true],
      temperature: [0, 2],
      top_p: [0, 1],
    }),
    ...when(stops.includes('') || stops.length > 5, 'stop_sequences: an empty one, or more than 5'),
  ]
}

export const INTERACTIONS_RULES: Rules = { input, calls, tools, media, settings }
