/** Translates a stream from the target's format to the client's, event by event. */
import { asFault } from '../../../engine/errors.ts'
import type { Bytes, Fault, Filter, Out } from '../../../engine/plugin.ts'
import { modelFault } from '../../conversion/faults.ts'
import { carriesContent } from '../../formats/content-facts.ts'
import type { Fields } from '../../formats/fields.ts'
import { eventFields, isBrokenJson, type TargetFormat } from '../../formats/format.ts'
import type { Part } from '../../formats/hub/answer.ts'
import type { StreamDecoder } from '../../formats/hub/codec.ts'
import { type EventSplitter, type Framing, SSE_FRAMING } from '../../formats/stream/framing.ts'
import { mergeCounts } from '../../formats/stream/reported-usage.ts'
import type { ResponseListener } from '../../formats/stream/response-listener.ts'
import type { SseEvent } from '../../formats/stream/sse.ts'
import { StreamEnd } from '../../formats/stream/stream-end.ts'
import type { Meters } from '../../slots.ts'
import type { ResponseEncoder } from './response-encoder.ts'

export class TranslatedStream implements Filter {
  readonly #target: StreamTarget
  readonly #decoder: StreamDecoder
  readonly #encoder: ResponseEncoder
  readonly #listener: ResponseListener
  readonly #framing: Framing
  readonly #splitter: EventSplitter
  readonly #end: StreamEnd
  readonly #emit = (part: Part): void => this.#onPart(part)
  #counts: Fields | undefined
  #meters: Meters | undefined
  /** The fault of an answer that the model failed to write. */
  #modelFault: Fault | undefined

  constructor(target: StreamTarget, encoder: ResponseEncoder, listener: ResponseListener) {
    this.#target = target
    this.#decoder = target.codec.decodeStream()
    this.#framing = target.stream.framing ?? SSE_FRAMING
    this.#splitter = this.#framing.createSplitter()
    this.#encoder = encoder
    this.#listener = listener
    this.#end = new StreamEnd(listener)
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
    this.#close(this.#listener.faultOf('UPSTREAM_TRUNCATED'), out)
  }
  /** A connection that breaks after what may have been the end breaks the answer. */
  fail(reason: Fault, out: Out): void {
    if (this.#end.state === 'paused') return this.#break(reason, out)
    this.#close(reason, out)
  }
  #read(bytes: Bytes, out: Out): void {
    for (const event of this.#framing.eventsIn(bytes)) {
      if (this.#isOver || event.data === undefined) continue
      this.#observe(event, bytes.subarray(event.start, event.end))
      const error = this.#listener.errorIn(event, this.#end.hasContent)
      if (error) return this.#break(error, out)
      if (isBrokenJson(event))
        return this.#break(this.#listener.faultOf('UPSTREAM_UNREADABLE'), out)
      try {
        this.#decoder.push(event, this.#emit)
      } catch (cause) {
        return this.#break(asFault(cause), out)
      }
    }
    if (this.#decoder.mayHaveEnded && !this.#isOver) this.#end.reach('paused')
    const encodedBytes = this.#encoder.takeBytes()
    if (encodedBytes) this.#end.send(encodedBytes, out)
  }
  get #isOver(): boolean {
    const { state } = this.#end
    return state === 'ended' || state === 'closed'
  }
  #observe(event: SseEvent, bytes: Bytes): void {
    const { served, stream, usage } = this.#target
    const fields = eventFields(event)
    const counts = fields && usage?.inEvent(fields)
    if (fields) this.#listener.onServed(served.read(fields))
    if (counts) this.#counts = mergeCounts(this.#counts, counts)
    this.#listener.onBytes(bytes, counts !== undefined)
    this.#end.hasContent ||= carriesContent(stream, event)
  }
  #onPart(part: Part): void {
    if (part.type === 'count' || (part.type === 'begin' && part.meters)) this.#meters = part.meters
    if (part.type === 'end') this.#end.reach('ended')
    this.#listener.onPart?.(part)
    if (part.type === 'stop' && part.stop.reason === 'broken')
      this.#modelFault ??= modelFault(part.stop)
    // An answer that the model failed to write ends in an error once its counts are known.
    else if (part.type !== 'end' || !this.#modelFault) this.#encoder.addPart(part)
  }
  /** A connection that breaks after the end of the answer leaves the answer complete. */
  #close(reason: Fault, out: Out): void {
    if (this.#end.state === 'closed') return
    let isComplete: boolean
    try {
      isComplete = this.#decoder.close(this.#emit)
    } catch (cause) {
      return this.#break(asFault(cause), out)
    }
    if (!isComplete) return this.#break(reason, out)
    this.#reportUsage(true)
    this.#end.complete(out, () => {
      if (this.#modelFault) throw this.#modelFault
      return this.#encoder.finish()
    })
  }
  #break(reason: Fault, out: Out): void {
    this.#reportUsage(false)
    this.#end.break(reason, out)
  }
  #reportUsage(whole: boolean): void {
    this.#listener.onUsage({ counts: this.#counts, meters: this.#meters }, whole)
  }
}
type StreamTarget = Pick<TargetFormat, 'codec' | 'stream' | 'served' | 'usage'>
