/** Filters that translate a response from the target's format to the client's: a stream event by
 *  event, a plain answer in one piece at its end. */
import { asFault } from '../../engine/errors.ts'
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'
import { fault, modelFault } from '../conversion/faults.ts'
import { carriesContent } from '../formats/content-facts.ts'
import { type Fields, isFields, parseJson } from '../formats/fields.ts'
import { eventFields, isBrokenJson, type TargetFormat } from '../formats/format.ts'
import type { Answer, Part } from '../formats/hub/answer.ts'
import type { StreamDecoder, TargetCodec } from '../formats/hub/codec.ts'
import { type EventSplitter, type Framing, SSE_FRAMING } from '../formats/stream/framing.ts'
import type { SseEvent } from '../formats/stream/sse.ts'
import type { Meters } from '../slots.ts'
import type { ResponseEncoder } from './response-encoder.ts'

/** Callbacks from the translation of one attempt's response, and the formats' error encodings. */
export interface TranslationListener {
  /** Bytes of the upstream's answer, before they are decoded. Of a stream: the bytes of one event,
   *  and its data. */
  onBytes(bytes: Bytes, event?: Fields): void
  /** The parsed body of a plain answer, before it is decoded. */
  onBody(answer: Fields): void
  /** A decoded part of a stream, before it is encoded. */
  onPart(part: Part): void
  /** A decoded plain answer, before it is encoded. */
  onAnswer(answer: Answer): void
  /** The upstream's counts so far, once the response has ended. `whole`: the answer is complete. */
  onUsage(meters: Meters | undefined, whole: boolean): void
  /** The fault as an error body of the client's dialect. */
  bodyOf(reason: Fault): Fields
  /** The error that this event reports, if any. `hasContent`: the answer has content by now. */
  errorIn(event: SseEvent, hasContent: boolean): Fault | undefined
  /** The error that a plain answer reports in place of content. */
  failureOf(answer: Fields): Fault | undefined
  /** The answer ends, in an error or not, and had no content. */
  onUnanswered(): void
  /** The stream ends in an error event. */
  onBroken(reason: Fault): void
  /** The upstream ended its answer but keeps the connection open. */
  onLinger(): void
}

/** ms that an upstream may keep the connection open after the end of its answer, and after what may
 *  be the end. */
const [LINGER_MS, PAUSE_MS] = [1_000, 5_000]
/** A client that leaves pays for the prompt, which the upstream has read. */
const CLIENT_LEFT = 499

/** Translates a stream of the target's format. */
export class TranslatedStream implements Filter {
  readonly #decoder: StreamDecoder
  readonly #format: string
  readonly #encoder: ResponseEncoder
  readonly #listener: TranslationListener
  readonly #facts: TargetFormat['stream']
  readonly #framing: Framing
  readonly #splitter: EventSplitter
  readonly #emit = (part: Part): void => this.#onPart(part)
  #meters: Meters | undefined
  #hasStarted = false
  #hasContent = false
  #hasEnded = false
  /** An error has been sent to the client: nothing follows it. */
  #isBroken = false
  /** The fault of an answer that the model failed to write. */
  #modelFault: Fault | undefined
  #lingerTimer: NodeJS.Timeout | undefined
  #hasLingered = false

