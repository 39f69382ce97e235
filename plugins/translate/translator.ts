/** Translation between two formats: decodes the client's request into the hub, encodes it in the
 *  target's format, and translates the response back. */
import type { Attempt, Exchange, Headers, Log, Reply, Slot } from '../../engine/plugin.ts'
import { DroppedFieldReport, isStrict } from '../conversion/dropped-fields.ts'
import { fetchMedia, type Send } from '../conversion/media-fetch.ts'
import {
  answerError,
  discardBody,
  ERROR_LIMIT,
  rejectRedirect,
} from '../conversion/upstream-error.ts'
import type { Codec, EncodeContext, TargetFacts, UpstreamRequest } from '../formats/codec.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { addFormFiles } from '../formats/form-body.ts'
import type { Format, TargetFormat } from '../formats/format.ts'
import { offersHostedTools } from '../formats/hosted-usage.ts'
import type { Prompt } from '../formats/hub.ts'
import { boundaryOf } from '../formats/multipart.ts'
import { eventsIn, hasEvent, isEventStream } from '../formats/sse.ts'
import { ACCOUNT, EXPANDED_REQUEST, MODEL, OUTPUT_LIMIT } from '../slots.ts'
import { AttemptListener } from './attempt-listener.ts'
import { encodeBody, JSON_TYPE, joinReplies, sendFollowUps } from './follow-ups.ts'
import { watchHostedTools } from './hosted-tools.ts'
import { MediaUpload } from './media-upload.ts'
import { PEEK_LIMIT } from './pass-through.ts'
import {
  PlainResponseEncoder,
  type ResponseEncoder,
  StreamResponseEncoder,
} from './response-encoder.ts'
import { addDefaultThinking } from './thinking.ts'
import type { ThoughtCache } from './thought-cache.ts'
import { TranslatedAnswer, TranslatedStream } from './translated-response.ts'

/** A format that can be translated: it has a codec. */
export type TranslatableFormat = Format & { readonly codec: Codec }
export const isTranslatable = (format: Format | undefined): format is TranslatableFormat =>
  format?.codec !== undefined

/** The decoded request: decoded once, however many targets are tried. */
interface DecodedRequest {
  readonly prompt: Prompt
  /** Fields that decoding dropped. */
  readonly dropped: readonly string[]
}
const DECODED: Slot<DecodedRequest> = { name: 'prompt' }

/** What all translators of a route share. */
export interface TranslationContext {
  readonly log: Log
  readonly host: Send
  readonly thoughts: ThoughtCache
  /** Whether the route refuses requests with fields that a target cannot carry. */
  readonly strict: boolean
  /** Upstream -> kinds of media that the gateway fetches for it. */
  readonly fetches: ReadonlyMap<string, readonly string[]>
  /** Upstream -> largest file that is uploaded to it, bytes. */
  readonly uploads?: ReadonlyMap<string, number>
}

/** Translates from one client format to one target format. */
export class Translator {
  readonly #client: TranslatableFormat
  readonly #target: TargetFormat
  readonly #context: TranslationContext

