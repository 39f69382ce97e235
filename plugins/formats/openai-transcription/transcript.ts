/** Derives the duration of speech from a transcript: by its duration, its last time stamp, or the
 *  amount of text. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import { lenientText, quantity } from '../fields.ts'
import { eventFields } from '../format.ts'
import { FieldExtractor } from '../stream/field-extractor.ts'
import { eventsIn } from '../stream/sse.ts'

/** Speech is about 15 bytes of text per second, in Latin and Chinese script. */
const BYTES_PER_SECOND = 15
/** The end of a subtitle cue: `--> 00:01:02,500`, in WebVTT possibly without hours. */
const CUE = /--> *(?:(\d{2,3}):)?(\d{2}):(\d{2})[.,](\d{3})/g
/** Longer than any match that a chunk boundary may split. */
const MAX_MATCH = 32

export class Transcript {
  readonly #reader: Reader
  constructor(type: string) {
    this.#reader = READERS.find(([pattern]) => pattern.test(type))?.[1]() ?? new TextReader()
  }
  observe(chunk: Bytes): void {
    this.#reader.observe(chunk)
  }
  /** The duration that the upstream names. */
  get duration(): number | undefined {
    return this.#reader.duration || undefined
  }
  /** A lower bound; undefined before the first text. */
  get seconds(): number | undefined {
    const { bytes, end } = this.#reader
    return bytes === 0 ? undefined : (end ?? bytes / BYTES_PER_SECOND)
  }
  /** Bytes of text. */
  get bytes(): number {
    return this.#reader.bytes
  }
}

interface Reader {
  observe(chunk: Bytes): void
  readonly bytes: number
  /** Seconds. */
  readonly end?: number | undefined
  readonly duration?: number | undefined
}

/** Plain text and subtitles. */
class TextReader implements Reader {
  bytes = 0
  end: number | undefined
  #carry = ''
  observe(chunk: Bytes): void {
    this.bytes += chunk.length
    const text = this.#carry + asBuffer(chunk).toString('latin1')
    for (const [, hours = '0', minutes, seconds, milliseconds] of text.matchAll(CUE))
      this.end = Math.max(
        this.end ?? 0,
        Number(hours) * 3_600 + Number(minutes) * 60 + Number(`${seconds}.${milliseconds}`),
      )
    this.#carry = text.slice(-MAX_MATCH)
  }
}

/** JSON with a `duration`. */
class JsonReader implements Reader {
  bytes = 0
  readonly #extractor = new FieldExtractor(Buffer.from('duration'))
  observe(chunk: Bytes): void {
    this.bytes += chunk.length
    this.#extractor.push(chunk)
  }
  get duration(): number {
    const { value } = this.#extractor
    // Some upstreams send the number as a string.
    return quantity(value && Number(Buffer.from(value).toString().replaceAll('"', '')))
  }
}

class Events implements Reader {
  bytes = 0
  end: number | undefined
  observe(chunk: Bytes): void {
    for (const event of eventsIn(chunk)) {
      const fields = eventFields(event)
      if (!fields) continue
      if (fields.type === 'transcript.text.delta')
        this.bytes += Buffer.byteLength(lenientText(fields, 'delta') ?? '')
      if (quantity(fields.end) > 0) this.end = Math.max(this.end ?? 0, quantity(fields.end))
    }
  }
}

const READERS: readonly (readonly [type: RegExp, make: () => Reader])[] = [
  [/\bjson\b/i, () => new JsonReader()],
  [/^text\/event-stream/i, () => new Events()],
]
