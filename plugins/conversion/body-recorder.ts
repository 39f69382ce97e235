/** Records the body of a response as it passes, up to a size. */
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'

export interface RecorderListener {
  /** Called before the last byte is passed on. Undefined: the body is larger. */
  onEnd(bytes: Bytes | undefined): void
  /** The source failed or was cut. */
  onFail?(): void
}
export class BodyRecorder implements Filter {
  readonly #largest: number
  readonly #listener: RecorderListener
  #parts: Bytes[] | undefined = []
  #size = 0
  /** `largest`: bytes. */
  constructor(largest: number, listener: RecorderListener) {
    this.#largest = largest
    this.#listener = listener
  }
  /** Whether a part of the body was passed on. */
  get hasBegun(): boolean {
    return this.#size > 0
  }
  write(chunk: Bytes, out: Out): void {
    this.#record(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#record(tail)
    this.#listener.onEnd(this.#parts && Buffer.concat(this.#parts))
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    this.#listener.onFail?.()
    out.fail(reason)
  }
  #record(bytes: Bytes): void {
    this.#size += bytes.length
    if (this.#size <= this.#largest) this.#parts?.push(bytes)
    else this.#parts = undefined
  }
}
