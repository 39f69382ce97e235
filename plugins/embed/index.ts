/** Plugin `embed`: embeddings between any client format and any target format: one vector per item,
 *  in order, in the requested encoding. */
import { oneOf, type RawOf } from '../../engine/config/shape.ts'
import { errors } from '../../engine/errors.ts'
import type { Attempt, Fault, Headers, Host, Plugin, Slot, Target } from '../../engine/plugin.ts'
import { clientFormat } from '../conversion/client-format-option.ts'
import { DroppedFieldReport, isStrict } from '../conversion/dropped-fields.ts'
import { asRetryable, fault as notHere } from '../conversion/faults.ts'
import { MediaFetcher } from '../conversion/media-fetch.ts'
import { estimateContentTokens } from '../conversion/token-estimate.ts'
import {
  accountFault,
  answerError,
  ERROR_LIMIT,
  reportedFault,
} from '../conversion/upstream-error.ts'
import { embeddingFormats, omitNulls, targetFormatOf } from '../embeddings/formats.ts'
import {
  type ClientRequest,
  checkInlineInputs,
  type EmbeddingAnswer,
  type EmbeddingFormat,
  type EmbeddingInput,
  type EmbeddingPrompt,
} from '../embeddings/hub.ts'
import { embeddingFormatNamed, embeddingNames } from '../formats/embedding.ts'
import { type Fields, isFields, parseJson } from '../formats/fields.ts'
import { formats } from '../formats/index.ts'
import { MODEL, SERVED, USAGE } from '../slots.ts'
import { servedIn } from './served.ts'

const fault = errors({
  EMBEDDING_UNREADABLE: [
    502,
    'The upstream sent a response that is not a valid embedding.',
    { retryable: true },
  ],
  EMBEDDING_COUNT: [502, 'The upstream returned %d vectors for %d items.', { retryable: true }],
})

/** Bytes: two thousand vectors of three thousand decimal numbers. */
const ANSWER_LIMIT = 256 * 1024 * 1024
const TOO_LARGE = 'REPLY_TOO_LARGE'
/** Response headers that describe the upstream's body, which is replaced. */
const BODY_HEADERS = ['content-type', 'content-length', 'content-encoding', 'etag']
interface DecodedRequest {
  readonly request: ClientRequest
  readonly prompt: EmbeddingPrompt
  /** Fields that reading dropped. */
  readonly dropped: readonly string[]
}
const DECODED: Slot<DecodedRequest> = { name: 'embedding' }

const FORMAT = clientFormat(
  'The embedding format that clients of this route use.',
  { names: embeddingNames, example: 'openai' },
  {},
)

export default {
  schema: FORMAT.schema,
  // The sandbox answers in the format of the target; `model` chose the targets.
  before: ['sandbox'],
  after: ['model'],
  upstream: {
    embeddings: oneOf(
      'The embedding format of this upstream if neither it nor the model lists `formats`. Default: `openai`.',
      embeddingNames,
      { type: 'string', examples: ['google'] },
    ).schema,
  },
  setup(options, host) {
    const { format: name, strict } = FORMAT.read(options)
    const context = { client: formatNamed(name), host, strict }
    return {
      describe: () => ({
        summary: 'Makes vectors of texts and images',
        responses: { 'application/json': context.client.schema(host.route.pattern) },
      }),
      async handle(exchange, next) {
        const { request, slots } = exchange
        const model = slots.get(MODEL)?.asked ?? ''
        exchange.targets = exchange.targets.filter(
          target => targetFormatOf(target, host) !== undefined,
        )
        if (exchange.targets.length === 0) throw notHere('MODEL_NOT_HERE', [model])
        const body = request.parsed ?? (await request.json())
        const clientRequest = { body: isFields(body) ? body : {}, path: request.path, model }
        const droppedFields = new DroppedFieldReport({})
        const prompt = context.client.readRequest(clientRequest, droppedFields)
        slots.set(DECODED, { request: clientRequest, prompt, dropped: droppedFields.fields })
        await next()
      },
      forward: (attempt, next) => forward(context, attempt, next),
      explain: ({ targets }) => ({
        embeddings: name,
        strict,
        targets: targets.map(target => ({
          upstream: target.upstream,
          format: targetFormatOf(target, host)?.name ?? null,
        })),
      }),
    }
  },
} satisfies Plugin<RawOf<typeof FORMAT>>

interface EmbedContext {
  readonly client: EmbeddingFormat
  readonly host: Host
  readonly strict: boolean
}
const formatNamed = (name: string): EmbeddingFormat => {
  const formatName = embeddingFormatNamed(name)
  if (formatName) return embeddingFormats[formatName]
  throw new Error(`there is no embedding format "${name}"; use one of ${embeddingNames.join(', ')}`)
}

