/** Charges a response at its end: streams, and bodies too large for a receipt. */
import { asFault } from '../../engine/errors.ts'
import type { Bytes, Exchange, Filter, Out } from '../../engine/plugin.ts'
import { isEventStream } from '../formats/stream/sse.ts'
import type { MeteredCall } from './metered-call.ts'
import type { UsageEstimator } from './usage-estimator.ts'

/** Ends the response, after the charge if that is pending. */
export const endAfter = (charge: Promise<void> | undefined, tail: Bytes | undefined, out: Out) => {
  if (!charge) return out.end(tail)
  charge.then(
    () => out.end(tail),
    error => out.fail(asFault(error)),
  )
}

export class SettlementFilter implements Filter {
  readonly #call: MeteredCall
  readonly #estimator: UsageEstimator
  constructor(exchange: Exchange, call: MeteredCall, estimator: UsageEstimator) {
    this.#call = call
    this.#estimator = estimator
    estimator.isStream = isEventStream(exchange.reply)
  }
  write(chunk: Uint8Array, out: Out): void {
    this.#estimator.observe(chunk)
    out.write(chunk)
  }
  end(tail: Uint8Array | undefined, out: Out): void {
    if (tail) this.#estimator.observeTail(tail)
    endAfter(this.#settle(), tail, out)
  }
  fail(reason: Parameters<Out['fail']>[0], out: Out): void {
    // A response that failed before its first byte is free.
    const charge = this.#estimator.isOwed ? this.#settle() : this.#call.release()
    if (!charge) return out.fail(reason)
    void charge.then(() => out.fail(reason))
  }
  #settle(): Promise<void> | undefined {
    if (this.#estimator.isFree) return this.#call.release()
    return this.#call.settle(this.#estimator.finalUsage())
  }
}
