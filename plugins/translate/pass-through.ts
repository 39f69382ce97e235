/** Pass-through: client and target use the same format. Bytes pass untouched except the model's
 *  name; filters watch the response for usage and its end. */
import type { Attempt, Log, Reply } from '../../engine/plugin.ts'
import {
  checkError,
  checkErrorShape,
  discardBody,
  reportedFault,
} from '../conversion/upstream-error.ts'
import { isFields } from '../formats/fields.ts'
import type { Format, ReportedError, UsageEstimate, UsageOption } from '../formats/format.ts'
import { offersHostedTools } from '../formats/hosted-tools.ts'
import {
  isFormBody,
  memberOf,
  omitNulls,
  renameModel,
  repairHistory,
  setBodyMember,
} from '../formats/request-edits.ts'
import { PlainMemberFilter, StreamMemberFilter } from '../formats/stream/answer-member.ts'
import { AnswerFilter } from '../formats/stream/answer-watch.ts'
import { isEventStream } from '../formats/stream/sse.ts'
import { StreamFilter, type WatchedMarks, watchedMarksOf } from '../formats/stream/stream-watch.ts'
import { EXPANDED_REQUEST, METERED, MODEL, OUTPUT_LIMIT, type PricedMeters } from '../slots.ts'
import { awaitAnswer, awaitBytes, awaitContent, awaitElement, holdOf } from './first-content.ts'
import { watchHostedTools } from './hosted-tools.ts'
import { passThroughListener } from './response/pass-through-listener.ts'

type Target = Parameters<typeof repairHistory>[3]

export class PassThrough {
  readonly #format: Format
  readonly #log: Log
  readonly #marks: WatchedMarks

  readonly #namesAskedModel: boolean

