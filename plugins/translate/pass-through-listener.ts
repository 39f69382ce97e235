/** Listens to the answer of an attempt whose bytes pass: usage, errors, the end of a stream. */
import type { Attempt, Bytes, Exchange, Fault, Log } from '../../engine/plugin.ts'
import { fault } from '../conversion/faults.ts'
import { accountFault } from '../conversion/upstream-error.ts'
import { bodyOf, render } from '../dialects/index.ts'
import type { Fields } from '../formats/fields.ts'
import type { Format, UsageEstimate } from '../formats/format.ts'
import type { SseEvent } from '../formats/stream/sse.ts'
import type { ResponseListener } from '../formats/stream/stream-watch.ts'
import { type Served, STREAM_ERRORED, UNANSWERED, USAGE } from '../slots.ts'
import type { AnswerUsage } from './answer-usage.ts'
import { addServed, beginServed } from './served-slot.ts'

/** Reports the response of one attempt to the rest of the gateway, in its format's terms. */
export class PassThroughListener implements ResponseListener {
  readonly #format: Format
  readonly #log: Log
  readonly #attempt: Attempt
  readonly #exchange: Exchange
  readonly #estimate: UsageEstimate | undefined
  readonly #usage: AnswerUsage | undefined
  constructor(
    format: Format,
    log: Log,
    attempt: Attempt,
    estimate: UsageEstimate | undefined,
    usage: AnswerUsage | undefined,
  ) {
    this.#format = format
    this.#log = log
    this.#attempt = attempt
    this.#exchange = attempt.exchange
    this.#estimate = estimate
    this.#usage = usage
    beginServed(this.#exchange)
  }
  onServed(served: Served): void {
    addServed(this.#exchange, served)
  }
  onBytes(bytes: Bytes, counts: boolean): void {
    this.#usage?.addBytes(bytes, counts)
    if (!this.#estimate) return
    this.#estimate.observe(bytes)
    this.#exchange.slots.set(USAGE, this.#estimate.usage(undefined, false))
  }
  onUsage(counts: Fields | undefined, whole: boolean): void {
    if (this.#estimate) return this.#exchange.slots.set(USAGE, this.#estimate.usage(counts, whole))
    this.#usage?.finish(whole, counts)
  }
  encodeFailure(reason: Fault, last: SseEvent | undefined): Bytes {
    const { dialect, stream } = this.#format
    const { id } = this.#exchange
    const { upstream } = this.#attempt.target
    this.#log.warn({ id, upstream, code: reason.code }, 'response stream ended in an error')
    return stream.encodeFailure
      ? stream.encodeFailure(bodyOf(dialect, reason, id), last)
      : (render(dialect, reason, id).event ?? Buffer.alloc(0))
  }
  /** The client reads nothing about the gateway's account at the upstream. */
  replaceError(event: SseEvent, last: SseEvent | undefined): Bytes | undefined {
    const error = this.#format.stream.error(event)
    if (!error) return undefined
    const { status, body } = error
    const report = { status, text: JSON.stringify(body) }
    const reason = accountFault(this.#log, this.#attempt, report)
    return reason && this.encodeFailure(reason, last)
  }
  truncationFault(): Fault {
    return fault('UPSTREAM_TRUNCATED')
  }
  unreadableFault(): Fault {
    return fault('UPSTREAM_UNREADABLE', [this.#format.name])
  }
  onBroken(): void {
    this.#exchange.slots.set(STREAM_ERRORED, true)
  }
  onUnanswered(): void {
    const { slots } = this.#exchange
    slots.set(STREAM_ERRORED, true)
    slots.set(UNANSWERED, true)
  }
  onLinger(): void {
    this.#exchange.cut(fault('UPSTREAM_LINGERS'))
  }
}
