/** The same format on both sides: bytes pass untouched, only the model's name is the target's own, and what the answer says
 *  of usage and of its end is seen on its way. */
import type { Attempt, Bytes, Exchange, Fault, Log, Reply, Target } from '../../engine/plugin.ts'
import { fault } from '../conversion/faults.ts'
import { abandon, blame, isKeyStatus, letPass } from '../conversion/refusal.ts'
import { bodyOf, render } from '../dialects/index.ts'
import { AnswerWatch } from '../formats/answer-watch.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import type { Asking, Format, Gauge, Tally } from '../formats/format.ts'
import { isForm, put, rename } from '../formats/outgoing.ts'
import { eventsIn, hasEvent, isEventStream, type SseEvent } from '../formats/sse.ts'
import { offersHosted } from '../formats/tally.ts'
import { type Marks, marksOf, StreamWatch, type Watch } from '../formats/watch.ts'
import { BROKEN, METERED, MODEL, OUTPUT_LIMIT, type Paid, USAGE } from '../slots.ts'
import { AnswerUsage } from './answer-usage.ts'
import { tallied } from './tallied.ts'

/** A first event longer than this is no error. */
export const PEEK_LIMIT = 64 * 1024

export class Identity {
  readonly #format: Format
  readonly #log: Log
  readonly #marks: Marks

