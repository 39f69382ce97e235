/** Server-sent events as bytes: where they end, at any chunk boundary, and what the few that matter say. */
import type { Bytes, Reply } from '../../engine/plugin.ts'
import type { Fields } from './fields.ts'

const LF = 0x0a
const CR = 0x0d
/** An event longer than this goes on in pieces, unread: memory is bounded whatever an upstream sends. */
const HELD_LIMIT = 32 * 1024 * 1024

/** Cuts a stream behind the last event that is whole. What is whole leaves at once and uncopied; the start of the
 *  next one waits for its rest, so that a stream can always be ended cleanly between two events. */
export class Splitter {
  #held: Bytes[] = []
  #size = 0
  /** The two bytes before the chunk at hand: a blank line may lie across the seam. */
  #before = 0
  #last = 0
  #feeds = false

  /** The events that are whole by now, as one piece. */
  push(chunk: Bytes): Bytes | undefined {
    const end = this.#lastEnd(chunk)
    this.#remember(chunk)
    if (end === chunk.length && this.#size === 0) return end === 0 ? undefined : chunk
    if (end < 0) {
      this.#hold(chunk)
      return this.#size > HELD_LIMIT ? this.take() : undefined
    }
    this.#held.push(chunk.subarray(0, end))
    const whole = this.#joined()
    this.#held = []
    this.#size = 0
    if (end < chunk.length) this.#hold(chunk.subarray(end))
    return whole
  }
  /** What is held: an event without its blank line. */
  take(): Bytes | undefined {
    if (this.#size === 0) return undefined
    const rest = this.#joined()
    this.#held = []
    this.#size = 0
    return rest
  }
  #hold(part: Bytes): void {
    this.#held.push(part)
    this.#size += part.length
  }
  #joined(): Bytes {
    return this.#held.length === 1 && this.#held[0] ? this.#held[0] : Buffer.concat(this.#held)
  }
  #remember(chunk: Bytes): void {
    const { length } = chunk
    if (length === 0) return
    this.#before = length > 1 ? (chunk[length - 2] as number) : this.#last
    this.#last = chunk[length - 1] as number
  }
  /** Behind the last blank line, from the end backwards: most chunks end with one. -1 = there is none. */
  #lastEnd(chunk: Bytes): number {
    for (
      let at = this.#lineEnd(chunk, chunk.length - 1);
      at >= 0;
      at = this.#lineEnd(chunk, at - 1)
    )
      if (this.#isBlank(chunk, at)) return at + 1
    return -1
  }
  /** The last line feed at or before `from`; in a stream that never had one, the last carriage return. */
  #lineEnd(chunk: Bytes, from: number): number {
    if (from < 0) return -1
    const byte = chunk[from]
    if (byte === LF || (byte === CR && !this.#feeds)) {
      if (byte === LF) this.#feeds = true
      return from
    }
    const feed = chunk.lastIndexOf(LF, from)
    if (feed >= 0) this.#feeds = true
    return feed >= 0 || this.#feeds ? feed : chunk.lastIndexOf(CR, from)
  }
  /** Whether the line that ends here is empty. WHATWG HTML §9.2.5: a line ends with CR LF, LF or CR. */
  #isBlank(chunk: Bytes, at: number): boolean {
    const paired = chunk[at] === LF && this.#byte(chunk, at - 1) === CR
    const before = this.#byte(chunk, paired ? at - 2 : at - 1)
    return before === LF || before === CR
  }
  #byte(chunk: Bytes, at: number): number {
    if (at >= 0) return chunk[at] as number
    return at === -1 ? this.#last : this.#before
  }
}

/** Whether a reply comes as events. Nearly every other one is plain JSON, and asked about first. */
export const isEventStream = ({
  headers: { 'content-type': type },
}: Pick<Reply, 'headers'>): boolean =>
  type !== 'application/json' && /^text\/event-stream/i.test(String(type ?? ''))

/** Whether an event ends in these bytes. */
export const hasEvent = (bytes: Bytes): boolean => new Splitter().push(bytes) !== undefined

export interface SseEvent {
  readonly name: string
  /** Undefined in a block of comments only. */
  readonly data: string | undefined
  /** Where it stands in the bytes, its blank line included. */
  readonly start: number
  readonly end: number
  /** What `fieldsOf` read in it, null for nothing: an event is asked by several, and read once. */
  fields?: Fields | null | undefined
}

/** The events in a piece of a stream. An event without its blank line counts: at the end of a stream many lack it. */
export const eventsIn = (bytes: Bytes): readonly SseEvent[] => {
  const events: SseEvent[] = []
  let start = 0
  let name = ''
  let lines: string[] = []
  const close = (end: number): void => {
    const said = lines.length > 1 ? lines.join('\n') : lines[0]
    events.push({ name, data: said, start, end, fields: undefined })
    start = end
    name = ''
    lines = []
  }
  for (let at = 0; at < bytes.length; ) {
    let end = at
    while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end++
    const next = Math.min(end + (bytes[end] === CR && bytes[end + 1] === LF ? 2 : 1), bytes.length)
    if (end === at) close(next)
    else {
      const { field, value } = readLine(bytes.subarray(at, end))
      if (field === 'event') name = value
      else if (field === 'data') lines.push(value)
    }
    at = next
  }
  if (start < bytes.length) close(bytes.length)
  return events
}

const readLine = (line: Bytes): { readonly field: string; readonly value: string } => {
  const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString()
  const bare = text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
  const colon = bare.indexOf(':')
  if (colon < 0) return { field: bare, value: '' }
  return {
    field: bare.slice(0, colon),
    value: bare.slice(bare[colon + 1] === ' ' ? colon + 2 : colon + 1),
  }
}
const BYTE_ORDER_MARK = 0xfeff

/** An event in one line of JSON. */
export const writeEvent = (name: string | undefined, value: unknown, line = '\n'): Bytes =>
  Buffer.from(`${name ? `event: ${name}${line}` : ''}data: ${JSON.stringify(value)}${line}${line}`)
