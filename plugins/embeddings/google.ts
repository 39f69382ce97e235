/** Embeddings as Gemini has them: `:embedContent` for one, `:batchEmbedContents` for several; both spellings of every key. */
import type { Json } from '../../engine/plugin.ts'
import type { Media, Text } from '../formats/content.ts'
import { fault } from '../formats/faults.ts'
import {
  count,
  element,
  type Fields,
  inner,
  isFields,
  itemsIn,
  listIn,
  need,
  numberIn,
  present,
  textIn,
} from '../formats/fields.ts'
import { kindOfMime } from '../formats/media.ts'
import type { EmbeddingFormat, Item, Wanted } from './hub.ts'

export const google: EmbeddingFormat = {
  name: 'google',
  dialect: 'google',
  errors: 'google-gemini',
  read(body, path) {
    if (!path.split('?')[0]?.endsWith(':batchEmbedContents'))
      return { ...readOne(body, ''), many: false }
    const requests = need(listIn(body, 'requests'), 'requests')
    if (requests.length === 0)
      throw fault('MEMBER_VALUE', ['requests', 'it is empty'], { param: 'requests' })
    const all = requests.map((each, index) =>
      readOne(element(each, `requests[${index}]`), `requests[${index}].`),
    )
    return { ...all[0], items: all.flatMap(({ items }) => items), encoding: 'float', many: true }
  },
  write(wanted, name, loss) {
    const { items, task, title, dimensions, user, many } = wanted
    if (user !== undefined) loss.drop('user')
    const requests = items.map(item =>
      present({
        model: `models/${name}`,
        content: { parts: writeItem(item) as Json },
        taskType: task,
        title,
        outputDimensionality: dimensions,
      }),
    )
    const verb = many ? 'batchEmbedContents' : 'embedContent'
    const path = `/v1beta/models/${encodeURIComponent(name)}:${verb}`
    return { path, body: many ? { requests } : (requests[0] ?? {}) }
  },
  readAnswer(body) {
    const rows = isFields(body.embedding) ? [body.embedding] : itemsIn(body, 'embeddings')
    const { usageMetadata: usage } = body
    return {
      vectors: rows.map(({ values }) =>
        Array.isArray(values) ? (values as readonly number[]) : [],
      ),
      ...(isFields(usage) && { meters: { input: count(usage.promptTokenCount) } }),
    }
  },
  writeAnswer({ vectors, meters }, { many }) {
    const rows = vectors.map(values => ({ values }))
    const usage = meters && { usageMetadata: { promptTokenCount: meters.input ?? 0 } }
    return many
      ? { embeddings: rows, ...usage }
      : { embedding: rows[0] ?? { values: [] }, ...usage }
  },
}

const readOne = (body: Fields, at: string): Wanted => {
  const config = inner(body, 'config')
  const either = (camel: string, snake: string) =>
    textIn(body, camel, at + camel) ??
    textIn(body, snake, at + snake) ??
    textIn(config, camel, at + camel)
  const task = either('taskType', 'task_type')
  const title = either('title', 'title')
  const dimensions =
    numberIn(body, 'outputDimensionality', `${at}outputDimensionality`) ??
    numberIn(body, 'output_dimensionality', `${at}output_dimensionality`)
  const content = element(body.content, `${at}content`)
  const parts = need(listIn(content, 'parts', `${at}content.parts`), `${at}content.parts`)
  return {
    items: [
      {
        type: 'content',
        content: parts.map((part, index) => readPart(part, `${at}content.parts[${index}]`)),
      },
    ],
    encoding: 'float',
    many: false,
    ...(task !== undefined && { task }),
    ...(title !== undefined && { title }),
    ...(dimensions !== undefined && { dimensions }),
  }
}
const readPart = (given: Json, at: string): Text | Media => {
  const part = element(given, at)
  const text = textIn(part, 'text', `${at}.text`)
  if (text !== undefined) return { type: 'text', text }
  const inline = isFields(part.inlineData) ? part.inlineData : inner(part, 'inline_data')
  const mime =
    textIn(inline, 'mimeType', `${at}.inlineData.mimeType`) ?? textIn(inline, 'mime_type', at)
  const base64 = need(textIn(inline, 'data', `${at}.inlineData.data`), `${at}.text`)
  const type = need(mime, `${at}.inlineData.mimeType`)
  return {
    type: 'media',
    kind: kindOfMime(type),
    source: { type: 'data', data: base64, mime: type },
    at,
  }
}
const writeItem = (item: Item): readonly Fields[] => {
  if (item.type === 'tokens')
    throw fault('CONTENT_UNSUPPORTED', ['input', 'numbers of tokens'], { param: 'input' })
  return item.content.map(each => {
    if (each.type === 'text') return { text: each.text }
    const { source, at = 'input', kind } = each
    if (source.type !== 'data')
      throw fault('CONTENT_UNSUPPORTED', [at, `a ${kind} by its ${source.type}`], { param: at })
    return { inlineData: { mimeType: source.mime, data: source.data } }
  })
}