  constructor(
    { codec, name, stream }: Pick<TargetFormat, 'codec' | 'name' | 'stream'>,
    encoder: ResponseEncoder,
    listener: TranslationListener,
  ) {
    this.#decoder = codec.decodeStream()
    this.#format = name
    this.#facts = stream
    this.#framing = stream.framing ?? SSE_FRAMING
    this.#splitter = this.#framing.createSplitter()
    this.#encoder = encoder
    this.#listener = listener
  }
  write(chunk: Bytes, out: Out): void {
    const whole = this.#splitter.push(chunk)
    if (whole) this.#read(whole, out)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.write(tail, out)
    const rest = this.#splitter.take()
    // An incomplete event is reported as a truncated stream.
    if (rest && !this.#framing.eventsIn(rest).some(isBrokenJson)) this.#read(rest, out)
    this.#close(fault('UPSTREAM_TRUNCATED'), out)
  }
  /** A connection that breaks after what may have been the end breaks the answer. */
  fail(reason: Fault, out: Out): void {
    if (this.#decoder.mayHaveEnded && !this.#hasLingered && !this.#isBroken)
      return this.#break(reason, out)
    this.#close(reason, out)
  }
  #read(bytes: Bytes, out: Out): void {
    for (const event of this.#framing.eventsIn(bytes)) {
      if (this.#hasEnded || event.data === undefined) continue
      this.#listener.onBytes(bytes.subarray(event.start, event.end), eventFields(event))
      this.#hasContent ||= carriesContent(this.#facts, event)
      const error = this.#listener.errorIn(event, this.#hasContent)
      if (error) return this.#break(error, out)
      if (isBrokenJson(event)) return this.#break(fault('UPSTREAM_UNREADABLE', [this.#format]), out)
      try {
        this.#decoder.push(event, this.#emit)
      } catch (cause) {
        return this.#break(asFault(cause), out)
      }
    }
    if (this.#decoder.mayHaveEnded && !this.#hasEnded) this.#waitForClose(PAUSE_MS)
    const encodedBytes = this.#encoder.takeBytes()
    if (!encodedBytes) return
    this.#hasStarted = true
    out.write(encodedBytes)
  }
  #waitForClose(ms: number): void {
    clearTimeout(this.#lingerTimer)
    this.#lingerTimer = setTimeout(() => {
      this.#hasLingered = true
      this.#listener.onLinger()
    }, ms)
  }
  #onPart(part: Part): void {
    if (part.type === 'count' || (part.type === 'begin' && part.meters)) this.#meters = part.meters
    if (part.type === 'end') {
      this.#hasEnded = true
      this.#waitForClose(LINGER_MS)
    }
    this.#listener.onPart(part)
    if (part.type === 'stop' && part.stop.reason === 'broken')
      this.#modelFault ??= modelFault(part.stop)
    // An answer that the model failed to write ends in an error once its counts are known.
    else if (part.type !== 'end' || !this.#modelFault) this.#encoder.addPart(part)
  }
  /** A connection that breaks after the end of the answer leaves the answer complete. */
  #close(reason: Fault, out: Out): void {
    if (this.#isBroken) return
    try {
      if (!this.#hasEnded) this.#decoder.close(this.#emit)
    } catch (cause) {
      return this.#break(asFault(cause), out)
    }
    clearTimeout(this.#lingerTimer)
    if (!this.#hasEnded) return this.#break(reason, out)
    if (!this.#hasContent) this.#listener.onUnanswered()
    this.#listener.onUsage(this.#meters, true)
    if (this.#modelFault) return this.#sendFault(this.#modelFault, out)
    finish(out, () => this.#encoder.finish())
  }
  #break(reason: Fault, out: Out): void {
    clearTimeout(this.#lingerTimer)
    this.#hasEnded = true
    this.#isBroken = true
    this.#listener.onUsage(this.#meters, false)
    this.#sendFault(reason, out)
  }
  /** Before the first event was sent, the fault can still become an error response. */
  #sendFault(reason: Fault, out: Out): void {
    if (!this.#hasStarted) return out.fail(reason)
    if (!this.#hasContent && reason.status !== CLIENT_LEFT) this.#listener.onUnanswered()
    this.#listener.onBroken(reason)
    out.end(this.#encoder.fail(this.#listener.bodyOf(reason)), reason)
  }
}

/** Translates a plain answer of the target's format. */
export class TranslatedAnswer implements Filter {
  readonly #target: TargetCodec
  readonly #format: string
  readonly #encoder: ResponseEncoder
  readonly #listener: TranslationListener
  readonly #chunks: Bytes[] = []

  constructor(
    target: TargetCodec,
    format: string,
    encoder: ResponseEncoder,
    listener: TranslationListener,
  ) {
    this.#target = target
    this.#format = format
    this.#encoder = encoder
    this.#listener = listener
  }
  write(chunk: Bytes): void {
    this.#listener.onBytes(chunk)
    this.#chunks.push(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.write(tail)
    const { answer, error } = this.#decode()
    this.#listener.onUsage(answer?.meters, answer !== undefined)
    if (!answer) return out.fail(error ?? fault('UPSTREAM_UNREADABLE', [this.#format]))
    this.#listener.onAnswer(answer)
    finish(out, () => this.#encoder.encodeAnswer(answer))
  }
  fail(reason: Fault, out: Out): void {
    this.#listener.onUsage(undefined, false)
    out.fail(reason)
  }
  /** Some upstreams send errors with status 200: a body without content that reports an error is
   *  that error. */
  #decode(): { readonly answer?: Answer; readonly error?: Fault | undefined } {
    const value = parseJson(Buffer.concat(this.#chunks).toString())
    const fields = Array.isArray(value) ? value[0] : value
    if (!isFields(fields)) return {}
    this.#listener.onBody(fields)
    try {
      const answer = this.#target.decodeAnswer(fields)
      if (answer.choices.some(({ content }) => content.length > 0)) return { answer }
      const error = this.#listener.failureOf(fields)
      return error ? { error } : { answer }
    } catch {
      return {}
    }
  }
}

/** An answer that cannot be encoded becomes an error response, as nothing has been sent yet. */
const finish = (out: Out, tail: () => Bytes): void => {
  let bytes: Bytes
  try {
    bytes = tail()
  } catch (cause) {
    return out.fail(asFault(cause))
  }
  out.end(bytes)
}
