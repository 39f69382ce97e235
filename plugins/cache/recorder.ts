/** Keeps the bytes of an upstream's answer while they pass, up to a size. */
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'

export class Recorder implements Filter {
  readonly #largest: number
  readonly #onEnd: (body: Bytes | undefined) => void
  readonly #onFail: () => void
  #chunks: Bytes[] | undefined = []
  #size = 0

  /** `onEnd`: with the whole body; undefined: it is too large. */
  constructor(largest: number, onEnd: (body: Bytes | undefined) => void, onFail: () => void) {
    this.#largest = largest
    this.#onEnd = onEnd
    this.#onFail = onFail
  }
  write(chunk: Bytes, out: Out): void {
    this.#add(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#add(tail)
    this.#onEnd(this.#chunks && Buffer.concat(this.#chunks))
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    this.#onFail()
    out.fail(reason)
  }
  #add(chunk: Bytes): void {
    this.#size += chunk.length
    if (this.#size > this.#largest) this.#chunks = undefined
    else this.#chunks?.push(chunk)
  }
}
