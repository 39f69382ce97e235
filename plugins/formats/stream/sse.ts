/** Splits and parses server-sent events in bytes. Chunks may split anywhere. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes, Reply } from '../../../engine/plugin.ts'
import type { Fields } from '../fields.ts'

const LF = 0x0a
const CR = 0x0d
/** A longer event is passed on in pieces and not parsed, which bounds memory against any upstream.
 *  Images of providers reach 45 MiB an event. */
const MAX_BUFFERED = 128 * 1024 * 1024

/** Cuts a stream after the last complete event. Complete events pass at once and without a copy;
 *  the start of the next event is buffered until it is complete, so that a stream can always be
 *  ended between two events. */
export class Splitter {
  #chunks: Bytes[] = []
  #size = 0
  /** The last two bytes before the current chunk: a blank line may span the boundary. */
  #secondLast = 0
  #last = 0
  #hasLineFeeds = false

  /** Returns the events completed by this chunk, as one piece. */
  push(chunk: Bytes): Bytes | undefined {
    const end = this.#lastEnd(chunk)
    this.#rememberLast(chunk)
    if (end === chunk.length && this.#size === 0) return end === 0 ? undefined : chunk
    if (end < 0) {
      this.#buffer(chunk)
      return this.#size > MAX_BUFFERED ? this.take() : undefined
    }
    this.#chunks.push(chunk.subarray(0, end))
    const whole = this.#joinChunks()
    this.#chunks = []
    this.#size = 0
    if (end < chunk.length) this.#buffer(chunk.subarray(end))
    return whole
  }
  /** Returns the buffered bytes: an event without its blank line. */
  take(): Bytes | undefined {
    if (this.#size === 0) return undefined
    const rest = this.#joinChunks()
    this.#chunks = []
    this.#size = 0
    return rest
  }
  #buffer(part: Bytes): void {
    this.#chunks.push(part)
    this.#size += part.length
  }
  #joinChunks(): Bytes {
    return this.#chunks.length === 1 && this.#chunks[0]
      ? this.#chunks[0]
      : Buffer.concat(this.#chunks)
  }
  #rememberLast(chunk: Bytes): void {
    const { length } = chunk
    if (length === 0) return
    this.#secondLast = length > 1 ? (chunk[length - 2] as number) : this.#last
    this.#last = chunk[length - 1] as number
  }
  /** The end of the last blank line; searches backwards, because most chunks end with one. -1:
   *  none. */
  #lastEnd(chunk: Bytes): number {
    for (
      let at = this.#lineEnd(chunk, chunk.length - 1);
      at >= 0;
      at = this.#lineEnd(chunk, at - 1)
    )
      if (this.#isBlank(chunk, at)) return at + 1
    return -1
  }
  /** The last line feed at or before `from`; the last carriage return in a stream without line
   *  feeds. */
  #lineEnd(chunk: Bytes, from: number): number {
    if (from < 0) return -1
    const byte = chunk[from]
    if (byte === LF || (byte === CR && !this.#hasLineFeeds)) {
      if (byte === LF) this.#hasLineFeeds = true
      return from
    }
    const feed = chunk.lastIndexOf(LF, from)
    if (feed >= 0) this.#hasLineFeeds = true
    return feed >= 0 || this.#hasLineFeeds ? feed : chunk.lastIndexOf(CR, from)
  }
  /** Whether the line that ends here is empty. WHATWG HTML §9.2.5: a line ends with CR LF, LF or
   *  CR. */
  #isBlank(chunk: Bytes, at: number): boolean {
    const isPair = chunk[at] === LF && this.#byte(chunk, at - 1) === CR
    const before = this.#byte(chunk, isPair ? at - 2 : at - 1)
    return before === LF || before === CR
  }
  #byte(chunk: Bytes, at: number): number {
    if (at >= 0) return chunk[at] as number
    return at === -1 ? this.#last : this.#secondLast
  }
}

/** Whether a reply is an event stream. The test for plain JSON comes first, because nearly all
 *  other replies are JSON. */
export const isEventStream = ({
  headers: { 'content-type': type },
}: Pick<Reply, 'headers'>): boolean =>
  type !== 'application/json' && /^text\/event-stream/i.test(String(type ?? ''))

/** Whether these bytes contain the end of an event. */
export const hasEvent = (bytes: Bytes): boolean => new Splitter().push(bytes) !== undefined

