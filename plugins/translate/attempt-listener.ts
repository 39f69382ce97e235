/** Reports the translation of one attempt's response to the rest of the gateway: usage, faults,
 *  thoughts. */
import type { Attempt, Bytes, Fault, Log } from '../../engine/plugin.ts'
import { fault } from '../conversion/faults.ts'
import { accountFault, reportedFault, upstreamFault } from '../conversion/upstream-error.ts'
import { bodyOf } from '../dialects/index.ts'
import type { Fields } from '../formats/fields.ts'
import type { Format, HostedUsage, TargetFormat } from '../formats/format.ts'
import type { Answer, Part } from '../formats/hub/answer.ts'
import { partsOf } from '../formats/hub/answer-parts.ts'
import type { SseEvent } from '../formats/stream/sse.ts'
import { type Meters, STREAM_ERRORED, UNANSWERED, USAGE } from '../slots.ts'
import { AnswerUsage } from './answer-usage.ts'
import { addServed, beginServed } from './served-slot.ts'
import type { ThoughtRecorder } from './thought-cache.ts'
import type { TranslationListener } from './translated-response.ts'

export class AttemptListener implements TranslationListener {
  readonly #dialect: Format['dialect']
  readonly #target: TargetFormat
  readonly #log: Log
  readonly #attempt: Attempt
  readonly #thoughts: ThoughtRecorder | undefined
  readonly #hostedUsage: HostedUsage | undefined
  /** Absent where the target's format has no text to estimate usage from. */
  readonly #usage: AnswerUsage | undefined

  constructor(
    client: Format,
    target: TargetFormat,
    log: Log,
    attempt: Attempt,
    thoughts: ThoughtRecorder | undefined,
    hostedUsage: HostedUsage | undefined,
    isStream: boolean,
  ) {
    this.#dialect = client.dialect
    this.#target = target
    this.#log = log
    this.#attempt = attempt
    this.#thoughts = thoughts
    this.#hostedUsage = hostedUsage
    beginServed(attempt.exchange)
    const { usage: facts } = target
    if (facts?.text) this.#usage = new AnswerUsage(attempt, { facts, isStream }, hostedUsage, log)
  }
  onBytes(bytes: Bytes, event?: Fields): void {
    if (event) addServed(this.#attempt.exchange, this.#target.served.read(event))
    const counts = event !== undefined && this.#usage?.addEvent(event) === true
    this.#usage?.addBytes(bytes, counts)
  }
  onBody(answer: Fields): void {
    addServed(this.#attempt.exchange, this.#target.served.read(answer))
    this.#usage?.addAnswer(answer)
  }
  onPart(part: Part): void {
    this.#thoughts?.add(part)
  }
  onAnswer(answer: Answer): void {
    if (this.#thoughts) for (const part of partsOf(answer)) this.#thoughts.add(part)
  }
  onUsage(meters: Meters | undefined, whole: boolean): void {
    if (this.#usage) return this.#usage.finish(whole)
    const isEstimate = !whole || meters === undefined
    const all = { ...meters, ...this.#hostedUsage?.meters }
    this.#attempt.exchange.slots.set(USAGE, { meters: all, estimated: isEstimate })
  }
  bodyOf(reason: Fault): Fields {
    return bodyOf(this.#dialect, reason, this.#attempt.exchange.id)
  }
  errorIn(event: SseEvent, hasContent: boolean): Fault | undefined {
    const { stream } = this.#target
    const error = stream.error(event) ?? (hasContent ? undefined : stream.failedEnd?.(event))
    if (!error) return undefined
    if (!hasContent) return reportedFault(this.#log, this.#target.codec, this.#attempt, error)
    const { status, body } = error
    return (
      accountFault(this.#log, this.#attempt, { status, text: JSON.stringify(body) }) ??
      upstreamFault(this.#target.codec, status, body)
    )
  }
  failureOf(answer: Fields): Fault | undefined {
    const error = this.#target.answers?.failure(answer)
    return error && reportedFault(this.#log, this.#target.codec, this.#attempt, error)
  }
  onBroken(reason: Fault): void {
    const { exchange, target } = this.#attempt
    const { upstream } = target
    this.#log.warn(
      { id: exchange.id, upstream, code: reason.code },
      'response stream ended in an error',
    )
    exchange.slots.set(STREAM_ERRORED, true)
  }
  onUnanswered(): void {
    this.#attempt.exchange.slots.set(UNANSWERED, true)
  }
  onLinger(): void {
    this.#attempt.exchange.cut(fault('UPSTREAM_LINGERS'))
  }
}
