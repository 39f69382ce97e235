/** Passes a stream through unchanged and reads its usage counts, its end and its errors. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes, Fault, Filter, Out } from '../../../engine/plugin.ts'
import { carriesContent } from '../content-facts.ts'
import type { Fields } from '../fields.ts'
import { eventFields, type Format, type StreamFacts } from '../format.ts'
import { addCounts } from '../images/image-answer.ts'
import { mergeCounts } from './reported-usage.ts'
import type { ResponseListener } from './response-listener.ts'
import { type ServedMarks, ServedWatch } from './served-watch.ts'
import { eventsIn, eventsWith, Splitter, type SseEvent } from './sse.ts'
import { StreamEnd } from './stream-end.ts'

/** The texts that the watchers of a format search for, prepared once. */
export interface WatchedMarks {
  readonly facts: StreamFacts
  readonly usage: Bytes
  readonly ends: readonly Bytes[]
  readonly key: Bytes
  readonly count: Format['usage']
  readonly served: ServedMarks
  readonly servedKeys: readonly Bytes[]
}
export const watchedMarksOf = ({ stream, usage, served }: Format): WatchedMarks => {
  const mark = Buffer.from(stream.usageMark)
  return {
    facts: stream,
    usage: mark,
    // A mark with both purposes is searched once.
    ends: stream.endMarks.map(each => (each === stream.usageMark ? mark : Buffer.from(each))),
    key: Buffer.from(usage.key),
    count: usage,
    served: {
      facts: served,
      mark: served.mark === undefined ? undefined : Buffer.from(served.mark),
    },
    servedKeys: served.members.map(each => Buffer.from(each)),
  }
}

const contains = (bytes: Bytes, mark: Bytes): boolean => asBuffer(bytes).indexOf(mark) >= 0

/** A text that occurs in every error event, and in few others. */
const ERROR_MARK = Buffer.from('error')

/** Watches a stream. Complete events pass at once; the event that ends the stream is held back as
 *  the tail. */
export class StreamFilter implements Filter {
  readonly #marks: WatchedMarks
  readonly #listener: ResponseListener
  readonly #isHidden: ((event: SseEvent) => boolean) | undefined
  readonly #splitter = new Splitter()
  readonly #content: ContentSearch
  readonly #served: ServedWatch
  #counts: Fields | undefined
  /** The counts of earlier answers in the same stream. */
  #earlierCounts: Fields | undefined
  /** The last bytes with cumulative counts, parsed at the end. */
  #unreadCounts: Bytes | undefined
  #lastBytes: Bytes | undefined
  readonly #end: StreamEnd
  /** The bytes from the terminal event on; empty while the stream is open. */
  #tail: Bytes[] = []

