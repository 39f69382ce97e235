/** Translation between two formats: decodes the client's request into the hub, encodes it in the
 *  target's format, and translates the response back. */
import type { Attempt, Headers, Reply } from '../../engine/plugin.ts'
import { isStrict } from '../conversion/dropped-fields.ts'
import { droppedTiersOf, withoutTiers } from '../conversion/dropped-tiers.ts'
import {
  answerError,
  discardBody,
  ERROR_LIMIT,
  rejectRedirect,
  reportedFault,
} from '../conversion/upstream-error.ts'
import { render } from '../dialects/index.ts'
import type { ReportedError, TargetFormat } from '../formats/format.ts'
import type { EncodeContext, TargetFacts, UpstreamRequest } from '../formats/hub/codec.ts'
import { type Framing, SSE_FRAMING } from '../formats/stream/framing.ts'
import { MODEL } from '../slots.ts'
import { awaitAnswer, awaitContent } from './first-content.ts'
import { encodeBody, JSON_TYPE, joinReplies, sendFollowUps } from './follow-ups.ts'
import { addStandards, servedTierOf } from './response/served-slot.ts'
import { contextOf, translateResponse } from './response/translate-response.ts'
import { translateRequest } from './translate-request.ts'
import type { TranslatableFormat, TranslationContext } from './translation-context.ts'

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
  get #framing(): Framing {
    return this.#target.stream.framing ?? SSE_FRAMING
  }
  /** The name of the target's format. */
  get format(): string {
    return this.#target.name
  }
  get runsHostedTools(): boolean {
    return this.#target.codec.runsHostedTools === true
  }
  async forward(attempt: Attempt, next: () => Promise<void>, facts: TargetFacts): Promise<void> {
    const { exchange } = attempt
    const between = { client: this.#client, target: this.#target, context: this.#context }
    const { dropped, prompt, fitted, upstreamRequest } = await translateRequest(
      between,
      attempt,
      facts,
    )
    if (isStrict(this.#context.strict, exchange))
      dropped.refuse(exchange.slots.get(MODEL)?.asked ?? '')
    this.#send(attempt, upstreamRequest)
    const startedAt = performance.now()
    await next()
    dropped.report(attempt.reply, this.#context.log, exchange.id)
    const reply = await this.#takeReply(attempt, upstreamRequest, startedAt)
    if (!reply) return
    const linking = this.#linkImages(attempt, reply, prompt)
    const linkedReply = linking instanceof Promise ? await linking : linking
    const tiers = droppedTiersOf(fitted.prompt, dropped.fields, exchange.progress.upstream)
    const echoed = tiers ? withoutTiers(fitted.prompt, tiers) : fitted.prompt
    const servedTier = () => servedTierOf(exchange)
    const context = { ...contextOf(exchange, echoed), servedTier }
    const target = { ...this.#target, codec: fitted.codec }
    const translation = { attempt, reply: linkedReply, client: this.#client, target, context }
    translateResponse(translation, this.#context)
    if (tiers) addStandards(exchange, tiers.standards)
  }
  /** The reply to translate; undefined if an error was answered in its place. */
  async #takeReply(
    attempt: Attempt,
    { followUps = [] }: UpstreamRequest,
    startedAt: number,
  ): Promise<Reply | undefined> {
    const { reply } = attempt
    if (reply.status >= 300) return this.#answerError(attempt, reply)
    const checking = this.#awaitContent(attempt, startedAt)
    const error = checking && (await checking)
    if (error) return this.#answerReported(attempt, error)
    return followUps.length === 0 ? reply : this.#sendFollowUps(attempt, reply, followUps)
  }
  /** Undefined where the filter of the answer looks for an error. */
  #awaitContent(
    attempt: Attempt,
    startedAt: number,
  ): Promise<ReportedError | undefined> | undefined {
    const { stream, answers } = this.#target
    if (this.#framing.isStream(attempt.reply)) return awaitContent(attempt, stream, startedAt)
    return answers && !attempt.isLast ? awaitAnswer(attempt, answers, startedAt) : undefined
  }
  #send({ request }: Attempt, upstreamRequest: UpstreamRequest): void {
    request.path = upstreamRequest.path
    request.body = encodeBody(upstreamRequest)
    delete request.headers['content-length']
    Object.assign(request.headers, JSON_TYPE, this.#target.headers, upstreamRequest.headers)
  }
  /** Sends the follow-up requests once the first succeeded, and joins all answers into one. */
  async #sendFollowUps(
    attempt: Attempt,
    reply: Reply,
    followUps: readonly UpstreamRequest[],
  ): Promise<Reply | undefined> {
    const join = this.#target.codec.imageGeneration?.joinAnswers
    if (!join) return reply
    const { headers, name } = this.#target
    const { replies, refusal } = await sendFollowUps(
      attempt,
      followUps,
      headers,
      this.#context.host,
    )
    if (!refusal) return joinReplies(attempt, replies, join, name)
    await this.#answerError(attempt, refusal)
    return undefined
  }
  /** Gives the client URLs of the file store for images that the target sends as base64. */
  #linkImages(
    attempt: Attempt,
    reply: Reply,
    { body }: EncodeContext['prompt'],
  ): Reply | Promise<Reply> {
    const { imageGeneration } = this.#target.codec
    const { imageLinks } = this.#context
    const isWanted = imageGeneration && this.#client.codec.expectsImageUrls?.(body)
    if (!isWanted || !imageLinks || this.#framing.isStream(reply)) return reply
    return imageLinks.replace(attempt, reply, imageGeneration)
  }
  /** An error in place of content: another target or key is asked, or the client gets it as an
   *  error response, as nothing has been sent yet. */
  async #answerReported(attempt: Attempt, error: ReportedError): Promise<undefined> {
    await discardBody(attempt.reply)
    const reason = reportedFault(this.#context.log, this.#target.codec, attempt, error)
    if (reason.code !== 'UPSTREAM_REFUSED' || (reason.retryable && !attempt.isLast)) throw reason
    const { body, status, headers } = render(this.#client.dialect, reason, attempt.exchange)
    attempt.answer(status, body, headers)
  }
  async #answerError(attempt: Attempt, reply: Reply): Promise<undefined> {
    await rejectRedirect(reply)
    const body = await reply.bytes(ERROR_LIMIT)
    this.#renderError(attempt, reply.status, Buffer.from(body).toString(), reply.headers)
  }
  #renderError(attempt: Attempt, status: number, text: string, headers: Headers): void {
    const error = { status, text, headers }
    answerError(this.#context.log, this.#client.dialect, this.#target, attempt, error)
  }
}