const forward = async (
  context: EmbedContext,
  attempt: Attempt,
  next: () => Promise<void>,
): Promise<void> => {
  const { client, host } = context
  const { exchange, target } = attempt
  const targetFormat = targetFormatOf(target, host) ?? client
  const { request, ...rest } = exchange.slots.need(DECODED)
  const prompt = await fetchImages(rest.prompt, target, host, attempt)
  const droppedFields = new DroppedFieldReport({})
  await writeRequest(context, targetFormat, { ...rest, request, prompt }, attempt, droppedFields)
  await next()
  droppedFields.report(attempt.reply, host.log, exchange.id)
  if (attempt.reply.status >= 300) return answerUpstreamError(client, targetFormat, host, attempt)
  const body = await bodyOf(attempt)
  checkError(targetFormat, host, attempt, body)
  const vectors = targetFormat.readAnswer(body)
  exchange.slots.set(
    SERVED,
    servedIn(vectors, attempt, { body: request.body, dropped: droppedFields.fields }),
  )
  const meters = vectors.meters ?? estimate(prompt)
  // Vectors are not output: no later stage estimates any.
  exchange.slots.set(
    USAGE,
    vectors.meters
      ? { meters, estimated: false }
      : { meters, estimated: true, isFinalEstimate: true },
  )
  checkVectors(vectors, prompt)
  const headers: Headers = { ...attempt.reply.headers }
  for (const name of BODY_HEADERS) delete headers[name]
  attempt.answer(200, client.writeAnswer({ ...vectors, meters }, prompt, request.model), headers)
}
/** Sets the request to the target: the client's body if both use the same format, otherwise encoded
 *  in the target's format, with dropped fields reported. */
const writeRequest = async (
  { client, strict }: EmbedContext,
  targetFormat: EmbeddingFormat,
  { request: clientRequest, prompt, dropped }: DecodedRequest,
  { exchange, target, request }: Attempt,
  droppedFields: DroppedFieldReport,
): Promise<void> => {
  const name = target.name ?? clientRequest.model
  const { traits = {} } = target
  if (targetFormat === client) {
    const bytes = omitNulls(await exchange.request.bytes())
    const { path, body } = targetFormat.passThrough(
      { ...clientRequest, bytes },
      prompt,
      name,
      traits,
    )
    Object.assign(request, { path, body })
  } else {
    checkInlineInputs(prompt)
    for (const field of dropped) droppedFields.add(field)
    const { path, body } = targetFormat.writeRequest(prompt, name, droppedFields, traits)
    if (isStrict(strict, exchange)) droppedFields.refuse(clientRequest.model)
    Object.assign(request, { path, body: Buffer.from(JSON.stringify(body)) })
  }
  request.headers['content-type'] = 'application/json'
  delete request.headers['content-length']
}

/** Fetches images that the client named by URL, for upstreams that do not fetch. */
const fetchImages = async (
  prompt: EmbeddingPrompt,
  { upstream }: Target,
  host: Host,
  { exchange }: Attempt,
): Promise<EmbeddingPrompt> => {
  const kinds = host.upstreams[upstream]?.options.fetch
  if (!Array.isArray(kinds)) return prompt
  const fetcher = new MediaFetcher({ kinds: kinds.map(String) }, host, exchange.signal)
  const items: EmbeddingInput[] = []
  for (const item of prompt.items)
    items.push(
      item.type === 'tokens'
        ? item
        : ({ ...item, content: await fetcher.fetchAll(item.content) } as EmbeddingInput),
    )
  return { ...prompt, items }
}

const bodyOf = async (attempt: Attempt) => {
  const bytes = await attempt.reply.bytes(ANSWER_LIMIT).catch((cause: Fault) => {
    // Every further target would send, and bill, as much.
    if (cause.code === TOO_LARGE) throw cause
    attempt.recordFailure()
    throw asRetryable(cause)
  })
  const body = parseJson(Buffer.from(bytes).toString())
  if (!isFields(body)) throw fault('EMBEDDING_UNREADABLE')
  return body
}
/** An error with a success status is an attempt that failed. */
const checkError = (
  { errors: name }: EmbeddingFormat,
  { log }: Host,
  attempt: Attempt,
  body: Fields,
): void => {
  if (body.error === undefined || body.error === null) return
  const format = formats.get(name)
  const error = format?.answers?.failure(body)
  if (error) throw reportedFault(log, format?.codec, attempt, error)
}
const checkVectors = ({ vectors }: EmbeddingAnswer, { items }: EmbeddingPrompt): void => {
  if (vectors.length !== items.length)
    throw fault('EMBEDDING_COUNT', [vectors.length, items.length])
  if (vectors.some(vector => vector.length === 0)) throw fault('EMBEDDING_UNREADABLE')
}
const estimate = ({ items }: EmbeddingPrompt) => ({
  input: items.reduce(
    (sum, item) =>
      sum + (item.type === 'tokens' ? item.tokens.length : estimateContentTokens(item.content)),
    0,
  ),
})

const answerUpstreamError = async (
  client: EmbeddingFormat,
  targetFormat: EmbeddingFormat,
  host: Host,
  attempt: Attempt,
): Promise<void> => {
  const { reply } = attempt
  const { status, headers } = reply
  const text = Buffer.from(await reply.bytes(ERROR_LIMIT)).toString()
  if (status < 400) throw fault('EMBEDDING_UNREADABLE')
  const format = formats.get(targetFormat.errors)
  const error = { status, text, headers }
  if (!format?.codec) throw accountFault(host.log, attempt, error) ?? fault('EMBEDDING_UNREADABLE')
  answerError(host.log, client.dialect, { ...format, codec: format.codec }, attempt, error)
}
