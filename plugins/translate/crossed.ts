/** An answer on its way from a target's format to the client's: events one by one, or a whole body at its end. */
import { asFault } from '../../engine/errors.ts'
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'
import { brokeOff, fault } from '../conversion/faults.ts'
import type { Answer, Part } from '../formats/answer.ts'
import type { StreamDecoder, TargetCodec } from '../formats/codec.ts'
import type { Fields } from '../formats/fields.ts'
import { fieldsOf, isMangled } from '../formats/format.ts'
import { eventsIn, Splitter, type SseEvent } from '../formats/sse.ts'
import type { Meters } from '../slots.ts'
import type { Sink } from './sink.ts'

/** What the crossing of one attempt tells, and what it must be told. */
export interface Report {
  /** Bytes of the upstream's answer, before they are decoded: of a stream an event, with what it says. */
  passed(bytes: Bytes, event?: Fields): void
  /** Its answer in one piece. */
  readWhole(answer: Fields): void
  /** Every part, before it is written. */
  heard(part: Part): void
  /** The same of one that came in one piece. */
  heardWhole(answer: Answer): void
  /** What the upstream counted so far; `whole`: it is all there will be. */
  counted(meters: Meters | undefined, whole: boolean): void
  /** The fault as the client's dialect writes it. */
  bodyOf(reason: Fault): Fields
  /** The error this event reports, if it is one. */
  errorIn(event: SseEvent): Fault | undefined
  /** The stream ends in an error. */
  broke(reason: Fault): void
  /** The upstream said it is done and leaves the line open. */
  lingers(): void
}

/** How long an upstream that has said its last word may take to hang up, ms. */
const LINGER = 1_000

/** Reads a stream of the target's. */
export class CrossedStream implements Filter {
  readonly #decoder: StreamDecoder
  readonly #format: string
  readonly #sink: Sink
  readonly #report: Report
  readonly #splitter = new Splitter()
  readonly #emit = (part: Part): void => this.#take(part)
  #meters: Meters | undefined
  #begun = false
  #ended = false
  /** The client has been told of an error: nothing more is said. */
  #broken = false
  /** What the model failed to write. */
  #spoilt: Fault | undefined
  #linger: NodeJS.Timeout | undefined

  constructor(target: TargetCodec, format: string, sink: Sink, report: Report) {
    this.#decoder = target.decodeStream()
    this.#format = format
    this.#sink = sink
    this.#report = report
  }
  write(chunk: Bytes, out: Out): void {
    const whole = this.#splitter.push(chunk)
    if (whole) this.#read(whole, out)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.write(tail, out)
    const rest = this.#splitter.take()
    // Half an event is told as what it is: the upstream has not said all.
    if (rest && !eventsIn(rest).some(isMangled)) this.#read(rest, out)
    this.#close(fault('UPSTREAM_TRUNCATED'), out)
  }
  fail(reason: Fault, out: Out): void {
    this.#close(reason, out)
  }
  #read(bytes: Bytes, out: Out): void {
    for (const event of eventsIn(bytes)) {
      if (this.#ended || event.data === undefined) continue
      this.#report.passed(bytes.subarray(event.start, event.end), fieldsOf(event))
      const error = this.#report.errorIn(event)
      if (error) return this.#break(error, out)
      if (isMangled(event)) return this.#break(fault('UPSTREAM_UNREADABLE', [this.#format]), out)
      try {
        this.#decoder.event(event, this.#emit)
      } catch (thrown) {
        return this.#break(asFault(thrown), out)
      }
    }
    const written = this.#sink.written()
    if (!written) return
    this.#begun = true
    out.write(written)
  }
  #take(part: Part): void {
    if (part.type === 'count' || (part.type === 'begin' && part.meters)) this.#meters = part.meters
    if (part.type === 'end') {
      this.#ended = true
      this.#linger = setTimeout(() => this.#report.lingers(), LINGER)
    }
    this.#report.heard(part)
    if (part.type === 'stop' && part.stop.reason === 'broken') this.#spoilt ??= brokeOff(part.stop)
    // The end of what the model failed to write is an error, and what it counted is known.
    else if (part.type !== 'end' || !this.#spoilt) this.#sink.take(part)
  }
  /** Whoever breaks off after the last word breaks off a whole answer. */
  #close(reason: Fault, out: Out): void {
    if (this.#broken) return
    if (!this.#ended) this.#decoder.close(this.#emit)
    clearTimeout(this.#linger)
    if (!this.#ended) return this.#break(reason, out)
    this.#report.counted(this.#meters, true)
    if (this.#spoilt) return this.#tell(this.#spoilt, out)
    finish(out, () => this.#sink.tail())
  }
  #break(reason: Fault, out: Out): void {
    this.#ended = true
    this.#broken = true
    this.#report.counted(this.#meters, false)
    this.#tell(reason, out)
  }
  /** Before the first event the fault can still be an answer of its own. */
  #tell(reason: Fault, out: Out): void {
    if (!this.#begun) return out.fail(reason)
    this.#report.broke(reason)
    out.end(this.#sink.fail(this.#report.bodyOf(reason)), reason)
  }
}

/** Reads a whole answer of the target's. */
export class CrossedAnswer implements Filter {
  readonly #target: TargetCodec
  readonly #format: string
  readonly #sink: Sink
  readonly #report: Report
  readonly #parts: Bytes[] = []

  constructor(target: TargetCodec, format: string, sink: Sink, report: Report) {
    this.#target = target
    this.#format = format
    this.#sink = sink
    this.#report = report
  }
  write(chunk: Bytes): void {
    this.#report.passed(chunk)
    this.#parts.push(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.write(tail)
    const { answer, error } = this.#decoded()
    this.#report.counted(answer?.meters, answer !== undefined)
    if (!answer) return out.fail(error ?? fault('UPSTREAM_UNREADABLE', [this.#format]))
    this.#report.heardWhole(answer)
    finish(out, () => this.#sink.whole(answer))
  }
  fail(reason: Fault, out: Out): void {
    this.#report.counted(undefined, false)
    out.fail(reason)
  }
  /** Some upstreams grant what they refuse: an error behind a 200 that says nothing else is the error it says it is. */
  #decoded(): { readonly answer?: Answer; readonly error?: Fault | undefined } {
    const body = { name: '', data: Buffer.concat(this.#parts).toString(), start: 0, end: 0 }
    const fields = fieldsOf(body)
    if (fields) this.#report.readWhole(fields)
    try {
      const answer = fields && this.#target.decodeAnswer(fields)
      if (answer?.choices.some(({ content }) => content.length > 0)) return { answer }
      const error = this.#report.errorIn(body)
      return error || !answer ? { error } : { answer }
    } catch {
      return {}
    }
  }
}

/** What cannot be written is an error before anything was sent. */
const finish = (out: Out, tail: () => Bytes): void => {
  let bytes: Bytes
  try {
    bytes = tail()
  } catch (thrown) {
    return out.fail(asFault(thrown))
  }
  out.end(bytes)
}