  /** `isHidden`: selects events with counts that only the gateway requested. */
  constructor(
    marks: WatchedMarks,
    listener: ResponseListener,
    isHidden?: (event: SseEvent) => boolean,
  ) {
    this.#marks = marks
    this.#listener = listener
    this.#isHidden = isHidden
    this.#end = new StreamEnd(listener)
    this.#content = new ContentSearch(marks.facts)
    this.#served = new ServedWatch(marks.served, served => listener.onServed(served))
  }
  write(chunk: Bytes, out: Out): void {
    const events = this.#splitter.push(chunk)
    if (events) this.#pass(events, out)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.write(tail, out)
    const rest = this.#splitter.take()
    // Many upstreams omit the last blank line: an event without it counts if it ends the stream.
    // Other incomplete events are dropped, so that the error event after them is readable.
    if (rest && (this.#hasTail || this.#lastEventIn(rest) || this.#closes(rest)))
      this.#pass(rest, out)
    this.#reportCounts()
    if (this.#hasTail || (this.#lastBytes && this.#closes(this.#lastBytes))) return this.#close(out)
    this.#break(this.#listener.faultOf('UPSTREAM_TRUNCATED'), out)
  }
  fail(reason: Fault, out: Out): void {
    if (this.#end.state === 'paused') this.#sendTail(out)
    this.#reportCounts()
    // A connection error after the terminal event leaves a complete answer. An error event that the
    // upstream sent is not repeated.
    if (this.#hasTail || this.#isError(lastEvent(this.#lastBytes))) return this.#close(out)
    this.#break(reason, out)
  }
  get #hasTail(): boolean {
    return this.#end.state !== 'open'
  }
  /** The stream is complete, although its content may be an error. */
  #close(out: Out): void {
    if (
      this.#lastBytes &&
      contains(this.#lastBytes, ERROR_MARK) &&
      this.#isError(lastEvent(this.#lastBytes))
    )
      this.#listener.onBroken()
    this.#end.complete(out, () => (this.#tail.length > 0 ? join(this.#tail) : undefined))
  }
  #break(reason: Fault, out: Out): void {
    this.#end.break(reason, out, lastEvent(this.#lastBytes))
  }
  /** Bytes after the terminal event are passed or dropped separately. */
  #pass(bytes: Bytes, out: Out): void {
    if (this.#hasTail && this.#marks.facts.afterEnd === 'dropped') return this.#drop(bytes)
    const last = this.#lastEventIn(bytes)
    if (!last || last.end === bytes.length) return this.#passPiece(bytes, out, last)
    this.#passPiece(bytes.subarray(0, last.end), out, last)
    this.#pass(bytes.subarray(last.end), out)
  }
  /** Keeps only comments and blank lines. */
  #drop(bytes: Bytes): void {
    const comments = eventsIn(bytes).filter(({ data }) => data === undefined)
    this.#tail.push(...comments.map(({ start, end }) => bytes.subarray(start, end)))
  }
  /** `last`: the event in the piece that ends the stream. */
  #passPiece(piece: Bytes, out: Out, last: SseEvent | undefined): void {
    const bytes = contains(piece, ERROR_MARK) ? this.#replaceErrors(piece) : piece
    this.#end.hasContent = this.#content.observe(piece)
    const counts = contains(bytes, this.#marks.usage)
    if (this.#hasTail && this.#marks.facts.afterEnd === 'added' && hasData(bytes))
      this.#beginAnother()
    // Reads the first event before those with counts, which are later in the same bytes.
    this.#served.observe(bytes)
    if (counts) this.#count(bytes)
    this.#listener.onBytes(bytes, counts)
    const visible = counts && this.#isHidden ? this.#withoutHidden(bytes, this.#isHidden) : bytes
    if (visible.length === 0) return
    if (this.#hasTail) return this.#continueAfterEnd(visible, out)
    const end = visible === piece ? last : this.#lastEventIn(visible)
    const at = end?.start ?? -1
    if (at < 0) {
      this.#lastBytes = visible
      this.#end.send(visible, out)
      return
    }
    if (at > 0) {
      this.#lastBytes = visible.subarray(0, at)
      this.#end.send(this.#lastBytes, out)
    }
    this.#hold(visible.subarray(at))
  }
  #replaceErrors(bytes: Bytes): Bytes {
    let last = lastEvent(this.#lastBytes)
    let hasReplaced = false
    const parts = eventsIn(bytes).map(event => {
      const reason = this.#listener.errorIn(event, this.#end.hasContent)
      const replacement = reason && this.#listener.encodeFailure(reason, last)
      if (reason) this.#listener.onBroken(reason)
      if (event.data !== undefined) last = event
      hasReplaced ||= replacement !== undefined
      return replacement ?? bytes.subarray(event.start, event.end)
    })
    return hasReplaced ? join(parts) : bytes
  }
  #beginAnother(): void {
    this.#readCounts()
    if (this.#counts) this.#earlierCounts = addCounts(this.#earlierCounts ?? {}, this.#counts)
    this.#counts = undefined
  }
  /** Data after the end means that this was not the end; white space belongs to the tail. */
  #continueAfterEnd(bytes: Bytes, out: Out): void {
    if (!hasData(bytes)) {
      this.#tail.push(bytes)
      return
    }
    this.#sendTail(out)
    if (!this.#isError(lastEvent(bytes))) return this.#hold(bytes)
    this.#lastBytes = bytes
    this.#end.send(bytes, out)
  }
  /** It was not the end. */
  #sendTail(out: Out): void {
    for (const part of this.#tail) this.#end.send(part, out)
    this.#lastBytes = this.#tail.at(-1)
    this.#tail = []
    this.#end.resume()
  }
  #hold(bytes: Bytes): void {
    this.#tail = [bytes]
    this.#end.reach(this.#marks.facts.afterEnd === 'same' ? 'paused' : 'ended')
  }
  /** The first event in these bytes that ends the stream. */
  #lastEventIn(bytes: Bytes): SseEvent | undefined {
    const { ends, facts } = this.#marks
    let first: SseEvent | undefined
    for (const mark of ends) {
      const event = eventsWith(bytes, mark).find(each => facts.isEnd(each))
      if (event && event.start < (first?.start ?? bytes.length)) first = event
    }
    return first
  }
  #withoutHidden(bytes: Bytes, isHidden: (event: SseEvent) => boolean): Bytes {
    const parts: Bytes[] = []
    let from = 0
    for (const { start, end } of eventsWith(bytes, this.#marks.usage).filter(isHidden)) {
      if (start > from) parts.push(bytes.subarray(from, start))
      from = end
    }
    if (from === 0) return bytes
    return join([...parts, bytes.subarray(from)])
  }
  #count(bytes: Bytes): void {
    if (this.#marks.facts.isCumulative) this.#unreadCounts = bytes
    else this.#read(bytes)
  }
  #read(bytes: Bytes): void {
    const { count, usage } = this.#marks
    for (const event of eventsWith(bytes, usage)) {
      const fields = eventFields(event)
      this.#served.read(event)
      const counts = fields && count.inEvent(fields)
      if (counts)
        this.#counts = count.isAdditive
          ? addCounts(this.#counts ?? {}, counts)
          : mergeCounts(this.#counts, counts)
    }
  }
  #reportCounts(): void {
    this.#served.finish()
    this.#readCounts()
    const counts = this.#earlierCounts
      ? addCounts(this.#earlierCounts, this.#counts ?? {})
      : this.#counts
    this.#listener.onUsage({ counts }, this.#hasTail)
  }
  #readCounts(): void {
    if (this.#unreadCounts) this.#read(this.#unreadCounts)
    this.#unreadCounts = undefined
  }
  /** Whether only a terminator is missing, which some upstreams never send. */
  #closes(bytes: Bytes): boolean {
    const last = lastEvent(bytes)
    return (
      last !== undefined &&
      (this.#marks.facts.completesWithoutTerminator(last) || this.#isError(last))
    )
  }
  /** Whether the upstream itself sent the error to the client. */
  #isError(event: SseEvent | undefined): boolean {
    return event !== undefined && this.#marks.facts.error(event) !== undefined
  }
}
class ContentSearch {
  readonly #facts: StreamFacts
  #isFound = false
  constructor(facts: StreamFacts) {
    this.#facts = facts
  }
  /** Returns whether content has come. Parses no event behind the first content. */
  observe(bytes: Bytes): boolean {
    if (this.#isFound) return true
    for (const event of eventsIn(bytes))
      this.#isFound ||= event.data !== undefined && carriesContent(this.#facts, event)
    return this.#isFound
  }
}
const hasData = (bytes: Bytes): boolean => eventsIn(bytes).some(({ data }) => data !== undefined)
const lastEvent = (bytes: Bytes | undefined): SseEvent | undefined =>
  bytes && eventsIn(bytes).findLast(event => event.data !== undefined)
const join = (parts: readonly Bytes[]): Bytes =>
  parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
