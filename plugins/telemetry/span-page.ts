/** Encoded spans of one body of `/v1/traces`, in memory that is used again. New buffers for each
 *  span and batch are memory outside of the heap, after which V8 collects the whole heap. */
import type { Bytes } from '../../engine/plugin.ts'
import type { Attributes, Encoder } from './otlp.ts'

/** Bytes in front of the spans for the head of the body. */
const ROOM = 4 * 1024
const FIRST_SIZE = 64 * 1024

export class SpanPage {
  readonly #encoder: Encoder
  #bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  #end = ROOM
  #count = 0
  constructor(encoder: Encoder) {
    this.#encoder = encoder
  }
  /** The number of spans. */
  get count(): number {
    return this.#count
  }
  add(span: Bytes): void {
    if (this.#count++ > 0) this.#append(this.#encoder.separator)
    this.#append(span)
  }
  clear(): void {
    this.#end = ROOM
    this.#count = 0
  }
  /** A body with all spans. Valid until the next change of the page. */
  body(resource: Attributes): Bytes {
    const end = this.#end
    const { head, tail } = this.#encoder.frame(resource, end - ROOM)
    if (head.length > ROOM) return Buffer.concat([head, this.#bytes.subarray(ROOM, end), tail])
    this.#append(tail)
    this.#bytes.set(head, ROOM - head.length)
    const body = this.#bytes.subarray(ROOM - head.length, this.#end)
    this.#end = end
    return body
  }
  #append(bytes: Bytes): void {
    const end = this.#end + bytes.length
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, end))
      this.#bytes.copy(larger, 0, 0, this.#end)
      this.#bytes = larger
    }
    this.#bytes.set(bytes, this.#end)
    this.#end = end
  }
}