  /** `namesAskedModel`: answers name the model that the client asked for, not the upstream's. */
  constructor(format: Format, log: Log, namesAskedModel: boolean) {
    this.#format = format
    this.#log = log
    this.#namesAskedModel = namesAskedModel
    this.#marks = watchedMarksOf(format)
  }
  forward(attempt: Attempt, next: () => Promise<void>, target: Target): Promise<void> {
    const { request, exchange } = attempt
    const body = exchange.slots.get(EXPANDED_REQUEST)?.body ?? exchange.request.outlined
    repairHistory(this.#format, request, body, target)
    omitNulls(this.#format, request, body)
    const renaming = this.#renameModel(attempt)
    return renaming ? renaming.then(() => this.#send(attempt, next)) : this.#send(attempt, next)
  }
  #send(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const isHidden = this.#requestUsage(attempt)
    this.#applyOutputLimit(attempt)
    const startedAt = performance.now()
    return next().then(() => this.#watchResponse(attempt, { isHidden, startedAt }))
  }
  #watchResponse(attempt: Attempt, request: SentRequest): Promise<void> | undefined {
    const { reply } = attempt
    if (reply.status >= 300) return this.#checkError(attempt)
    const estimate = this.#startEstimate(attempt)
    const offers = offersHostedTools(attempt.exchange.request.outlined)
    if (isEventStream(reply))
      return this.#watchStream(attempt, reply, { ...request, offers, estimate })
    const checking = this.#checkAnswer(attempt, request)
    if (!checking) return void this.#watchAnswer(attempt, { offers, estimate })
    return checking.then(error => {
      if (error) return this.#answerReported(attempt, error)
      this.#watchAnswer(attempt, { offers, estimate })
      return undefined
    })
  }
  /** Looks for an error in place of an answer. Undefined if the answer's filter does. */
  #checkAnswer(
    attempt: Attempt,
    { startedAt }: SentRequest,
  ): Promise<ReportedError | undefined> | undefined {
    const { stream, answers } = this.#format
    if (!isJson(attempt.reply))
      return attempt.isLast ? undefined : awaitBytes(attempt, this.#format, startedAt)
    if (this.#isArray(attempt)) return awaitElement(attempt, stream, startedAt)
    return answers && !attempt.isLast ? awaitAnswer(attempt, answers, startedAt) : undefined
  }
  /** Whether the answer is an array that grows, in place of an event stream. */
  #isArray({ request: { path } }: Attempt): boolean {
    return this.#format.streamsByPath?.(path) === true
  }
  #watchAnswer(attempt: Attempt, { offers, estimate }: AnswerOptions): void {
    const { reply } = attempt
    const { answers } = this.#format
    const listener = this.#listen(attempt, { offers, estimate, isStream: false })
    // Formats that estimate their usage also have answers that are not JSON: audio, plain text.
    const how = estimate
      ? { json: isJson(reply), isChecked: false, needsBytes: answers?.needsBytes === true }
      : { json: true, isChecked: reply.status !== 204, needsBytes: false }
    const isHeld = how.json && attempt.isLast && !this.#isArray(attempt)
    const hold = isHeld ? holdOf(this.#log, this.#format, attempt) : undefined
    reply.through(new AnswerFilter(this.#marks, listener, { ...how, hold }))
    this.#renameInAnswer(attempt, PlainMemberFilter)
  }
  #checkError(attempt: Attempt): Promise<void> {
    const { dialect, decodeError } = this.#format
    return decodeError
      ? checkErrorShape(this.#log, { dialect, decodeError }, attempt)
      : checkError(this.#log, this.#format, attempt)
  }
  #startEstimate({ exchange, reply }: Attempt): UsageEstimate | undefined {
    const { estimate } = this.#format.usage
    if (!estimate) return undefined
    const { parsed } = exchange.request
    return estimate(
      isFields(parsed) ? parsed : {},
      exchange.slots.get(METERED) ?? NOTHING_PRICED,
      String(reply.headers['content-type'] ?? ''),
    )
  }
  /** Replaces the model's name by the target's, or adds it: a body may leave it to a default. */
  #renameModel({ request, target, exchange }: Attempt): Promise<void> | undefined {
    const { model, headers } = this.#format
    for (const name in headers) request.headers[name] ??= headers[name] ?? ''
    if (!isFormBody(request)) request.headers['content-type'] = 'application/json'
    const requestedModel = exchange.slots.get(MODEL)?.asked
    if (model !== 'body') {
      request.path = model.rename(request.path, target.name)
      return undefined
    }
    const { outlined } = exchange.request
    const member = (isFields(outlined) && this.#format.modelMember?.(outlined)) || 'model'
    const namesNone = isFields(outlined) && (outlined[member] ?? undefined) === undefined
    const name = target.name ?? requestedModel
    if (name === undefined || (name === requestedModel && !namesNone)) return undefined
    if (member !== 'model' && isFields(outlined))
      return void setBodyMember(request, outlined, [member, name])
    return renameModel(request, exchange, name)
  }
  /** Asks the upstream for counts where the exchange is metered. Returns the test for events that
   *  must be hidden from the client, which did not ask for counts. */
  #requestUsage({ request, exchange }: Attempt): UsageOption['isUsageOnly'] | undefined {
    const { usageOption } = this.#format.stream
    if (!usageOption || !exchange.slots.get(METERED)) return undefined
    const body = exchange.request.outlined
    if (!isFields(body)) return undefined
    const member = memberOf(exchange.request, usageOption.memberToAdd)
    return member && setBodyMember(request, body, member) ? usageOption.isUsageOnly : undefined
  }
  /** Sends the upstream the output limit that the balance covers. */
  #applyOutputLimit({ request, exchange }: Attempt): void {
    const tokens = exchange.slots.get(OUTPUT_LIMIT)
    if (tokens === undefined) return
    const body = exchange.request.parsed
    if (!isFields(body)) return
    const member = this.#format.outputLimit?.(body, tokens)
    if (member) setBodyMember(request, body, member)
  }
  async #watchStream(
    attempt: Attempt,
    reply: Reply,
    { isHidden, offers, estimate, startedAt }: StreamOptions,
  ): Promise<void> {
    const error = await awaitContent(attempt, this.#format.stream, startedAt)
    if (error) return this.#answerReported(attempt, error)
    delete reply.headers['content-length'] // an appended error event would exceed it
    const listener = this.#listen(attempt, { offers, estimate, isStream: true })
    reply.through(new StreamFilter(this.#marks, listener, isHidden))
    this.#renameInAnswer(attempt, StreamMemberFilter)
  }
  #renameInAnswer(
    { reply, target, exchange }: Attempt,
    MemberFilter: typeof PlainMemberFilter | typeof StreamMemberFilter,
  ): void {
    const { answerModel } = this.#format
    const requestedModel = exchange.slots.get(MODEL)?.asked
    if (
      !this.#namesAskedModel ||
      !answerModel ||
      requestedModel === undefined ||
      requestedModel === target.name
    )
      return
    delete reply.headers['content-length']
    reply.through(new MemberFilter(answerModel, requestedModel))
  }
  /** An error in place of content: another target or key is asked, or the client gets it as an
   *  error response, as nothing has been sent yet. */
  async #answerReported(attempt: Attempt, error: ReportedError): Promise<void> {
    const { reply } = attempt
    await discardBody(reply)
    const reason = reportedFault(this.#log, this.#format.codec, attempt, error)
    if (reason.code !== 'UPSTREAM_REFUSED' || (reason.retryable && !attempt.isLast)) throw reason
    attempt.answer(error.status, error.body, reason.headers)
  }
  #listen(
    attempt: Attempt,
    { offers, ...answer }: AnswerOptions & { readonly isStream: boolean },
  ): ReturnType<typeof passThroughListener> {
    const { isStream } = answer
    const hostedUsage = watchHostedTools(attempt, this.#format, { offers, isStream })
    const shared = { format: this.#format, log: this.#log, hostedUsage }
    return passThroughListener(attempt, { ...shared, ...answer })
  }
}

interface SentRequest {
  readonly isHidden: UsageOption['isUsageOnly'] | undefined
  readonly startedAt: number
}
interface AnswerOptions {
  readonly offers: boolean
  readonly estimate: UsageEstimate | undefined
}
type StreamOptions = SentRequest & AnswerOptions
const NOTHING_PRICED: PricedMeters = { has: () => false }
const isJson = ({ headers }: Reply): boolean => /\bjson\b/i.test(String(headers['content-type']))
