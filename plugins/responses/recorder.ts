/** Recorders: filters that read the complete response from the bytes of an answer, before its last
 *  byte is sent. */
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'
import { BodyRecorder } from '../conversion/body-recorder.ts'
import { type Fields, isFields, parseJson } from '../formats/fields.ts'
import { eventsIn, Splitter } from '../formats/stream/sse.ts'

/** Called once with the response, if it is complete. */
type OnResponse = (response: Fields) => void

/** Records a plain answer up to a size. */
export const answerRecorder = (largest: number, onResponse: OnResponse): BodyRecorder =>
  new BodyRecorder(largest, {
    onEnd(bytes) {
      const body = bytes && parseJson(Buffer.from(bytes).toString())
      if (isFields(body) && body.object === 'response') onResponse(body)
    },
  })

const FINAL_EVENTS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
])
/** Bytes that only events with a complete response contain. */
const RESPONSE_MEMBER = Buffer.from('"response":')

/** Records the response in the event that ends a stream. Does not parse other events. */
export class StreamRecorder implements Filter {
  readonly #onResponse: OnResponse
  readonly #splitter = new Splitter()
  #response: Fields | undefined
  constructor(onResponse: OnResponse) {
    this.#onResponse = onResponse
  }
  write(chunk: Bytes, out: Out): void {
    this.#read(this.#splitter.push(chunk))
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#read(this.#splitter.push(tail))
    this.#read(this.#splitter.take())
    if (this.#response) this.#onResponse(this.#response)
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #read(whole: Bytes | undefined): void {
    if (
      !whole ||
      !Buffer.from(whole.buffer, whole.byteOffset, whole.length).includes(RESPONSE_MEMBER)
    )
      return
    for (const { data } of eventsIn(whole)) {
      const event = data === undefined ? undefined : parseJson(data)
      if (!isFields(event) || !FINAL_EVENTS.has(String(event.type))) continue
      if (isFields(event.response)) this.#response = event.response
    }
  }
}
