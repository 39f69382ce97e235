/** Where the parts of an answer become the client's bytes: a stream of events, or one piece. */
import type { Bytes } from '../../engine/plugin.ts'
import { brokeOff } from '../conversion/faults.ts'
import type { Answer, Part } from '../formats/answer.ts'
import type { Codec, Context, StreamEncoder } from '../formats/codec.ts'
import { Collector, partsOf } from '../formats/collect.ts'
import type { Fields } from '../formats/fields.ts'

/** What becomes of the answer. */
export interface Sink {
  /** The content type of what it makes. */
  readonly type: string
  take(part: Part): void
  /** All of it, where it came in one piece. */
  whole(answer: Answer): Bytes
  /** What was made since the last time. */
  written(): Bytes | undefined
  /** What completes it. */
  tail(): Bytes
  /** The end in an error, once something has been sent. */
  fail(body: Fields): Bytes
}

/** Towards a client that streams. */
export class StreamSink implements Sink {
  readonly type: string
  readonly #encoder: StreamEncoder
  #text = ''
  #tail = ''
  constructor(client: Codec, context: Context) {
    this.#encoder = client.encodeStream(context)
    this.type = this.#encoder.type ?? 'text/event-stream; charset=utf-8'
  }
  take(part: Part): void {
    if (part.type === 'end') this.#tail += this.#encoder.part(part)
    else this.#text += this.#encoder.part(part)
  }
  /** Of what the model failed to write nothing has left yet: it is an error of its own. */
  whole(answer: Answer): Bytes {
    for (const { stop } of answer.choices) if (stop.reason === 'broken') throw brokeOff(stop)
    for (const part of partsOf(answer)) this.take(part)
    return this.tail()
  }
  written(): Bytes | undefined {
    if (this.#text === '') return undefined
    const bytes = Buffer.from(this.#text)
    this.#text = ''
    return bytes
  }
  tail(): Bytes {
    return Buffer.from(this.#text + this.#tail)
  }
  fail(body: Fields): Bytes {
    return Buffer.from(this.#text + this.#encoder.fail(body))
  }
}

/** Towards a client that wants it in one piece. */
export class WholeSink implements Sink {
  readonly type = 'application/json'
  readonly #client: Codec
  readonly #context: Context
  readonly #collector = new Collector()
  constructor(client: Codec, context: Context) {
    this.#client = client
    this.#context = context
  }
  take(part: Part): void {
    this.#collector.take(part)
  }
  written(): undefined {
    return undefined
  }
  whole(answer: Answer): Bytes {
    for (const { stop, content } of answer.choices)
      if (stop.reason === 'broken' && content.length === 0) throw brokeOff(stop)
    return Buffer.from(JSON.stringify(this.#client.encodeAnswer(answer, this.#context)))
  }
  tail(): Bytes {
    return this.whole(this.#collector.answer())
  }
  fail(): Bytes {
    return Buffer.alloc(0)
  }
}
