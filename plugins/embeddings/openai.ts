/** Embeddings as OpenAI has them, and as those do who embed images too: `input` is a text, texts, tokens, or objects like the parts
 *  of a message. */
import type { Json } from '../../engine/plugin.ts'
import type { Media, Text } from '../formats/content.ts'
import { fault } from '../formats/faults.ts'
import {
  count,
  element,
  type Fields,
  fieldsIn,
  isFields,
  itemsIn,
  need,
  numberIn,
  present,
  textIn,
} from '../formats/fields.ts'
import { dataUrl, parseDataUrl } from '../formats/media.ts'
import type { EmbeddingFormat, Item } from './hub.ts'

export const openai: EmbeddingFormat = {
  name: 'openai',
  dialect: 'openai',
  errors: 'openai-chat',
  read(body) {
    const encoding = textIn(body, 'encoding_format')
    if (encoding !== undefined && encoding !== 'float' && encoding !== 'base64')
      throw fault('MEMBER_VALUE', ['encoding_format', 'it is float or base64'], {
        param: 'encoding_format',
      })
    const dimensions = numberIn(body, 'dimensions')
    const user = textIn(body, 'user')
    return {
      items: readInput(body.input),
      encoding: encoding ?? 'float',
      many: true,
      ...(dimensions !== undefined && { dimensions }),
      ...(user !== undefined && { user }),
    }
  },
  write(wanted, name, loss) {
    const { items, dimensions, user, encoding, task, title } = wanted
    if (task !== undefined) loss.drop('taskType')
    if (title !== undefined) loss.drop('title')
    const input = items.map(writeItem)
    return {
      path: '/v1/embeddings',
      body: present({
        model: name,
        input: input as Json,
        dimensions,
        user,
        encoding_format: encoding,
      }),
    }
  },
  readAnswer(body) {
    const rows = [...itemsIn(body, 'data')].sort(
      (one, other) => count(one.index) - count(other.index),
    )
    const { usage } = body
    return {
      vectors: rows.map(({ embedding }) => vectorOf(embedding)),
      ...(isFields(usage) && { meters: { input: count(usage.prompt_tokens) } }),
    }
  },
  writeAnswer({ vectors, meters }, { encoding }, model) {
    const tokens = meters?.input ?? 0
    return {
      object: 'list',
      data: vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: encoding === 'base64' ? packed(vector) : vector,
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }
  },
}

/** Numbers are the tokens of one item; anything else in a list is an item. */
const readInput = (input: Json | undefined): readonly Item[] => {
  if (input === undefined || input === null)
    throw fault('MEMBER_MISSING', ['input'], { param: 'input' })
  const list = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
  if (list.length === 0) throw fault('MEMBER_VALUE', ['input', 'it is empty'], { param: 'input' })
  return list.map((item: Json, index: number) =>
    readItem(item, list === input ? `input[${index}]` : 'input'),
  )
}
const readItem = (item: Json, at: string): Item => {
  if (typeof item === 'string') return { type: 'content', content: [{ type: 'text', text: item }] }
  if (Array.isArray(item)) return { type: 'tokens', tokens: tokensOf(item, at) }
  return { type: 'content', content: [readPart(element(item, at), at)] }
}
const tokensOf = (list: readonly Json[], at: string): readonly number[] => {
  if (list.length > 0 && list.every(Number.isInteger)) return list as readonly number[]
  throw fault('MEMBER_TYPE', [at, 'a text, tokens or an object'], { param: at })
}
const readPart = (part: Fields, at: string): Text | Media => {
  if (part.type === 'text')
    return { type: 'text', text: need(textIn(part, 'text', `${at}.text`), `${at}.text`) }
  if (part.type !== 'image_url')
    throw fault('MEMBER_VALUE', [`${at}.type`, 'it is text or image_url'], { param: `${at}.type` })
  const image =
    typeof part.image_url === 'string'
      ? { url: part.image_url }
      : fieldsIn(part, 'image_url', `${at}.image_url`)
  const url = need(textIn(image ?? {}, 'url', `${at}.image_url.url`), `${at}.image_url.url`)
  return { type: 'media', kind: 'image', source: parseDataUrl(url) ?? { type: 'url', url }, at }
}

/** A lone text stays a text: that is all most upstreams know. */
const writeItem = (item: Item): Json => {
  if (item.type === 'tokens') return item.tokens
  const [only, ...more] = item.content
  if (only?.type === 'text' && more.every(each => each.type === 'text'))
    return [only, ...more].map(each => (each.type === 'text' ? each.text : '')).join('\n')
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
  return typeof embedding === 'string' ? unpacked(embedding) : []
}
const WIDTH = 4
const packed = (vector: readonly number[]): string => {
  const bytes = Buffer.alloc(vector.length * WIDTH)
  vector.forEach((value, index) => {
    bytes.writeFloatLE(value, index * WIDTH)
  })
  return bytes.toString('base64')
}
const unpacked = (text: string): readonly number[] => {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: Math.floor(bytes.length / WIDTH) }, (_, index) =>
    bytes.readFloatLE(index * WIDTH),
  )
}
