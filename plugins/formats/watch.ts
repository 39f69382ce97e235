/** Lets a stream pass byte for byte and reads what it says: counts, its end, an upstream that fails. */
import { asBuffer } from '../../engine/kit.ts'
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'
import { added } from './drawn.ts'
import type { Fields } from './fields.ts'
import { type Format, fieldsOf, type StreamFacts } from './format.ts'
import { mergedCounts } from './reported-usage.ts'
import { eventsIn, Splitter, type SseEvent } from './sse.ts'

/** What the watcher tells, and what it must be told. */
export interface Watch {
  /** The upstream's own counts, once and last, undefined where it named none; `whole`: they are all there will be. */
  counted(counts: Fields | undefined, whole: boolean): void
  /** What passes: whole events of a stream, and pieces of anything else. `counts`: the upstream's own may stand in it. */
  passed?(bytes: Bytes, counts: boolean): void
  /** The event that ends a stream in an error, in the client's format. */
  failure(reason: Fault, last: SseEvent | undefined): Bytes
  /** The fault of a stream that ends without its terminator. */
  truncated(): Fault
  /** The stream ends in an error, the upstream's own or ours. */
  broke(): void
  /** The upstream said it is done and leaves the line open. */
  lingers(): void
}

/** What a format's watchers look for, made ready once. */
export interface Marks {
  readonly facts: StreamFacts
  readonly usage: Bytes
  readonly ends: readonly Bytes[]
  readonly key: Bytes
  readonly count: Format['usage']
}
export const marksOf = ({ stream, usage }: Format): Marks => {
  const mark = Buffer.from(stream.usageMark)
  return {
    facts: stream,
    usage: mark,
    // One mark for both is looked for once.
    ends: stream.endMarks.map(each => (each === stream.usageMark ? mark : Buffer.from(each))),
    key: Buffer.from(usage.key),
    count: usage,
  }
}

const holds = (bytes: Bytes, mark: Bytes): boolean => asBuffer(bytes).indexOf(mark) >= 0

/** In every event that tells of an error, and in few others. */
const ERROR = Buffer.from('error')

/** How long an upstream that has said its last word may take to hang up, ms. */
const LINGER = 1_000

/** A stream. Events leave when they are whole; the one that ends it is kept back as the tail. */
export class StreamWatch implements Filter {
  readonly #marks: Marks
  readonly #watch: Watch
  readonly #hidden: ((event: SseEvent) => boolean) | undefined
  readonly #splitter = new Splitter()
  #counts: Fields | undefined
  /** Counts of the answers before this one in the same stream. */
  #before: Fields | undefined
  /** The last piece that held cumulative counts: read when somebody asks. */
  #unread: Bytes | undefined
  #last: Bytes | undefined
  /** From the terminal event on. */
  #kept: Bytes[] | undefined
  #begun = false
  #linger: NodeJS.Timeout | undefined

