/** Embeddings as OpenAI has them, and as those do who embed images too: `input` is a text, texts, tokens, or objects like the parts
 *  of a message. */
import type { Json } from '../../engine/plugin.ts'
import type { Loss } from '../formats/codec.ts'
import type { Media, Text } from '../formats/content.ts'
import { fault } from '../formats/faults.ts'
import {
  count,
  element,
  type Fields,
  fieldsIn,
  isCount,
  isFields,
  itemsIn,
  need,
  numberIn,
  present,
  textIn,
} from '../formats/fields.ts'
import { dataUrl, parseDataUrl } from '../formats/media.ts'
import { renamed } from '../formats/rename.ts'
import type { EmbeddingFormat, Item } from './hub.ts'

export const openai: EmbeddingFormat = {
  name: 'openai',
  dialect: 'openai',
  errors: 'openai-chat',
  read({ body }, loss) {
    tellRest(body, READ, '', loss)
    const encoding = textIn(body, 'encoding_format')
    if (encoding !== undefined && encoding !== 'float' && encoding !== 'base64')
      throw fault('MEMBER_VALUE', ['encoding_format', 'it is float or base64'], {
        param: 'encoding_format',
      })
    const dimensions = numberIn(body, 'dimensions')
    const wish = dimensions !== undefined && { dimensions: { value: dimensions, at: 'dimensions' } }
    const user = textIn(body, 'user')
    return {
      items: readInput(body.input, loss).map(item => ({ ...item, ...wish })),
      encoding: encoding ?? 'float',
      many: true,
      ...(user !== undefined && { user }),
    }
  },
  write(wanted, name, loss) {
    const { items, user, encoding } = wanted
    for (const { task, title } of items) {
      if (task) loss.drop(task.at)
      if (title) loss.drop(title.at)
    }
    const input = items.map(writeItem)
    return {
      path: '/v1/embeddings',
      body: present({
        model: name,
        input: input as Json,
        dimensions: dimensionsOf(items),
        user,
        encoding_format: encoding,
      }),
    }
  },
  pass({ body, bytes, model }, { items }, name) {
    const path = '/v1/embeddings'
    // Texts and tokens are what every upstream of this format knows; objects are written as it may know them.
    if (!holdsObjects(body.input))
      return { path, body: name === model ? bytes : renamed(bytes, name) }
    const written = { ...body, model: name, input: items.map(writeItem) }
    return { path, body: Buffer.from(JSON.stringify(written)) }
  },
  readAnswer(body) {
    const rows = [...itemsIn(body, 'data')].sort(
      (one, other) => count(one.index) - count(other.index),
    )
    const { usage } = body
    return {
      vectors: rows.map(({ embedding }) => vectorOf(embedding)),
      ...(isFields(usage) &&
        isCount(usage.prompt_tokens) && { meters: { input: usage.prompt_tokens } }),
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

const READ: ReadonlySet<string> = new Set([
  ...['model', 'input', 'encoding_format', 'dimensions', 'user'],
])
const tellRest = (given: Fields, known: ReadonlySet<string>, at: string, loss: Loss): void => {
  for (const key in given) if (!known.has(key) && given[key] !== null) loss.drop(at + key)
}
const holdsObjects = (input: Json | undefined): boolean =>
  (Array.isArray(input) ? input : [input]).some(isFields)

/** Numbers are the tokens of one item; anything else in a list is an item. */
const readInput = (input: Json | undefined, loss: Loss): readonly Item[] => {
  if (input === undefined || input === null)
    throw fault('MEMBER_MISSING', ['input'], { param: 'input' })
  const list = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
  if (list.length === 0) throw fault('MEMBER_VALUE', ['input', 'it is empty'], { param: 'input' })
  return list.map((item: Json, index: number) =>
    readItem(item, list === input ? `input[${index}]` : 'input', loss),
  )
}
const readItem = (item: Json, at: string, loss: Loss): Item => {
  if (typeof item === 'string') return { type: 'content', content: [{ type: 'text', text: item }] }
  if (Array.isArray(item)) return { type: 'tokens', tokens: tokensOf(item, at) }
  return { type: 'content', content: [readPart(element(item, at), at, loss)] }
}
const tokensOf = (list: readonly Json[], at: string): readonly number[] => {
  if (list.length > 0 && list.every(Number.isInteger)) return list as readonly number[]
  throw fault('MEMBER_TYPE', [at, 'a text, tokens or an object'], { param: at })
}
const TEXT: ReadonlySet<string> = new Set(['type', 'text'])
const IMAGE: ReadonlySet<string> = new Set(['type', 'image_url'])
const ADDRESS: ReadonlySet<string> = new Set(['url'])
const readPart = (part: Fields, at: string, loss: Loss): Text | Media => {
  if (part.type === 'text') {
    tellRest(part, TEXT, `${at}.`, loss)
    return { type: 'text', text: need(textIn(part, 'text', `${at}.text`), `${at}.text`) }
  }
  if (part.type !== 'image_url')
    throw fault('MEMBER_VALUE', [`${at}.type`, 'it is text or image_url'], { param: `${at}.type` })
  const image =
    typeof part.image_url === 'string'
      ? { url: part.image_url }
      : fieldsIn(part, 'image_url', `${at}.image_url`)
  tellRest(part, IMAGE, `${at}.`, loss)
  tellRest(image ?? {}, ADDRESS, `${at}.image_url.`, loss)
  const url = need(textIn(image ?? {}, 'url', `${at}.image_url.url`), `${at}.image_url.url`)
  return { type: 'media', kind: 'image', source: parseDataUrl(url) ?? { type: 'url', url }, at }
}

/** One call has one number for all its vectors. */
const dimensionsOf = ([first, ...others]: readonly Item[]): number | undefined => {
  const wanted = first?.dimensions
  const other = others.find(({ dimensions }) => dimensions?.value !== wanted?.value)
  const at = other && (other.dimensions?.at ?? wanted?.at ?? 'dimensions')
  if (at === undefined) return wanted?.value
  const reason = 'this model takes one for all requests of a batch'
  throw fault('MEMBER_VALUE', [at, reason], { param: at })
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
