/** Decodes an answer for stages that watch its parts; its bytes pass unchanged. */
import { asFault } from '../../../engine/errors.ts'
import type { Bytes, Fault, Filter, Out } from '../../../engine/plugin.ts'
import { isFields, parseJson } from '../../formats/fields.ts'
import type { Part } from '../../formats/hub/answer.ts'
import type { Codec, StreamDecoder } from '../../formats/hub/codec.ts'
import { eventsIn, Splitter } from '../../formats/stream/sse.ts'
import type { PartChain } from './chains.ts'

/** For event streams. An event passes after all stages have seen its parts. */
export class StreamPartFilter implements Filter {
  readonly #splitter = new Splitter()
  readonly #send: (part: Part) => void
  /** Undefined after the end, or after an event that cannot be decoded. */
  #decoder: StreamDecoder | undefined
  #refusal: Fault | undefined

  constructor(codec: Codec, parts: PartChain) {
    this.#decoder = codec.decodeStream()
    this.#send = parts.compose(() => {})
  }
  write(chunk: Bytes, out: Out): void {
    const events = this.#splitter.push(chunk)
    if (!events) return
    this.#read(events)
    if (this.#refusal) out.fail(this.#refusal)
    else out.write(events)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.write(tail, out)
    const rest = this.#splitter.take()
    if (rest) this.#read(rest)
    if (!this.#refusal) this.#decode(decoder => decoder.close(this.#emit))
    if (this.#refusal) out.fail(this.#refusal)
    else out.end(rest)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #read(bytes: Bytes): void {
    for (const event of eventsIn(bytes))
      if (event.data !== undefined && !this.#refusal)
        this.#decode(decoder => decoder.push(event, this.#emit))
  }
  #decode(step: (decoder: StreamDecoder) => void): void {
    if (!this.#decoder) return
    try {
      step(this.#decoder)
    } catch {
      this.#decoder = undefined
    }
  }
  readonly #emit = (part: Part): void => {
    if (this.#refusal) return
    try {
      this.#send(part)
    } catch (error) {
      this.#refusal = asFault(error)
    }
    if (part.type === 'end') this.#decoder = undefined
  }
}

/** For answers that are one JSON object: held back until all stages have seen them. */
export class PlainPartFilter implements Filter {
  readonly #codec: Codec
  readonly #parts: PartChain
  readonly #chunks: Bytes[] = []

  constructor(codec: Codec, parts: PartChain) {
    this.#codec = codec
    this.#parts = parts
  }
  write(chunk: Bytes): void {
    this.#chunks.push(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#chunks.push(tail)
    const whole = Buffer.concat(this.#chunks)
    const answer = this.#decode(whole)
    try {
      if (answer) this.#parts.changeAnswer(answer)
    } catch (error) {
      return out.fail(asFault(error))
    }
    out.end(whole)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  /** Undefined if the body is not an answer of this format. */
  #decode(whole: Buffer) {
    const body = parseJson(whole.toString())
    try {
      return isFields(body) ? this.#codec.decodeAnswer(body) : undefined
    } catch {
      return undefined
    }
  }
}