  constructor(format: Format, log: Log) {
    this.#format = format
    this.#log = log
    this.#marks = marksOf(format)
  }
  forward(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const addressed = this.#address(attempt)
    return addressed ? addressed.then(() => this.#send(attempt, next)) : this.#send(attempt, next)
  }
  #send(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const hidden = this.#ask(attempt)
    this.#bound(attempt)
    return next().then(() => this.#answered(attempt, hidden))
  }
  #answered(attempt: Attempt, hidden: Streaming['hidden']): Promise<void> | undefined {
    const { reply } = attempt
    if (reply.status >= 300) return letPass(this.#log, this.#format, attempt)
    const gauge = this.#gauge(attempt)
    // Nobody asked for a compressed answer. What cannot be read passes unwatched, and says so.
    if (reply.headers['content-encoding'] !== undefined) {
      const unread = gauge?.usage(undefined, true) ?? { meters: {}, estimated: true }
      attempt.exchange.slots.set(USAGE, unread)
      return undefined
    }
    const offers = offersHosted(attempt.exchange.request.parsed)
    if (isEventStream(reply)) return this.#stream(attempt, reply, { hidden, offers, gauge })
    const tally = tallied(attempt, this.#format, { offers, streamed: false })
    const watch = this.#watch(attempt, tally, gauge, false)
    begin(attempt, gauge)
    reply.through(new AnswerWatch(this.#marks, watch, !gauge || isJson(reply)))
    return undefined
  }
  #gauge({ exchange, reply }: Attempt): Gauge | undefined {
    const { parsed } = exchange.request
    return this.#format.usage.gauge?.(
      isFields(parsed) ? parsed : {},
      exchange.slots.get(METERED) ?? UNPAID,
      String(reply.headers['content-type'] ?? ''),
    )
  }
  /** The model by the target's own name. */
  #address({ request, target, exchange }: Attempt): Promise<void> | undefined {
    const { model, headers } = this.#format
    for (const name in headers) request.headers[name] ??= headers[name] ?? ''
    if (!isForm(request)) request.headers['content-type'] = 'application/json'
    const asked = exchange.slots.get(MODEL)?.asked
    if (model !== 'body') {
      request.path = model.rename(request.path, target.name)
      return undefined
    }
    if (target.name === undefined || target.name === asked) return undefined
    return rename(request, exchange, target.name)
  }
  /** Of a call that is paid for by its counts, the upstream is asked for them. Returns which events then are not for the
   *  client, who did not. */
  #ask({ request, exchange }: Attempt): Asking['only'] | undefined {
    const { asking } = this.#format.stream
    const body = exchange.request.parsed
    if (!asking || !isFields(body) || !exchange.slots.get(METERED)) return undefined
    const member = asking.member(body)
    return member && put(request, body, member) ? asking.only : undefined
  }
  /** What the balance covers is said to the upstream where the client named no bound. */
  #bound({ request, exchange }: Attempt): void {
    const tokens = exchange.slots.get(OUTPUT_LIMIT)
    const body = exchange.request.parsed
    if (tokens === undefined || !isFields(body)) return
    const member = this.#format.outputLimit?.(body, tokens)
    if (member) put(request, body, member)
  }
  async #stream(
    attempt: Attempt,
    reply: Reply,
    { hidden, offers, gauge }: Streaming,
  ): Promise<void> {
    const first = await reply.peek(seen => seen.length > PEEK_LIMIT || hasEvent(seen))
    const event = first && eventsIn(first).find(each => each.data !== undefined)
    const error = event && this.#format.stream.error(event)
    if (error) return this.#failed(attempt, reply, error)
    begin(attempt, gauge)
    delete reply.headers['content-length'] // an error event would not fit into what was promised
    const tally = tallied(attempt, this.#format, { offers, streamed: true })
    reply.through(new StreamWatch(this.#marks, this.#watch(attempt, tally, gauge, true), hidden))
  }
  /** An error behind a 200 is the error it says it is, as long as nothing has been sent. */
  async #failed(
    attempt: Attempt,
    reply: Reply,
    { status, body }: { readonly status: number; readonly body: Fields },
  ): Promise<void> {
    await abandon(reply)
    if (isKeyStatus(status)) throw blame(this.#log, attempt, status, JSON.stringify(body))
    const { 'retry-after': wait } = reply.headers
    attempt.answer(status, body, wait === undefined ? {} : { 'retry-after': wait })
  }
  #watch(
    attempt: Attempt,
    tally: Tally | undefined,
    gauge: Gauge | undefined,
    streamed: boolean,
  ): Watch {
    const answer = { facts: this.#format.usage, streamed }
    const usage = gauge ? undefined : new AnswerUsage(attempt, answer, tally, this.#log)
    return new AttemptWatch(this.#format, this.#log, attempt, gauge, usage)
  }
}

interface Streaming {
  readonly hidden: Asking['only'] | undefined
  readonly offers: boolean
  readonly gauge: Gauge | undefined
}
const UNPAID: Paid = { has: () => false }
/** What is known at the head of an answer is noted with its hold: a death in the middle finds it there. */
const begin = ({ exchange }: Attempt, gauge: Gauge | undefined): void => {
  if (gauge) exchange.slots.set(USAGE, gauge.usage(undefined, false))
}
const isJson = ({ headers }: Reply): boolean => /\bjson\b/i.test(String(headers['content-type']))

/** What the watchers of one attempt's answer tell, in the words of its format. */
class AttemptWatch implements Watch {
  readonly #format: Format
  readonly #log: Log
  readonly #exchange: Exchange
  readonly #target: Target
  readonly #gauge: Gauge | undefined
  readonly #usage: AnswerUsage | undefined
  constructor(
    format: Format,
    log: Log,
    { exchange, target }: Attempt,
    gauge: Gauge | undefined,
    usage: AnswerUsage | undefined,
  ) {
    this.#format = format
    this.#log = log
    this.#exchange = exchange
    this.#target = target
    this.#gauge = gauge
    this.#usage = usage
  }
  passed(bytes: Bytes, counts: boolean): void {
    this.#usage?.passed(bytes, counts)
    if (!this.#gauge) return
    this.#gauge.saw(bytes)
    this.#exchange.slots.set(USAGE, this.#gauge.usage(undefined, false))
  }
  counted(counts: Fields | undefined, whole: boolean): void {
    if (this.#gauge) return this.#exchange.slots.set(USAGE, this.#gauge.usage(counts, whole))
    this.#usage?.counted(whole, counts ?? {})
  }
  failure(reason: Fault, last: SseEvent | undefined): Bytes {
    const { dialect, stream } = this.#format
    const { id } = this.#exchange
    const { upstream } = this.#target
    this.#log.warn({ id, upstream, code: reason.code }, 'a stream ended in an error')
    return stream.failure
      ? stream.failure(bodyOf(dialect, reason, id), last)
      : (render(dialect, reason, id).event ?? Buffer.alloc(0))
  }
  truncated(): Fault {
    return fault('UPSTREAM_TRUNCATED')
  }
  broke(): void {
    this.#exchange.slots.set(BROKEN, true)
  }
  lingers(): void {
    this.#exchange.cut(fault('UPSTREAM_LINGERS'))
  }
}