  /** `hidden`: events with counts that only we asked for. */
  constructor(marks: Marks, watch: Watch, hidden?: (event: SseEvent) => boolean) {
    this.#marks = marks
    this.#watch = watch
    this.#hidden = hidden
  }
  write(chunk: Bytes, out: Out): void {
    const whole = this.#splitter.push(chunk)
    if (whole) this.#pass(whole, out)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.write(tail, out)
    const rest = this.#splitter.take()
    // Many upstreams leave out the last blank line: an event without it counts where it makes an end. Half an event is
    // dropped, so that the error event behind it can be read.
    if (rest && (this.#kept || this.#endsAt(rest, true) >= 0 || this.#closes(rest)))
      this.#pass(rest, out)
    this.#settle()
    if (this.#kept || (this.#last && this.#closes(this.#last))) return this.#close(out)
    this.#break(this.#watch.truncated(), out)
  }
  fail(reason: Fault, out: Out): void {
    this.#settle()
    // Whoever breaks off after the last word breaks off a whole answer; an error told once is not told again.
    if (this.#kept || this.#reports(lastEvent(this.#last))) return this.#close(out)
    this.#break(reason, out)
  }
  /** Whole, though an error may be what it tells. */
  #close(out: Out): void {
    if (this.#last && holds(this.#last, ERROR) && this.#reports(lastEvent(this.#last)))
      this.#watch.broke()
    out.end(this.#kept && join(this.#kept))
  }
  /** What stands behind the event that ends the stream is passed, or dropped, by itself. */
  #pass(all: Bytes, out: Out): void {
    const { afterEnd, ends } = this.#marks.facts
    if (this.#kept && afterEnd === 'dropped') return this.#drop(all)
    const last = this.#marks.ends.some(mark => holds(all, mark))
      ? eventsIn(all).find(event => ends(event))
      : undefined
    if (!last || last.end === all.length) return this.#passPiece(all, out)
    this.#passPiece(all.subarray(0, last.end), out)
    this.#pass(all.subarray(last.end), out)
  }
  /** All but comments and blank lines. */
  #drop(all: Bytes): void {
    const kept = eventsIn(all).filter(({ data }) => data === undefined)
    this.#kept?.push(...kept.map(({ start, end }) => all.subarray(start, end)))
  }
  #passPiece(all: Bytes, out: Out): void {
    const counts = holds(all, this.#marks.usage)
    if (this.#kept && this.#marks.facts.afterEnd === 'added' && hasData(all)) this.#beginAnother()
    if (counts) this.#count(all)
    this.#watch.passed?.(all, counts)
    const whole = counts && this.#hidden ? without(all, this.#hidden) : all
    if (whole.length === 0) return
    if (this.#kept) return this.#after(whole, out)
    const at = this.#endsAt(whole, counts)
    if (at < 0) {
      this.#last = whole
      this.#send(whole, out)
      return
    }
    if (at > 0) {
      this.#last = whole.subarray(0, at)
      this.#send(this.#last, out)
    }
    this.#keep(whole.subarray(at))
  }
  #beginAnother(): void {
    this.#readCounts()
    if (this.#counts) this.#before = added(this.#before ?? {}, this.#counts)
    this.#counts = undefined
  }
  /** Something follows the end: more of the same stream (then this is not the end yet), or only white space. */
  #after(whole: Bytes, out: Out): void {
    const before = this.#kept ?? []
    if (!hasData(whole)) {
      before.push(whole)
      return
    }
    for (const part of before) this.#send(part, out)
    this.#keep(whole)
  }
  #keep(bytes: Bytes): void {
    this.#kept = [bytes]
    clearTimeout(this.#linger)
    this.#linger = setTimeout(() => this.#watch.lingers(), LINGER)
  }
  #send(bytes: Bytes, out: Out): void {
    this.#begun = true
    out.write(bytes)
  }
  /** Where the event that ends the stream begins; -1 = it is not in here. */
  #endsAt(bytes: Bytes, counts: boolean): number {
    const { ends, facts, usage } = this.#marks
    for (const mark of ends)
      if (mark === usage ? counts : holds(bytes, mark))
        return eventsIn(bytes).find(event => facts.ends(event))?.start ?? -1
    return -1
  }
  #count(whole: Bytes): void {
    if (this.#marks.facts.cumulative) this.#unread = whole
    else this.#read(whole)
  }
  #read(whole: Bytes): void {
    const { count } = this.#marks
    for (const event of eventsIn(whole)) {
      const fields = fieldsOf(event)
      const counts = fields && count.inEvent(fields)
      if (counts)
        this.#counts = count.adds
          ? added(this.#counts ?? {}, counts)
          : mergedCounts(this.#counts, counts)
    }
  }
  #settle(): void {
    clearTimeout(this.#linger)
    this.#readCounts()
    const counts = this.#before ? added(this.#before, this.#counts ?? {}) : this.#counts
    this.#watch.counted(counts, this.#kept !== undefined)
  }
  #readCounts(): void {
    if (this.#unread) this.#read(this.#unread)
    this.#unread = undefined
  }
  /** Whether nothing is missing behind this but a terminator that some upstreams never send. */
  #closes(bytes: Bytes): boolean {
    const last = lastEvent(bytes)
    return last !== undefined && (this.#marks.facts.suffices(last) || this.#reports(last))
  }
  /** The upstream itself told of the error: the client has it already. */
  #reports(event: SseEvent | undefined): boolean {
    return event !== undefined && this.#marks.facts.error(event) !== undefined
  }
  /** Before the first event the fault can still be an answer of its own. */
  #break(reason: Fault, out: Out): void {
    if (!this.#begun) return out.fail(reason)
    this.#watch.broke()
    out.end(this.#watch.failure(reason, lastEvent(this.#last)), reason)
  }
}
/** All but these events. */
const without = (bytes: Bytes, hidden: (event: SseEvent) => boolean): Bytes => {
  const kept = eventsIn(bytes).filter(event => !hidden(event))
  return join(kept.map(({ start, end }) => bytes.subarray(start, end)))
}
const hasData = (bytes: Bytes): boolean => eventsIn(bytes).some(({ data }) => data !== undefined)
const lastEvent = (bytes: Bytes | undefined): SseEvent | undefined =>
  bytes && eventsIn(bytes).findLast(event => event.data !== undefined)
const join = (parts: readonly Bytes[]): Bytes =>
  parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
