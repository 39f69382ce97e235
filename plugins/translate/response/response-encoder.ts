/** Encodes the parts of an answer for the client: as an event stream, or as one JSON body. */
import type { Bytes } from '../../../engine/plugin.ts'
import { modelFault } from '../../conversion/faults.ts'
import type { Fields } from '../../formats/fields.ts'
import type { Answer, Part } from '../../formats/hub/answer.ts'
import { Collector, partsOf } from '../../formats/hub/answer-parts.ts'
import type { Codec, EncodeContext, StreamEncoder } from '../../formats/hub/codec.ts'
import type { PartChain } from '../listeners/chains.ts'

/** Encodes one answer. */
export interface ResponseEncoder {
  /** Content type of the encoded bytes. */
  readonly type: string
  addPart(part: Part): void
  /** Encodes an answer that arrived in one piece. */
  encodeAnswer(answer: Answer): Bytes
  /** Bytes encoded since the last call. */
  takeBytes(): Bytes | undefined
  /** The bytes that complete the answer. */
  finish(): Bytes
  /** The bytes that end the answer in an error, after some of it was sent. */
  fail(body: Fields): Bytes
}

/** Throws for an answer that the model failed to write: nothing of it has been sent yet. */
const throwIfBroken = ({ choices }: Answer): void => {
  for (const { stop } of choices) if (stop.reason === 'broken') throw modelFault(stop)
}

/** For clients that stream. */
export class StreamResponseEncoder implements ResponseEncoder {
  readonly type: string
  readonly #encoder: StreamEncoder
  #text = ''
  #tail = ''
  constructor(client: Codec, context: EncodeContext) {
    this.#encoder = client.encodeStream(context)
    this.type = this.#encoder.type ?? 'text/event-stream; charset=utf-8'
  }
  addPart(part: Part): void {
    if (part.type === 'end') this.#tail += this.#encoder.push(part)
    else this.#text += this.#encoder.push(part)
  }
  encodeAnswer(answer: Answer): Bytes {
    throwIfBroken(answer)
    for (const part of partsOf(answer)) this.addPart(part)
    return this.finish()
  }
  takeBytes(): Bytes | undefined {
    if (this.#text === '') return undefined
    const bytes = Buffer.from(this.#text)
    this.#text = ''
    return bytes
  }
  finish(): Bytes {
    return Buffer.from(this.#text + this.#tail)
  }
  fail(body: Fields): Bytes {
    return Buffer.from(this.#text + this.#encoder.failure(body))
  }
}

/** For clients that do not stream. */
export class PlainResponseEncoder implements ResponseEncoder {
  readonly type = 'application/json'
  readonly #client: Codec
  readonly #context: EncodeContext
  readonly #collector = new Collector()
  constructor(client: Codec, context: EncodeContext) {
    this.#client = client
    this.#context = context
  }
  addPart(part: Part): void {
    this.#collector.add(part)
  }
  takeBytes(): undefined {
    return undefined
  }
  encodeAnswer(answer: Answer): Bytes {
    throwIfBroken(answer)
    return Buffer.from(JSON.stringify(this.#client.encodeAnswer(answer, this.#context)))
  }
  finish(): Bytes {
    return this.encodeAnswer(this.#collector.answer())
  }
  fail(): Bytes {
    return Buffer.alloc(0)
  }
}

/** Passes parts through the stages that watch or change them. */
export class ListenedEncoder implements ResponseEncoder {
  readonly #encoder: ResponseEncoder
  readonly #parts: PartChain
  readonly addPart: (part: Part) => void
  constructor(encoder: ResponseEncoder, parts: PartChain) {
    this.#encoder = encoder
    this.#parts = parts
    this.addPart = parts.compose(part => encoder.addPart(part))
  }
  get type(): string {
    return this.#encoder.type
  }
  encodeAnswer(answer: Answer): Bytes {
    return this.#encoder.encodeAnswer(this.#parts.changeAnswer(answer))
  }
  takeBytes(): Bytes | undefined {
    return this.#encoder.takeBytes()
  }
  finish(): Bytes {
    return this.#encoder.finish()
  }
  fail(body: Fields): Bytes {
    return this.#encoder.fail(body)
  }
}
