/** Gemini's embedding format: `:embedContent` for one item, `:batchEmbedContents` for several; keys
 *  in camelCase or snake_case. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { fault } from '../formats/faults.ts'
import {
  type Fields,
  isCount,
  isFields,
  lenientObject,
  lenientObjects,
  omitUndefined,
} from '../formats/fields.ts'
import { RequestObject, valueFault } from '../formats/google/request-object.ts'
import type { DroppedFields } from '../formats/hub/codec.ts'
import type { Media, Text } from '../formats/hub/content.ts'
import { replaceModel } from '../formats/json/model-name.ts'
import { kindOfMime } from '../formats/media/media.ts'
import { servedOf } from '../formats/served.ts'
import { withOwnNames } from '../formats/stream/count-names.ts'
import { promptTokensOf } from '../formats/token-meters.ts'
import { fields, list, number, object } from '../shapes.ts'
import type { ClientRequest, EmbeddingFormat, EmbeddingInput, Setting } from './hub.ts'

const VECTOR = object({ values: list(number) })
const USAGE = { usageMetadata: fields }

export const google: EmbeddingFormat = {
  name: 'google',
  dialect: 'google',
  errors: 'google-gemini',
  schema: path =>
    path.endsWith(':batchEmbedContents')
      ? object({ embeddings: list(VECTOR) }, USAGE)
      : object({ embedding: VECTOR }, USAGE),
  readRequest(request, loss) {
    const body = new RequestObject(request.body)
    if (!isBatch(request))
      return { items: [readInput(body, request.model, loss)], encoding: 'float', isList: false }
    const requests = body.objects('requests')
    body.reportUnread(loss, 'model')
    if (requests.length === 0) throw valueFault('requests', 'it is empty')
    const items = requests.map(each => readInput(each, request.model, loss))
    return { items, encoding: 'float', isList: true }
  },
  writeRequest({ items, user, isList: many }, name, loss) {
    if (user !== undefined) loss.add('user')
    const requests = items.map(item =>
      omitUndefined({
        model: `models/${name}`,
        content: { parts: writeItem(item) as Json },
        taskType: item.task?.value,
        title: item.title?.value,
        outputDimensionality: item.dimensions?.value,
      }),
    )
    return { path: pathOf(name, many), body: many ? { requests } : (requests[0] ?? {}) }
  },
  passThrough(request, { isList: many }, name) {
    return {
      path: pathOf(name, many),
      body: many ? nameModelInAll(request, name) : nameModel(request, name),
    }
  },
  readAnswer(body) {
    const rows = isFields(body.embedding) ? [body.embedding] : lenientObjects(body, 'embeddings')
    const tokens = tokensIn(body, rows)
    return {
      vectors: rows.map(({ values }) =>
        Array.isArray(values) ? (values as readonly number[]) : [],
      ),
      ...(tokens !== undefined && { meters: { input: tokens } }),
      served: servedOf(body.responseId, body.modelVersion),
    }
  },
  writeAnswer({ vectors, meters }, { isList: many }) {
    const rows = vectors.map(values => ({ values }))
    const usage = meters && { usageMetadata: { promptTokenCount: promptTokensOf(meters) } }
    return many
      ? { embeddings: rows, ...usage }
      : { embedding: rows[0] ?? { values: [] }, ...usage }
  },
}

const ownNames = withOwnNames({
  input: 'promptTokenCount',
  output: 'candidatesTokenCount',
  total: 'totalTokenCount',
})
/** The sum of the call, or those of its vectors, which Vertex counts. Undefined: no valid count. */
const tokensIn = (
  { usageMetadata: usage }: Fields,
  rows: readonly Fields[],
): number | undefined => {
  const { promptTokenCount, totalTokenCount } = isFields(usage) ? ownNames(usage) : {}
  if (isCount(promptTokenCount)) return promptTokenCount
  if (isCount(totalTokenCount)) return totalTokenCount
  const counts = rows.map(row => lenientObject(row, 'statistics').tokenCount)
  return counts.length > 0 && counts.every(isCount)
    ? counts.reduce((sum, each) => sum + each, 0)
    : undefined
}

const isBatch = ({ path }: ClientRequest): boolean =>
  path.split('?')[0]?.endsWith(':batchEmbedContents') === true
const pathOf = (name: string, many: boolean): string =>
  `/v1beta/models/${encodeURIComponent(name)}:${many ? 'batchEmbedContents' : 'embedContent'}`

// ---------------------------------------------------------------- pass-through

/** The path names the model: the body may omit it, but must not name another. */
const nameModel = (
  { body, bytes, model }: ClientRequest & { bytes: Bytes },
  name: string,
): Bytes =>
  (body.model ?? null) === null || name === model ? bytes : replaceModel(bytes, `models/${name}`)
/** In a batch each request must name the model. */
const nameModelInAll = (
  { body, bytes, model }: ClientRequest & { bytes: Bytes },
  name: string,
): Bytes => {
  const requests = lenientObjects(body, 'requests')
  if (name === model && requests.every(each => (each.model ?? null) !== null)) return bytes
  const namedRequests = requests.map(each => ({ ...each, model: `models/${name}` }))
  return Buffer.from(JSON.stringify({ ...body, requests: namedRequests }))
}

// ---------------------------------------------------------------- reading

const readInput = (request: RequestObject, model: string, loss: DroppedFields): EmbeddingInput => {
  checkModel(request, model)
  const config = request.object('config')
  const first = <T>(
    name: string,
    read: (from: RequestObject) => T | undefined,
  ): Setting<T> | undefined => {
    for (const from of config ? [request, config] : [request]) {
      const value = read(from)
      if (value !== undefined) return { value, path: from.pathOf(name) }
    }
    return undefined
  }
  const task = first('taskType', from => from.text('taskType'))
  const title = first('title', from => from.text('title'))
  const dimensions = first('outputDimensionality', from => from.number('outputDimensionality'))
  const content = readContent(request, loss)
  request.reportUnread(loss)
  config?.reportUnread(loss)
  return {
    type: 'content',
    content,
    ...(task && { task }),
    ...(title && { title }),
    ...(dimensions && { dimensions }),
  }
}
const checkModel = (request: RequestObject, model: string): void => {
  const name = request.text('model')
  if (name === undefined || name === model || name === `models/${model}`) return
  throw valueFault(request.pathOf('model'), 'it differs from the model in the path')
}
const readContent = (request: RequestObject, loss: DroppedFields): readonly (Text | Media)[] => {
  const content = request.object('content')
  if (!content?.has('parts')) {
    const at = content ? content.pathOf('parts') : request.pathOf('content')
    throw fault('MEMBER_MISSING', [at], { param: at })
  }
  const parts = content.objects('parts').map(part => readPart(part, loss))
  content.reportUnread(loss, 'role')
  return parts
}
const readPart = (part: RequestObject, loss: DroppedFields): Text | Media => {
  const text = part.text('text')
  if (text !== undefined) {
    part.reportUnread(loss)
    return { type: 'text', text }
  }
  const inline = part.object('inlineData')
  if (!inline) throw fault('MEMBER_MISSING', [part.pathOf('text')], { param: part.pathOf('text') })
  const [mime, data] = [inline.requiredText('mimeType'), inline.requiredText('data')]
  inline.reportUnread(loss)
  part.reportUnread(loss)
  const source = { type: 'data', data, mime } as const
  return { type: 'media', kind: kindOfMime(mime), source, at: part.path }
}
const writeItem = (item: EmbeddingInput): readonly Fields[] => {
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
