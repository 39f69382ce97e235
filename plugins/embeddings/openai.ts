/** OpenAI's embedding format, with its extension for images: `input` is a text, a list of texts,
 *  token ids, or objects like the parts of a message. */
import type { Json } from '../../engine/plugin.ts'
import { fault } from '../formats/faults.ts'
import {
  count,
  type Fields,
  fieldsIn,
  isCount,
  isFields,
  lenientObject,
  lenientObjects,
  numberIn,
  omitUndefined,
  requireMember,
  requireObject,
  textIn,
} from '../formats/fields.ts'
import type { DroppedFields } from '../formats/hub/codec.ts'
import type { Media, Text } from '../formats/hub/content.ts'
import { replaceModel } from '../formats/json/model-name.ts'
import { dataUrl, parseDataUrl } from '../formats/media/media.ts'
import { OPENAI_SERVED } from '../formats/served.ts'
import { CHAT_NAMES, withOwnNames } from '../formats/stream/count-names.ts'
import { promptTokensIn, promptTokensOf } from '../formats/token-meters.ts'
import { constant, described, integer, list, number, object, text } from '../shapes.ts'
import type { Meters } from '../slots.ts'
import type { EmbeddingFormat, EmbeddingInput } from './hub.ts'

const VECTOR = described('Base64 with `encoding_format: base64`', {
  anyOf: [list(number), text],
})
const SCHEMA = object({
  object: constant('list'),
  data: list(object({ object: constant('embedding'), index: integer, embedding: VECTOR })),
  model: text,
  usage: object({ prompt_tokens: integer, total_tokens: integer }),
})

export const openai: EmbeddingFormat = {
  name: 'openai',
  dialect: 'openai',
  errors: 'openai-chat',
  schema: () => SCHEMA,
  readRequest({ body }, loss) {
    reportUnknown(body, KNOWN_MEMBERS, '', loss)
    const encoding = textIn(body, 'encoding_format')
    if (encoding !== undefined && encoding !== 'float' && encoding !== 'base64')
      throw fault('MEMBER_VALUE', ['encoding_format', 'it is float or base64'], {
        param: 'encoding_format',
      })
    const dimensions = numberIn(body, 'dimensions')
    const settings = dimensions !== undefined && {
      dimensions: { value: dimensions, path: 'dimensions' },
    }
    const user = textIn(body, 'user')
    return {
      items: readInput(body.input, loss).map(item => ({ ...item, ...settings })),
      encoding: encoding ?? 'float',
      isList: true,
      ...(user !== undefined && { user }),
    }
  },
  writeRequest(prompt, name, loss, traits) {
    const { items, user, encoding } = prompt
    for (const { task, title } of items) {
      if (task) loss.add(task.path)
      if (title) loss.add(title.path)
    }
    const input = items.map(item => writeItem(item, traits.text_objects === true))
    return {
      path: '/v1/embeddings',
      body: omitUndefined({
        model: name,
        input: input as Json,
        dimensions: dimensionsOf(items),
        user,
        encoding_format: encoding,
      }),
    }
  },
  passThrough({ body, bytes, model }, { items }, name, traits) {
    const path = '/v1/embeddings'
    // Every upstream of this format accepts texts and tokens; objects are normalised for those that
    // do not accept them.
    if (traits.text_objects === true || !holdsObjects(body.input))
      return { path, body: name === model ? bytes : replaceModel(bytes, name) }
    const newBody = { ...body, model: name, input: items.map(item => writeItem(item, false)) }
    return { path, body: Buffer.from(JSON.stringify(newBody)) }
  },
  readAnswer(body) {
    const rows = [...lenientObjects(body, 'data')].sort(
      (one, other) => count(one.index) - count(other.index),
    )
    const meters = metersOf(body)
    return {
      vectors: rows.map(({ embedding }) => vectorOf(embedding)),
      ...(meters && { meters }),
      served: OPENAI_SERVED.read(body),
    }
  },
  writeAnswer({ vectors, meters }, { encoding }, model) {
    const tokens = promptTokensOf(meters ?? {})
    return {
      object: 'list',
      data: vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: encoding === 'base64' ? encodeVector(vector) : vector,
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }
  },
}

const ownNames = withOwnNames(CHAT_NAMES)
/** OpenAI's names, those of Voyage (`total_tokens` alone), and Cohere's `meta`. Undefined: no valid
 *  count. */
const metersOf = ({ usage, meta }: Fields): Meters | undefined => {
  const billed = isFields(meta) ? meta : {}
  const reports = [
    isFields(usage) ? usage : {},
    lenientObject(billed, 'billed_units'),
    lenientObject(billed, 'tokens'),
  ].map(ownNames)
  const counts = reports.find(hasCounts)
  if (!counts) return undefined
  const tokens = count(counts.prompt_tokens) || promptTokensIn(counts)
  const details = lenientObject(counts, 'prompt_tokens_details')
  const image = Math.min(count(details.image_tokens), tokens)
  const audio = Math.min(count(details.audio_tokens), tokens - image)
  return {
    input: tokens - image - audio,
    ...(image > 0 && { image_input: image }),
    ...(audio > 0 && { audio_input: audio }),
  }
}
const hasCounts = (counts: Fields): boolean =>
  COUNTS.some(name => isCount(counts[name])) &&
  COUNTS.every(name => (counts[name] ?? null) === null || isCount(counts[name]))
const COUNTS = ['prompt_tokens', 'input_tokens', 'total_tokens'] as const

