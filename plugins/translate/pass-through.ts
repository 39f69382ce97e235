/** Pass-through: client and target use the same format. Bytes pass untouched except the model's
 *  name; filters watch the response for usage and its end. */
import type { Attempt, Log, Reply } from '../../engine/plugin.ts'
import {
  accountFault,
  checkError,
  checkErrorShape,
  discardBody,
} from '../conversion/upstream-error.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import type { Format, HostedUsage, UsageEstimate, UsageOption } from '../formats/format.ts'
import { offersHostedTools } from '../formats/hosted-tools.ts'
import { isFormBody, renameModel, setBodyMember } from '../formats/request-edits.ts'
import { PlainMemberFilter, StreamMemberFilter } from '../formats/stream/answer-member.ts'
import { AnswerFilter } from '../formats/stream/answer-watch.ts'
import { isEventStream } from '../formats/stream/sse.ts'
import {
  type ResponseListener,
  StreamFilter,
  type WatchedMarks,
  watchedMarksOf,
} from '../formats/stream/stream-watch.ts'
import { METERED, MODEL, OUTPUT_LIMIT, type PricedMeters, USAGE } from '../slots.ts'
import { AnswerUsage } from './answer-usage.ts'
import { errorInFirstEvent, hasFirstEvent } from './first-event.ts'
import { watchHostedTools } from './hosted-tools.ts'
import { PassThroughListener } from './pass-through-listener.ts'

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
  forward(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const renaming = this.#renameModel(attempt)
    return renaming ? renaming.then(() => this.#send(attempt, next)) : this.#send(attempt, next)
  }
  #send(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const isHidden = this.#requestUsage(attempt)
    this.#applyOutputLimit(attempt)
    return next().then(() => this.#watchResponse(attempt, isHidden))
  }
  #watchResponse(attempt: Attempt, isHidden: StreamOptions['isHidden']): Promise<void> | undefined {
    const { reply } = attempt
    if (reply.status >= 300) return this.#checkError(attempt)
    const estimate = this.#startEstimate(attempt)
    const offers = offersHostedTools(attempt.exchange.request.parsed)
    if (isEventStream(reply))
      return this.#watchStream(attempt, reply, { isHidden, offers, estimate })
    const hostedUsage = watchHostedTools(attempt, this.#format, { offers, isStream: false })
    const listener = this.#listen(attempt, hostedUsage, estimate, false)
    setInitialUsage(attempt, estimate)
    // Formats that estimate their usage also have answers that are not JSON: audio, plain text.
    const how = estimate
      ? { json: isJson(reply), isChecked: false }
      : { json: true, isChecked: reply.status !== 204 }
    reply.through(new AnswerFilter(this.#marks, listener, how))
    this.#renameInAnswer(attempt, PlainMemberFilter)
    return undefined
  }
  #checkError(attempt: Attempt): Promise<void> {
    const { dialect, decodeError } = this.#format
    return decodeError
      ? checkErrorShape(this.#log, { dialect, decodeError }, attempt)
      : checkError(this.#log, this.#format, attempt)
  }
  #startEstimate({ exchange, reply }: Attempt): UsageEstimate | undefined {
    const { parsed } = exchange.request
    return this.#format.usage.estimate?.(
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
    const { parsed } = exchange.request
    const namesNone = isFields(parsed) && parsed.model === undefined
    const name = target.name ?? requestedModel
    if (name === undefined || (name === requestedModel && !namesNone)) return undefined
    return renameModel(request, exchange, name)
  }
  /** Asks the upstream for counts where the exchange is metered. Returns the test for events that
   *  must be hidden from the client, which did not ask for counts. */
  #requestUsage({ request, exchange }: Attempt): UsageOption['isUsageOnly'] | undefined {
    const { usageOption } = this.#format.stream
    const body = exchange.request.parsed
    if (!usageOption || !isFields(body) || !exchange.slots.get(METERED)) return undefined
    const member = usageOption.memberToAdd(body)
    return member && setBodyMember(request, body, member) ? usageOption.isUsageOnly : undefined
  }
  /** Sends the upstream the output limit that the balance covers. */
  #applyOutputLimit({ request, exchange }: Attempt): void {
    const tokens = exchange.slots.get(OUTPUT_LIMIT)
    const body = exchange.request.parsed
    if (tokens === undefined || !isFields(body)) return
    const member = this.#format.outputLimit?.(body, tokens)
    if (member) setBodyMember(request, body, member)
  }
  async #watchStream(
    attempt: Attempt,
    reply: Reply,
    { isHidden, offers, estimate }: StreamOptions,
  ): Promise<void> {
    const error = errorInFirstEvent(
      await reply.peek(bytes => hasFirstEvent(bytes)),
      this.#format.stream,
    )
    if (error) return this.#answerErrorEvent(attempt, reply, error)
    setInitialUsage(attempt, estimate)
    delete reply.headers['content-length'] // an appended error event would exceed it
    const hostedUsage = watchHostedTools(attempt, this.#format, { offers, isStream: true })
    reply.through(
      new StreamFilter(this.#marks, this.#listen(attempt, hostedUsage, estimate, true), isHidden),
    )
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
  /** An error event with status 200 becomes an error response, as nothing has been sent yet. */
  async #answerErrorEvent(
    attempt: Attempt,
    reply: Reply,
    { status, body }: { readonly status: number; readonly body: Fields },
  ): Promise<void> {
    await discardBody(reply)
    const { 'retry-after': wait } = reply.headers
    const error = { status, text: JSON.stringify(body), wait }
    const reason = accountFault(this.#log, attempt, error)
    if (reason) throw reason
    attempt.answer(status, body, wait === undefined ? {} : { 'retry-after': wait })
  }
  #listen(
    attempt: Attempt,
    hostedUsage: HostedUsage | undefined,
    estimate: UsageEstimate | undefined,
    isStream: boolean,
  ): ResponseListener {
    const answer = { facts: this.#format.usage, isStream }
    const usage = estimate ? undefined : new AnswerUsage(attempt, answer, hostedUsage, this.#log)
    return new PassThroughListener(this.#format, this.#log, attempt, estimate, usage)
  }
}

interface StreamOptions {
  readonly isHidden: UsageOption['isUsageOnly'] | undefined
  readonly offers: boolean
  readonly estimate: UsageEstimate | undefined
}
const NOTHING_PRICED: PricedMeters = { has: () => false }
/** Sets the usage known at the head of the answer, so that the crash checkpoint of the hold
 *  includes it. */
const setInitialUsage = ({ exchange }: Attempt, estimate: UsageEstimate | undefined): void => {
  if (estimate) exchange.slots.set(USAGE, estimate.usage(undefined, false))
}
const isJson = ({ headers }: Reply): boolean => /\bjson\b/i.test(String(headers['content-type']))
