/** Reports the response of one attempt to the rest of the gateway: usage, how it was made, its
 *  end. */
import type { Attempt, Bytes, Fault, Log } from '../../../engine/plugin.ts'
import { fault } from '../../conversion/faults.ts'
import type { ReportedCounts, ResponseListener } from '../../formats/stream/response-listener.ts'
import { type Served, STREAM_ERRORED, UNANSWERED } from '../../slots.ts'
import type { ResponseUsage } from './response-usage.ts'
import { addServed, beginServed } from './served-slot.ts'

/** The differences between responses that pass and translated ones. */
interface Options extends Pick<ResponseListener, 'encodeFailure' | 'errorIn' | 'onPart'> {
  readonly attempt: Attempt
  readonly log: Log
  /** Name of the format in which the upstream answers. */
  readonly format: string
  readonly usage: ResponseUsage
}

export class AttemptListener implements ResponseListener {
  readonly #attempt: Attempt
  readonly #log: Log
  readonly #format: string
  readonly #usage: ResponseUsage
  readonly encodeFailure: ResponseListener['encodeFailure']
  readonly errorIn: ResponseListener['errorIn']
  readonly onPart: ResponseListener['onPart']

  constructor({ attempt, log, format, usage, encodeFailure, errorIn, onPart }: Options) {
    this.#attempt = attempt
    this.#log = log
    this.#format = format
    this.#usage = usage
    this.encodeFailure = encodeFailure
    this.errorIn = errorIn
    this.onPart = onPart
    beginServed(attempt)
  }
  onServed(served: Served): void {
    addServed(this.#attempt.exchange, served)
  }
  onBytes(bytes: Bytes, counts: boolean): void {
    this.#usage.addBytes(bytes, counts)
  }
  onUsage(reported: ReportedCounts, whole: boolean): void {
    this.#usage.finish(whole, reported)
  }
  faultOf(code: 'UPSTREAM_TRUNCATED' | 'UPSTREAM_UNREADABLE' | 'UPSTREAM_EMPTY'): Fault {
    return fault(code, code === 'UPSTREAM_UNREADABLE' ? [this.#format] : [])
  }
  onBroken(reason?: Fault): void {
    const { exchange, target } = this.#attempt
    const { upstream } = target
    if (reason)
      this.#log.warn(
        { id: exchange.id, upstream, code: reason.code },
        'response stream ended in an error',
      )
    exchange.slots.set(STREAM_ERRORED, true)
  }
  onUnanswered(): void {
    const { slots } = this.#attempt.exchange
    slots.set(STREAM_ERRORED, true)
    slots.set(UNANSWERED, true)
  }
  onLinger(): void {
    this.#attempt.exchange.cut(fault('UPSTREAM_LINGERS'))
  }
}
