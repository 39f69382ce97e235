/** How long was spoken, as far as a transcript tells: by a duration, by its last time stamp, by how much was said. */
import type { Bytes } from '../../../engine/plugin.ts'
import { quantity, wordIn } from '../fields.ts'
import { fieldsOf } from '../format.ts'
import { Skimmer } from '../skim.ts'
import { eventsIn } from '../sse.ts'

/** People say about 15 bytes of text in a second, in Latin letters and in Chinese. */
const SPEECH = 15
/** The end of a line in a file of subtitles: `--> 00:01:02,500`, or without hours in WebVTT. */
const CUE = /--> *(?:(\d{2,3}):)?(\d{2}):(\d{2})[.,](\d{3})/g
/** More than the longest match that a chunk may cut. */
const CARRY = 32

export class Transcript {
  readonly #reader: Reader
  constructor(type: string) {
    this.#reader = READERS.find(([pattern]) => pattern.test(type))?.[1]() ?? new TextReader()
  }
  saw(chunk: Bytes): void {
    this.#reader.saw(chunk)
  }
  /** The upstream's own word for it. */
  get duration(): number | undefined {
    return this.#reader.duration || undefined
  }
  /** At least; undefined: nothing has come yet. */
  get seconds(): number | undefined {
    const { bytes, end } = this.#reader
    return bytes === 0 ? undefined : (end ?? bytes / SPEECH)
  }
  /** Of text. */
  get bytes(): number {
    return this.#reader.bytes
  }
}

interface Reader {
  saw(chunk: Bytes): void
  readonly bytes: number
  /** Seconds. */
  readonly end?: number | undefined
  readonly duration?: number | undefined
}

/** Plain text, and subtitles. */
class TextReader implements Reader {
  bytes = 0
  end: number | undefined
  #carry = ''
  saw(chunk: Bytes): void {
    this.bytes += chunk.length
    const text =
      this.#carry + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
    for (const [, hours = '0', minutes, seconds, milliseconds] of text.matchAll(CUE))
      this.end = Math.max(
        this.end ?? 0,
        Number(hours) * 3_600 + Number(minutes) * 60 + Number(`${seconds}.${milliseconds}`),
      )
    this.#carry = text.slice(-CARRY)
  }
}

/** JSON of which one word is looked for. */
class JsonReader implements Reader {
  bytes = 0
  readonly #skimmer = new Skimmer(Buffer.from('duration'))
  saw(chunk: Bytes): void {
    this.bytes += chunk.length
    this.#skimmer.push(chunk)
  }
  get duration(): number {
    const { value } = this.#skimmer
    // Some write it as a text.
    return quantity(value && Number(Buffer.from(value).toString().replaceAll('"', '')))
  }
}

class Events implements Reader {
  bytes = 0
  end: number | undefined
  saw(chunk: Bytes): void {
    for (const event of eventsIn(chunk)) {
      const fields = fieldsOf(event)
      if (!fields) continue
      if (fields.type === 'transcript.text.delta')
        this.bytes += Buffer.byteLength(wordIn(fields, 'delta') ?? '')
      if (quantity(fields.end) > 0) this.end = Math.max(this.end ?? 0, quantity(fields.end))
    }
  }
}

const READERS: readonly (readonly [type: RegExp, make: () => Reader])[] = [
  [/\bjson\b/i, () => new JsonReader()],
  [/^text\/event-stream/i, () => new Events()],
]