const KNOWN_MEMBERS: ReadonlySet<string> = new Set([
  'model',
  'input',
  'encoding_format',
  'dimensions',
  'user',
])
const reportUnknown = (
  fields: Fields,
  members: ReadonlySet<string>,
  path: string,
  loss: DroppedFields,
): void => {
  for (const key in fields) if (!members.has(key) && fields[key] !== null) loss.add(path + key)
}
const holdsObjects = (input: Json | undefined): boolean =>
  (Array.isArray(input) ? input : [input]).some(isFields)

/** A list of numbers is one item of token ids; any other list holds one item per element. */
const readInput = (input: Json | undefined, loss: DroppedFields): readonly EmbeddingInput[] => {
  if (input === undefined || input === null)
    throw fault('MEMBER_MISSING', ['input'], { param: 'input' })
  const list = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
  if (list.length === 0) throw fault('MEMBER_VALUE', ['input', 'it is empty'], { param: 'input' })
  return list.map((item: Json, index: number) =>
    readItem(item, list === input ? `input[${index}]` : 'input', loss),
  )
}
const readItem = (item: Json, at: string, loss: DroppedFields): EmbeddingInput => {
  if (typeof item === 'string') return { type: 'content', content: [{ type: 'text', text: item }] }
  if (Array.isArray(item)) return { type: 'tokens', tokens: tokensOf(item, at) }
  return { type: 'content', content: [readPart(requireObject(item, at), at, loss)] }
}
const tokensOf = (list: readonly Json[], at: string): readonly number[] => {
  if (list.length > 0 && list.every(Number.isInteger)) return list as readonly number[]
  throw fault('MEMBER_TYPE', [at, 'a text, tokens or an object'], { param: at })
}
const TEXT_MEMBERS: ReadonlySet<string> = new Set(['type', 'text'])
const IMAGE_MEMBERS: ReadonlySet<string> = new Set(['type', 'image_url'])
const URL_MEMBERS: ReadonlySet<string> = new Set(['url'])
const readPart = (part: Fields, at: string, loss: DroppedFields): Text | Media => {
  if (part.type === 'text') {
    reportUnknown(part, TEXT_MEMBERS, `${at}.`, loss)
    return { type: 'text', text: requireMember(textIn(part, 'text', `${at}.text`), `${at}.text`) }
  }
  if (part.type !== 'image_url')
    throw fault('MEMBER_VALUE', [`${at}.type`, 'it is text or image_url'], { param: `${at}.type` })
  const image =
    typeof part.image_url === 'string'
      ? { url: part.image_url }
      : fieldsIn(part, 'image_url', `${at}.image_url`)
  reportUnknown(part, IMAGE_MEMBERS, `${at}.`, loss)
  reportUnknown(image ?? {}, URL_MEMBERS, `${at}.image_url.`, loss)
  const url = requireMember(
    textIn(image ?? {}, 'url', `${at}.image_url.url`),
    `${at}.image_url.url`,
  )
  return { type: 'media', kind: 'image', source: parseDataUrl(url) ?? { type: 'url', url }, at }
}

/** The dimensions, which must be the same for all items of a call. */
const dimensionsOf = ([first, ...others]: readonly EmbeddingInput[]): number | undefined => {
  const setting = first?.dimensions
  const other = others.find(({ dimensions }) => dimensions?.value !== setting?.value)
  const at = other && (other.dimensions?.path ?? setting?.path ?? 'dimensions')
  if (at === undefined) return setting?.value
  const reason = 'this model takes one for all requests of a batch'
  throw fault('MEMBER_VALUE', [at, reason], { param: at })
}

/** A text-only item becomes a plain text, as most upstreams accept nothing else. */
const writeItem = (item: EmbeddingInput, asObject: boolean): Json => {
  if (item.type === 'tokens') return item.tokens
  const [only, ...more] = item.content
  if (only?.type === 'text' && more.every(each => each.type === 'text')) {
    const text = [only, ...more].map(each => (each.type === 'text' ? each.text : '')).join('\n')
    return asObject ? { type: 'text', text } : text
  }
  if (only?.type !== 'media' || more.length > 0)
    throw fault('CONTENT_UNSUPPORTED', ['input', 'text and images in one item'], { param: 'input' })
  return writeImage(only)
}
const writeImage = ({ source, kind, at = 'input' }: Media): Json => {
  if (kind !== 'image' || (source.type !== 'data' && source.type !== 'url'))
    throw fault('CONTENT_UNSUPPORTED', [at, `a ${kind}`], { param: at })
  const url = source.type === 'url' ? source.url : dataUrl(source)
  return { type: 'image_url', image_url: { url } }
}

// ---------------------------------------------------------------- vectors

const vectorOf = (embedding: Json | undefined): readonly number[] => {
  if (Array.isArray(embedding)) return embedding as readonly number[]
  return typeof embedding === 'string' ? decodeVector(embedding) : []
}
const FLOAT_BYTES = 4
const encodeVector = (vector: readonly number[]): string => {
  const bytes = Buffer.alloc(vector.length * FLOAT_BYTES)
  vector.forEach((value, index) => {
    bytes.writeFloatLE(value, index * FLOAT_BYTES)
  })
  return bytes.toString('base64')
}
const decodeVector = (text: string): readonly number[] => {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: Math.floor(bytes.length / FLOAT_BYTES) }, (_, index) =>
    bytes.readFloatLE(index * FLOAT_BYTES),
  )
}
