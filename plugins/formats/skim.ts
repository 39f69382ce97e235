/** Finds one member of a JSON text on its way, without parsing the rest: any chunk boundary, memory for the value only. */
import type { Bytes } from '../../engine/plugin.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACE = 0x20
/** In strings longer than this the closing quote is looked for natively; below, the call costs more than the loop. */
const SHORT = 24
/** A value longer than this is no usage record and no name: it is let go. */
const VALUE_LIMIT = 65_536

/** Where in the member looked for the text stands. */
const ELSEWHERE = 0
const KEY_SEEN = 1
const COLON_SEEN = 2
const IN_VALUE = 3

export interface Span {
  readonly start: number
  readonly end: number
}

/** Only members of the outermost object count, or of the objects in an outermost array. What stands deeper may be the
 *  customer's own words (a tool's arguments, say) and is never taken for the upstream's. Of several, the last counts. */
export class Skimmer {
  readonly #key: Bytes
  #depth = 0
  /** The depth at which members count; 0 until the first bracket. */
  #level = 0
  #inString = false
  #escaped = false
  /** The next string at our level is a key. */
  #wantsKey = false
  /** Bytes of the key at hand that fit; -1 = it is another. */
  #fits = -1
  #place = ELSEWHERE
  #from = 0
  #parts: Bytes[] = []
  #passed = 0
  #value: Bytes | undefined
  #span: Span | undefined

  constructor(key: Bytes) {
    this.#key = key
  }
  /** The bytes of the value. */
  get value(): Bytes | undefined {
    return this.#value
  }
  /** Where they stand in all that was pushed. */
  get span(): Span | undefined {
    return this.#span
  }
  /** The hot loop: a byte at a time between strings, inside them as far as `indexOf` jumps. What it looks at for every
   *  byte stands in local variables, written back at the end of the chunk. `once`: the first value is enough, and the
   *  rest is not looked at. */
  push(chunk: Bytes, once = false): void {
    const { length } = chunk
    let depth = this.#depth
    let level = this.#level
    let wantsKey = this.#wantsKey
    let place = this.#place
    let at = 0
    if (this.#inString) {
      at = wantsKey ? this.#readKey(chunk, 0) : this.#skipString(chunk, 0)
      if (wantsKey && !this.#inString) {
        wantsKey = false
        if (this.#fits === this.#key.length) place = KEY_SEEN
      }
    }
    while (at < length) {
      const byte = chunk[at++] as number
      if (byte <= SPACE) continue
      if (byte === QUOTE) {
        if (wantsKey) {
          this.#fits = 0
          at = this.#readKey(chunk, at)
          if (this.#inString) break
          wantsKey = false
          if (this.#fits === this.#key.length) place = KEY_SEEN
          continue
        }
        if (place === COLON_SEEN) place = this.#begin(at - 1)
        at = this.#skipString(chunk, at)
      } else if (byte === COMMA) {
        if (depth !== level) continue
        if (place === IN_VALUE) {
          place = this.#keep(chunk, at - 1)
          if (once) return
        }
        wantsKey = true
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (level === 0) level = byte === OPEN_ARRAY ? 2 : 1
        if (place === COLON_SEEN) place = this.#begin(at - 1)
        depth++
        wantsKey = depth === level && byte === OPEN_OBJECT
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (place === IN_VALUE && depth === level) place = this.#keep(chunk, at - 1)
        depth--
        wantsKey = false
      } else if (byte === COLON) {
        if (place === KEY_SEEN) place = COLON_SEEN
      } else if (place === COLON_SEEN) place = this.#begin(at - 1)
    }
    this.#depth = depth
    this.#level = level
    this.#wantsKey = wantsKey
    this.#place = place
    if (place === IN_VALUE) this.#carry(chunk)
    this.#passed += length
  }
  /** Keys at our level, byte by byte: they are short. A key spelt with escapes does not fit. */
  #readKey(chunk: Bytes, from: number): number {
    const key = this.#key
    let fits = this.#fits
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (this.#escaped) this.#escaped = false
      else if (byte === QUOTE) {
        this.#fits = fits
        this.#inString = false
        return at + 1
      } else if (byte === BACKSLASH) this.#escaped = true
      fits = fits >= 0 && byte === key[fits] ? fits + 1 : -1
    }
    this.#fits = fits
    this.#inString = true
    return chunk.length
  }
  /** To behind the closing quote, or to the end of the chunk. */
  #skipString(chunk: Bytes, from: number): number {
    const { length } = chunk
    let at = this.#escaped ? from + 1 : from
    this.#escaped = false
    for (const near = Math.min(at + SHORT, length); at < near; at++) {
      const byte = chunk[at] as number
      if (byte === QUOTE) {
        this.#inString = false
        return at + 1
      }
      if (byte === BACKSLASH) at++
    }
    if (at > length) this.#escaped = true
    this.#inString = true
    return at < length ? this.#skipLong(chunk, at) : length
  }
  /** `start` is not behind a backslash: quotes are, when an odd number of them stands before. */
  #skipLong(chunk: Bytes, start: number): number {
    for (let quote = chunk.indexOf(QUOTE, start); ; quote = chunk.indexOf(QUOTE, quote + 1)) {
      const end = quote < 0 ? chunk.length : quote
      let slashes = 0
      while (end - 1 - slashes >= start && chunk[end - 1 - slashes] === BACKSLASH) slashes++
      const escaped = slashes % 2 === 1
      if (quote < 0) {
        this.#escaped = escaped
        return chunk.length
      }
      if (!escaped) {
        this.#inString = false
        return quote + 1
      }
    }
  }
  #begin(at: number): number {
    this.#from = this.#passed + at
    this.#parts = []
    return IN_VALUE
  }
  /** The value goes on in the next chunk. */
  #carry(chunk: Bytes): void {
    this.#parts.push(chunk.subarray(Math.max(0, this.#from - this.#passed)))
    if (this.#passed + chunk.length - this.#from <= VALUE_LIMIT) return
    this.#parts = []
    this.#place = ELSEWHERE
  }
  /** The value ends before `end` of this chunk. */
  #keep(chunk: Bytes, end: number): number {
    const last = chunk.subarray(Math.max(0, this.#from - this.#passed), end)
    this.#span = { start: this.#from, end: this.#passed + end }
    this.#value = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last])
    this.#parts = []
    return ELSEWHERE
  }
}