  constructor(client: TranslatableFormat, target: TargetFormat, context: TranslationContext) {
    this.#client = client
    this.#target = target
    this.#context = context
  }
  get runsHostedTools(): boolean {
    return this.#target.codec.runsHostedTools === true
  }
  async forward(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const { exchange } = attempt
    const droppedFields = new DroppedFieldReport(this.#client.codec.settings)
    const prompt = await this.#promptFor(attempt, droppedFields)
    const sent = this.#target.codec.encodePrompt(prompt, factsOf(attempt), droppedFields)
    if (isStrict(this.#context.strict, exchange))
      droppedFields.refuse(exchange.slots.get(MODEL)?.asked ?? '')
    this.#send(attempt, sent)
    await next()
    const { reply } = attempt
    droppedFields.report(reply, this.#context.log, exchange.id)
    if (reply.status >= 300) return this.#answerError(attempt, reply)
    const whole = await this.#sendFollowUps(attempt, reply, sent.followUps ?? [])
    if (whole) await this.#translateResponse(attempt, whole, contextOf(exchange, prompt))
  }
  /** The prompt for this target: bounded by the balance, with the model's default thinking, and
   *  with the media that the target does not fetch itself. */
  async #promptFor(attempt: Attempt, droppedFields: DroppedFieldReport): Promise<Prompt> {
    const { exchange, target } = attempt
    const { prompt, dropped } = await this.#decode(exchange)
    const { imageGeneration } = this.#target.codec
    for (const field of dropped)
      if (!imageGeneration?.acceptedFields.has(field)) droppedFields.add(field)
    droppedFields.useAliases(prompt.clientNames)
    const boundPrompt = applyOutputLimit(prompt, exchange)
    if (imageGeneration) {
      const imagePrompt = imageGeneration.reducePrompt(boundPrompt, factsOf(attempt), droppedFields)
      return fetchMedia(imagePrompt, ['image'], this.#context.host, exchange.signal)
    }
    const thinkingPrompt = addDefaultThinking(boundPrompt, target.traits ?? {}, droppedFields)
    const kinds = this.#context.fetches.get(target.upstream)
    if (!kinds) return thinkingPrompt
    const upload = this.#uploading(attempt)
    return fetchMedia(thinkingPrompt, kinds, this.#context.host, exchange.signal, upload)
  }
  #uploading({ exchange, target: { upstream } }: Attempt): MediaUpload | undefined {
    const { codec } = this.#target
    const { host, log, uploads } = this.#context
    const largest = uploads?.get(upstream)
    if (!codec.upload || largest === undefined) return undefined
    return new MediaUpload(codec.upload, { host, log, upstream, largest, exchange, codec })
  }
  async #decode(exchange: Exchange): Promise<DecodedRequest> {
    const known = exchange.slots.get(DECODED)
    if (known) return known
    const { codec } = this.#client
    const sent = exchange.request.parsed ?? (await exchange.request.json())
    const expanded = exchange.slots.get(EXPANDED_REQUEST)?.body ?? sent
    const body = isFields(expanded) ? expanded : {}
    const droppedFields = new DroppedFieldReport(codec.settings)
    const boundary = boundaryOf(exchange.request.headers['content-type'])
    const whole = boundary ? addFormFiles(body, await exchange.request.bytes(), boundary) : body
    const read = codec.decodePrompt(whole, addressOf(exchange), droppedFields)
    const restored = codec.losesSignatures
      ? this.#context.thoughts.restore(read, ownerOf(exchange))
      : read
    // Answers that repeat members of their request repeat what the client sent.
    const prompt = isFields(sent) ? { ...restored, body: sent } : restored
    const decoded = { prompt, dropped: droppedFields.fields }
    exchange.slots.set(DECODED, decoded)
    return decoded
  }
  #send({ request }: Attempt, sent: UpstreamRequest): void {
    request.path = sent.path
    request.body = encodeBody(sent)
    delete request.headers['content-length']
    Object.assign(request.headers, JSON_TYPE, this.#target.headers, sent.headers)
  }
  /** Sends the follow-up requests once the first succeeded, and joins all answers into one. */
  async #sendFollowUps(
    attempt: Attempt,
    reply: Reply,
    more: readonly UpstreamRequest[],
  ): Promise<Reply | undefined> {
    const join = this.#target.codec.imageGeneration?.joinAnswers
    if (more.length === 0 || !join) return reply
    const { headers, name } = this.#target
    const { replies, refused } = await sendFollowUps(attempt, more, headers, this.#context.host)
    if (!refused) return joinReplies(attempt, replies, join, name)
    await this.#answerError(attempt, refused)
    return undefined
  }
  async #translateResponse(attempt: Attempt, reply: Reply, context: EncodeContext): Promise<void> {
    const streamed = isEventStream(reply)
    if (streamed) {
      const first = await reply.peek(seen => seen.length > PEEK_LIMIT || hasEvent(seen))
      const event = first && eventsIn(first).find(each => each.data !== undefined)
      const error = event && this.#target.stream.error(event)
      if (error) return this.#answerErrorEvent(attempt, reply, error)
    }
    delete reply.headers['content-length']
    const { codec } = this.#client
    const stream = context.prompt.stream
    const encoder: ResponseEncoder = stream
      ? new StreamResponseEncoder(codec, context)
      : new PlainResponseEncoder(codec, context)
    reply.headers['content-type'] = encoder.type
    const listener = codec.losesSignatures
      ? this.#context.thoughts.recorder(ownerOf(attempt.exchange))
      : undefined
    const attemptListener = new AttemptListener(
      this.#client,
      this.#target,
      this.#context.log,
      attempt,
      listener,
      watchHostedTools(attempt, this.#target, { offers: mayRunTools(context.prompt), streamed }),
      streamed,
    )
    const target = this.#target.codec
    reply.through(
      streamed
        ? new TranslatedStream(target, this.#target.name, encoder, attemptListener)
        : new TranslatedAnswer(target, this.#target.name, encoder, attemptListener),
    )
  }
  /** An error event with status 200 becomes an error response, as nothing has been sent yet. */
  async #answerErrorEvent(
    attempt: Attempt,
    reply: Reply,
    { status, body }: { readonly status: number; readonly body: Fields },
  ): Promise<void> {
    await discardBody(reply)
    this.#renderError(attempt, status, JSON.stringify(body), reply.headers)
  }
  async #answerError(attempt: Attempt, reply: Reply): Promise<void> {
    await rejectRedirect(reply)
    const body = await reply.bytes(ERROR_LIMIT)
    this.#renderError(attempt, reply.status, Buffer.from(body).toString(), reply.headers)
  }
  #renderError(attempt: Attempt, status: number, text: string, headers: Headers): void {
    const error = { status, text, headers }
    answerError(this.#context.log, this.#client.dialect, this.#target, attempt, error)
  }
}

/** Prompts stored at the provider, which the client's body refers to, may offer hosted tools too.
 *  */
const mayRunTools = ({ tools, body }: Prompt): boolean =>
  tools.some(({ type }) => type === 'hosted' || type === 'foreign') || offersHostedTools(body)

/** The owner of remembered thoughts: the account. */
const ownerOf = ({ slots }: Exchange): string => String(slots.get(ACCOUNT)?.id ?? '')
const addressOf = ({ request: { path, query } }: Exchange): string =>
  query.size > 0 ? `${path}?${query}` : path

/** Applies the output limit that the balance covers. */
const applyOutputLimit = (prompt: Prompt, { slots }: Exchange): Prompt => {
  const limit = slots.get(OUTPUT_LIMIT)
  return limit === undefined ? prompt : { ...prompt, settings: { ...prompt.settings, limit } }
}
const factsOf = ({ target, exchange }: Attempt): TargetFacts => {
  const { traits = {} } = target
  return {
    name: target.name ?? exchange.slots.get(MODEL)?.asked ?? '',
    ...(typeof traits.output === 'number' && { maxOutput: traits.output }),
    traits,
  }
}
const contextOf = (exchange: Exchange, prompt: Prompt): EncodeContext => ({
  id: exchange.id.replace(/^req_/, ''),
  model: exchange.slots.get(MODEL)?.asked ?? '',
  now: Math.floor(Date.now() / 1_000),
  prompt,
  path: addressOf(exchange),
})
