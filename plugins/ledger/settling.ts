/** The way of a metered reply that is not known whole: settles as it ends. */
import { asFault } from '../../engine/errors.ts'
import type { Bytes, Exchange, Filter, Out } from '../../engine/plugin.ts'
import { isEventStream } from '../formats/sse.ts'
import type { Bill } from './bill.ts'
import type { Watching } from './estimate.ts'

/** A tail waits where the account has to be asked first. */
export const endBehind = (more: Promise<void> | undefined, tail: Bytes | undefined, out: Out) => {
  if (!more) return out.end(tail)
  more.then(
    () => out.end(tail),
    thrown => out.fail(asFault(thrown)),
  )
}

export class Settling implements Filter {
  readonly #bill: Bill
  readonly #seen: Watching
  constructor(exchange: Exchange, bill: Bill, seen: Watching) {
    this.#bill = bill
    this.#seen = seen
    seen.stream = isEventStream(exchange.reply)
  }
  write(chunk: Uint8Array, out: Out): void {
    this.#seen.saw(chunk)
    out.write(chunk)
  }
  end(tail: Uint8Array | undefined, out: Out): void {
    if (tail) this.#seen.sawLast(tail)
    endBehind(this.#settle(), tail, out)
  }
  fail(reason: Parameters<Out['fail']>[0], out: Out): void {
    // An upstream that failed before it said anything is paid for by nobody.
    const more = this.#seen.any ? this.#settle() : this.#bill.release()
    if (!more) return out.fail(reason)
    void more.then(() => out.fail(reason))
  }
  #settle(): Promise<void> | undefined {
    if (this.#seen.isFree) return this.#bill.release()
    return this.#bill.settle(this.#seen.complete())
  }
}
