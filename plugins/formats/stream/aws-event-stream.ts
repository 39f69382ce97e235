/** The event stream of AWS (application/vnd.amazon.eventstream): binary frames with two checksums.
 *
 *  total length (4) | length of the headers (4) | CRC-32 of these eight bytes (4)
 *  headers | payload | CRC-32 of all bytes before it (4)
 *
 *  A frame that is not valid becomes an event with the name DAMAGED: nothing after it is
 *  read. */
import { crc32 } from 'node:zlib'
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import type { EventSplitter, Framing } from './framing.ts'
import type { SseEvent } from './sse.ts'

export const CONTENT_TYPE = 'application/vnd.amazon.eventstream'
/** The name of an event that stands for a damaged frame. */
export const DAMAGED = ':damaged'
/** Prefix of the names of events that report an error; the name of the error follows. */
export const EXCEPTION = ':exception '

/** Bytes of the prelude with its checksum, and of the checksum at the end. */
const [PRELUDE, CHECKSUM] = [12, 4]
/** Most bytes of a frame, and of its headers, that AWS sends. */
const [MAX_FRAME, MAX_HEADERS] = [16 * 1024 * 1024, 128 * 1024]

/** The length of the frame at a position: 0 if its prelude has not arrived, undefined if that is
 *  damaged. */
const frameLength = (bytes: Buffer, at: number): number | undefined => {
  if (bytes.length - at < PRELUDE) return 0
  const [length, headers] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
  if (crc32(bytes.subarray(at, at + 8)) !== bytes.readUInt32BE(at + 8)) return undefined
  if (length > MAX_FRAME || headers > MAX_HEADERS) return undefined
  return headers <= length - PRELUDE - CHECKSUM ? length : undefined
}

class FrameSplitter implements EventSplitter {
  #chunks: Bytes[] = []
  #size = 0
  /** Bytes that are needed before the next frame can be cut. */
  #needed = PRELUDE
  #isDamaged = false

  push(chunk: Bytes): Bytes | undefined {
    if (this.#isDamaged) return undefined
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size < this.#needed) return undefined
    const bytes = this.#join()
    const end = this.#endOfFrames(bytes)
    this.#chunks = end < bytes.length ? [bytes.subarray(end)] : []
    this.#size = bytes.length - end
    return end > 0 ? bytes.subarray(0, end) : undefined
  }
  /** A frame without its end cannot be read. */
  take(): undefined {
    this.#chunks = []
    this.#size = 0
  }
  /** All bytes from a damaged frame on belong to the last piece. */
  #endOfFrames(bytes: Buffer): number {
    for (let end = 0; ; ) {
      const length = frameLength(bytes, end)
      if (length === undefined) {
        this.#isDamaged = true
        return bytes.length
      }
      this.#needed = length || PRELUDE
      if (length === 0 || end + length > bytes.length) return end
      end += length
    }
  }
  #join(): Buffer {
    const [only] = this.#chunks
    return this.#chunks.length === 1 && only ? asBuffer(only) : Buffer.concat(this.#chunks)
  }
}

/** Stops after a damaged frame. `start` and `end` of an event are those of its payload. */
const framesIn = (bytes: Bytes): readonly SseEvent[] => {
  const buffer = asBuffer(bytes)
  const events: SseEvent[] = []
  for (let at = 0; at < buffer.length; ) {
    const length = frameLength(buffer, at)
    if (length === 0 || (length !== undefined && at + length > buffer.length)) break
    const event = length === undefined ? undefined : readFrame(buffer, at, length)
    if (!event) return [...events, damagedEvent(at)]
    events.push(event)
    at += length ?? 0
  }
  return events
}
const damagedEvent = (at: number): SseEvent => ({ name: DAMAGED, data: '{}', start: at, end: at })

/** Undefined for a damaged frame. */
const readFrame = (bytes: Buffer, at: number, length: number): SseEvent | undefined => {
  const end = at + length - CHECKSUM
  if (crc32(bytes.subarray(at, end)) !== bytes.readUInt32BE(end)) return undefined
  const start = at + PRELUDE + bytes.readUInt32BE(at + 4)
  const headers = readHeaders(bytes.subarray(at + PRELUDE, start))
  if (!headers) return undefined
  const type = headers.get(':message-type')
  const payload = bytes.subarray(start, end).toString()
  if (type === 'event')
    return { name: headers.get(':event-type') ?? '', data: payload, start, end, fields: undefined }
  const name = headers.get(type === 'exception' ? ':exception-type' : ':error-code') ?? ''
  const message = headers.get(':error-message')
  const text = message === undefined ? payload : JSON.stringify({ message })
  return { name: EXCEPTION + name, data: text, start, end, fields: undefined }
}

/** Type of a header -> the bytes of its value. Texts and bytes have their length before them. */
const SIZES: readonly (number | 'text')[] = [0, 0, 1, 2, 4, 8, 'text', 'text', 8, 16]
const STRING = 7

/** The headers with texts; undefined if they are not valid headers. */
const readHeaders = (bytes: Buffer): ReadonlyMap<string, string> | undefined => {
  const headers = new Map<string, string>()
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + (bytes[at] as number)
    const type = bytes[nameEnd]
    const size = type === undefined ? undefined : SIZES[type]
    if (size === undefined) return undefined
    const hasLength = size === 'text'
    const start = nameEnd + (hasLength ? 3 : 1)
    if (start > bytes.length) return undefined
    const end = start + (hasLength ? bytes.readUInt16BE(nameEnd + 1) : size)
    if (end > bytes.length) return undefined
    if (type === STRING)
      headers.set(bytes.toString('utf8', at + 1, nameEnd), bytes.toString('utf8', start, end))
    at = end
  }
  return headers
}

export const AWS_FRAMING: Framing = {
  isStream: ({ headers }) =>
    String(headers['content-type'] ?? '')
      .toLowerCase()
      .startsWith(CONTENT_TYPE),
  createSplitter: () => new FrameSplitter(),
  eventsIn: framesIn,
}

/** Encodes an event as a frame. */
export const writeFrame = (name: string, value: unknown, type = 'event'): Bytes => {
  const headers = Buffer.concat(
    Object.entries({
      [`:${type}-type`]: name,
      ':content-type': 'application/json',
      ':message-type': type,
    }).map(([key, text]) => writeHeader(key, text)),
  )
  const payload = Buffer.from(JSON.stringify(value))
  const frame = Buffer.alloc(PRELUDE + headers.length + payload.length + CHECKSUM)
  frame.writeUInt32BE(frame.length, 0)
  frame.writeUInt32BE(headers.length, 4)
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8)
  headers.copy(frame, PRELUDE)
  payload.copy(frame, PRELUDE + headers.length)
  const end = frame.length - CHECKSUM
  frame.writeUInt32BE(crc32(frame.subarray(0, end)), end)
  return frame
}
const writeHeader = (name: string, text: string): Buffer => {
  const [key, value] = [Buffer.from(name), Buffer.from(text)]
  return Buffer.concat([
    Buffer.from([key.length]),
    key,
    Buffer.from([STRING, value.length >> 8, value.length & 0xff]),
    value,
  ])
}