export interface SseEvent {
  readonly name: string
  /** Undefined for a block of comments only. */
  readonly data: string | undefined
  /** The event's position in the bytes, including its blank line. */
  readonly start: number
  readonly end: number
  /** The result of `eventFields`, null for no object: several readers share one parse. */
  fields?: Fields | null | undefined
}

/** Parses the events in a piece of a stream. The last event may lack its blank line, as many
 *  streams end without it. */
export const eventsIn = (bytes: Bytes): readonly SseEvent[] => {
  const buffer = asBuffer(bytes)
  const events: SseEvent[] = []
  for (let at = 0; at < buffer.length; at = events.at(-1)?.end ?? buffer.length)
    events.push(eventAt(buffer, at))
  return events
}
/** Parses only the events whose bytes contain the mark: a piece may hold a hundred others. */
export const eventsWith = (bytes: Bytes, mark: Bytes): readonly SseEvent[] => {
  const buffer = asBuffer(bytes)
  const events: SseEvent[] = []
  let at = buffer.indexOf(mark)
  while (at >= 0) {
    const event = eventAt(buffer, startOfEvent(buffer, at))
    events.push(event)
    at = buffer.indexOf(mark, event.end)
  }
  return events
}
/** Parses the event that starts here. */
const eventAt = (bytes: Buffer, start: number): SseEvent => {
  let name = ''
  let text: string | undefined
  let at = start
  while (at < bytes.length) {
    const end = lineEndFrom(bytes, at)
    const next = Math.min(end + (bytes[end] === CR && bytes[end + 1] === LF ? 2 : 1), bytes.length)
    const isBlank = end === at
    const { field, value } = isBlank ? NO_LINE : readLine(bytes.toString('utf8', at, end))
    at = next
    if (isBlank) break
    if (field === 'event') name = value
    else if (field === 'data') text = text === undefined ? value : `${text}\n${value}`
  }
  return { name, data: text, start, end: at, fields: undefined }
}
/** Bytes that are compared one by one before the native search, whose call costs as much. */
const SHORT_LINE = 64
/** The position of the next line feed or carriage return; the end of the bytes without one. */
const lineEndFrom = (bytes: Buffer, from: number): number => {
  const near = Math.min(from + SHORT_LINE, bytes.length)
  for (let at = from; at < near; at++) if (bytes[at] === LF || bytes[at] === CR) return at
  const feed = bytes.indexOf(LF, near)
  const end = feed < 0 ? bytes.length : feed
  const carriage = bytes.subarray(near, end).indexOf(CR)
  return carriage < 0 ? end : near + carriage
}
/** The position behind the last line feed or carriage return before `from`; 0 without one. */
const lineStartBefore = (bytes: Buffer, from: number): number => {
  const near = Math.max(from - SHORT_LINE, 0)
  for (let at = from; at > near; at--) if (bytes[at - 1] === LF || bytes[at - 1] === CR) return at
  const feed = near === 0 ? -1 : bytes.lastIndexOf(LF, near - 1)
  const carriage = bytes.subarray(feed + 1, near).lastIndexOf(CR)
  return feed + 1 + carriage + 1
}
/** The position behind the last blank line before `at`. */
const startOfEvent = (bytes: Buffer, at: number): number => {
  for (let end = lineStartBefore(bytes, at); end > 0; end = lineStartBefore(bytes, end - 1)) {
    const isPair = bytes[end - 1] === LF && bytes[end - 2] === CR
    if (isLineEnd(bytes[end - 1]) && isLineEnd(bytes[end - (isPair ? 3 : 2)])) return end
  }
  return 0
}
/** Undefined: the piece starts here, behind a complete event. */
const isLineEnd = (byte: number | undefined): boolean =>
  byte === LF || byte === CR || byte === undefined

const NO_LINE = { field: '', value: '' }
const readLine = (text: string): { readonly field: string; readonly value: string } => {
  const line = text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
  const colon = line.indexOf(':')
  if (colon < 0) return { field: line, value: '' }
  return {
    field: line.slice(0, colon),
    value: line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1),
  }
}
const BYTE_ORDER_MARK = 0xfeff

/** Encodes a value as an event with one line of JSON. */
export const writeEvent = (name: string | undefined, value: unknown, line = '\n'): Bytes =>
  Buffer.from(`${name ? `event: ${name}${line}` : ''}data: ${JSON.stringify(value)}${line}${line}`)
