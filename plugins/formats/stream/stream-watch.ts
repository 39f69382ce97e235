/** Passes a stream through unchanged and reads its usage counts, its end and its errors. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes, Fault, Filter, Out } from '../../../engine/plugin.ts'
import type { Served } from '../../slots.ts'
import { carriesContent } from '../content-facts.ts'
import type { Fields } from '../fields.ts'
import { eventFields, type Format, type StreamFacts } from '../format.ts'
import { addCounts } from '../images/image-answer.ts'
import { mergeCounts } from './reported-usage.ts'
import { type ServedMarks, ServedWatch } from './served-watch.ts'
import { eventsIn, eventsWith, Splitter, type SseEvent } from './sse.ts'

/** Receives the findings of a watcher, and supplies the errors that it sends. */
export interface ResponseListener {
  /** What the answer says about how it was made; again when it says more, before `onUsage`. */
  onServed(served: Served): void
  /** Called once, at the end, with the upstream's own counts, undefined if it sent none; `whole`:
   *  they are final. */
  onUsage(counts: Fields | undefined, whole: boolean): void
  /** Receives the bytes that pass: a stream in whole events, anything else in chunks. `counts`: the
   *  bytes may hold usage counts. */
  onBytes?(bytes: Bytes, counts: boolean): void
  /** Encodes the event that ends a stream with an error, in the client's format. */
  encodeFailure(reason: Fault, last: SseEvent | undefined): Bytes
  /** The event to send in place of an error event that is not for the client. */
  replaceError?(event: SseEvent, last: SseEvent | undefined): Bytes | undefined
  /** Creates the fault for a stream without terminator. */
  truncationFault(): Fault
  /** Creates the fault for an answer that is not JSON. */
  unreadableFault(): Fault
  /** Called if the stream ends with an error of the upstream or the gateway. */
  onBroken(): void
  /** Called if the answer ends with an error, or without a finish reason, and had no content. */
  onUnanswered?(): void
  /** Called if the upstream keeps the connection open after the last event. */
  onLinger(): void
}

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

/** How long the upstream may keep the connection open after its last event, and after one that may
 *  be the last, in ms. */
