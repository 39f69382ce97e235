/** Watches an answer of the responses format on its way and says what is to be kept of it, before its last byte. */
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'
import { type Fields, isFields, parsed } from '../formats/fields.ts'
import { eventsIn, Splitter } from '../formats/sse.ts'

/** Told of the response once, where there was one in whole. */
type Told = (response: Fields) => void

/** A plain answer: its bytes, up to a size. */
export class AnswerKeeper implements Filter {
  readonly #told: Told
  readonly #largest: number
  #parts: Bytes[] = []
  #size = 0
  constructor(largest: number, told: Told) {
    this.#largest = largest
    this.#told = told
  }
  write(chunk: Bytes, out: Out): void {
    this.#take(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#take(tail)
    const body =
      this.#size > this.#largest ? undefined : parsed(Buffer.concat(this.#parts).toString())
    if (isFields(body) && body.object === 'response') this.#told(body)
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #take(bytes: Bytes): void {
    this.#size += bytes.length
    if (this.#size <= this.#largest) this.#parts.push(bytes)
    else this.#parts = []
  }
}

const ENDS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
])
/** Stands in no other events than those that hold the whole response. */
const MARK = Buffer.from('"response":')

/** A stream: the response as the event that ends it tells it. Any other event is passed unread. */
export class StreamKeeper implements Filter {
  readonly #told: Told
  readonly #splitter = new Splitter()
  #last: Fields | undefined
  constructor(told: Told) {
    this.#told = told
  }
  write(chunk: Bytes, out: Out): void {
    this.#read(this.#splitter.push(chunk))
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#read(this.#splitter.push(tail))
    this.#read(this.#splitter.take())
    if (this.#last) this.#told(this.#last)
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #read(whole: Bytes | undefined): void {
    if (!whole || !Buffer.from(whole.buffer, whole.byteOffset, whole.length).includes(MARK)) return
    for (const { data } of eventsIn(whole)) {
      const event = data === undefined ? undefined : parsed(data)
      if (!isFields(event) || !ENDS.has(String(event.type))) continue
      if (isFields(event.response)) this.#last = event.response
    }
  }
}