const [LINGER_MS, PAUSE_MS] = [1_000, 5_000]

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
  /** The bytes from the terminal event on. */
  #tail: Bytes[] | undefined
  #hasBegun = false
  #lingerTimer: NodeJS.Timeout | undefined
  #hasLingered = false

  /** `isHidden`: selects events with counts that only the gateway requested. */
  constructor(
    marks: WatchedMarks,
    listener: ResponseListener,
    isHidden?: (event: SseEvent) => boolean,
  ) {
    this.#marks = marks
    this.#listener = listener
    this.#isHidden = isHidden
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
    if (rest && (this.#tail || this.#lastEventIn(rest) || this.#closes(rest))) this.#pass(rest, out)
    this.#reportCounts()
    if (this.#tail || (this.#lastBytes && this.#closes(this.#lastBytes))) return this.#close(out)
    this.#break(this.#listener.truncationFault(), out)
  }
  fail(reason: Fault, out: Out): void {
    const isComplete = this.#tail && (this.#hasLingered || this.#marks.facts.afterEnd !== 'same')
    if (this.#tail && !isComplete) this.#sendTail(out)
    this.#reportCounts()
    // A connection error after the terminal event leaves a complete answer. An error event that the
    // upstream sent is not repeated.
    if (isComplete || this.#isError(lastEvent(this.#lastBytes))) return this.#close(out)
    this.#break(reason, out)
  }
  /** The stream is complete, although its content may be an error. */
  #close(out: Out): void {
    if (!this.#content.isFound) this.#listener.onUnanswered?.()
    if (
      this.#lastBytes &&
      contains(this.#lastBytes, ERROR_MARK) &&
      this.#isError(lastEvent(this.#lastBytes))
    )
      this.#listener.onBroken()
    out.end(this.#tail && join(this.#tail))
  }
  /** Bytes after the terminal event are passed or dropped separately. */
  #pass(bytes: Bytes, out: Out): void {
    if (this.#tail && this.#marks.facts.afterEnd === 'dropped') return this.#drop(bytes)
    const last = this.#lastEventIn(bytes)
    if (!last || last.end === bytes.length) return this.#passPiece(bytes, out, last)
    this.#passPiece(bytes.subarray(0, last.end), out, last)
    this.#pass(bytes.subarray(last.end), out)
  }
  /** Keeps only comments and blank lines. */
  #drop(bytes: Bytes): void {
    const comments = eventsIn(bytes).filter(({ data }) => data === undefined)
    this.#tail?.push(...comments.map(({ start, end }) => bytes.subarray(start, end)))
  }
  /** `last`: the event in the piece that ends the stream. */
  #passPiece(piece: Bytes, out: Out, last: SseEvent | undefined): void {
    const bytes = contains(piece, ERROR_MARK) ? this.#replaceErrors(piece) : piece
    this.#content.observe(piece)
    const counts = contains(bytes, this.#marks.usage)
    if (this.#tail && this.#marks.facts.afterEnd === 'added' && hasData(bytes)) this.#beginAnother()
    if (counts) this.#count(bytes)
    this.#served.observe(bytes)
    this.#listener.onBytes?.(bytes, counts)
    const visible = counts && this.#isHidden ? this.#withoutHidden(bytes, this.#isHidden) : bytes
    if (visible.length === 0) return
    if (this.#tail) return this.#continueAfterEnd(visible, out)
    const end = visible === piece ? last : this.#lastEventIn(visible)
    const at = end?.start ?? -1
    if (at < 0) {
      this.#lastBytes = visible
      this.#send(visible, out)
      return
    }
    if (at > 0) {
      this.#lastBytes = visible.subarray(0, at)
      this.#send(this.#lastBytes, out)
    }
    this.#hold(visible.subarray(at))
  }
  #replaceErrors(bytes: Bytes): Bytes {
    let last = lastEvent(this.#lastBytes)
    let hasReplaced = false
    const parts = eventsIn(bytes).map(event => {
      const replacement = this.#listener.replaceError?.(event, last)
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
    const tail = this.#tail ?? []
    if (!hasData(bytes)) {
      tail.push(bytes)
      return
    }
    this.#sendTail(out)
    if (!this.#isError(lastEvent(bytes))) return this.#hold(bytes)
    this.#lastBytes = bytes
    this.#send(bytes, out)
  }
  /** It was not the end. */
  #sendTail(out: Out): void {
    for (const part of this.#tail ?? []) this.#send(part, out)
    this.#lastBytes = this.#tail?.at(-1)
    this.#tail = undefined
  }
  #hold(bytes: Bytes): void {
    this.#tail = [bytes]
    clearTimeout(this.#lingerTimer)
    const ms = this.#marks.facts.afterEnd === 'same' ? PAUSE_MS : LINGER_MS
    this.#lingerTimer = setTimeout(() => {
      this.#hasLingered = true
      this.#listener.onLinger()
    }, ms)
  }
  #send(bytes: Bytes, out: Out): void {
    this.#hasBegun = true
    out.write(bytes)
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
    clearTimeout(this.#lingerTimer)
    this.#served.finish()
    this.#readCounts()
    const counts = this.#earlierCounts
      ? addCounts(this.#earlierCounts, this.#counts ?? {})
      : this.#counts
    this.#listener.onUsage(counts, this.#tail !== undefined)
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
  /** Before the first event, the fault can still become an error reply. */
  #break(reason: Fault, out: Out): void {
    if (!this.#hasBegun) return out.fail(reason)
    if (!this.#content.isFound && reason.status !== CLIENT_LEFT) this.#listener.onUnanswered?.()
    this.#listener.onBroken()
    out.end(this.#listener.encodeFailure(reason, lastEvent(this.#lastBytes)), reason)
  }
}
/** A client that leaves pays for the prompt, which the upstream has read. */
const CLIENT_LEFT = 499
class ContentSearch {
  readonly #facts: StreamFacts
  #hasFailed = false
  isFound = false
  constructor(facts: StreamFacts) {
    this.#facts = facts
  }
  /** Parses no event behind the first content. */
  observe(bytes: Bytes): void {
    if (this.isFound) return
    for (const event of eventsIn(bytes))
      if (!this.isFound && event.data !== undefined) this.#read(event)
  }
  /** Counts behind an error do not make it an answer. */
  #read(event: SseEvent): void {
    const { error, failedEnd, usageOption } = this.#facts
    this.#hasFailed ||= error(event) !== undefined || failedEnd?.(event) !== undefined
    if (this.#hasFailed && usageOption?.isUsageOnly(event)) return
    this.isFound = carriesContent(this.#facts, event)
  }
}
const hasData = (bytes: Bytes): boolean => eventsIn(bytes).some(({ data }) => data !== undefined)
const lastEvent = (bytes: Bytes | undefined): SseEvent | undefined =>
  bytes && eventsIn(bytes).findLast(event => event.data !== undefined)
const join = (parts: readonly Bytes[]): Bytes =>
  parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
