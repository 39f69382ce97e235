/** Extracts one member from JSON in a stream of chunks without parsing the rest. Chunks may split
 *  anywhere; only the value is kept in memory. */
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
/** After this many bytes of a string, the closing quote is searched with the native `indexOf`; for
 *  shorter strings that call costs more than the loop. */
const LOOP_LENGTH = 24
/** A longer value is neither a usage record nor a name, and is discarded. */
const VALUE_LIMIT = 65_536

/** States of the search for the member. */
const SEARCHING = 0
const KEY_SEEN = 1
const COLON_SEEN = 2
const IN_VALUE = 3

export interface Span {
  readonly start: number
  readonly end: number
}

/** Matches members of the outermost object, or of objects in an outermost array. Deeper members may
 *  be the customer's own words (the arguments of a tool, say) and never match. The last match
 *  wins. */
export class FieldExtractor {
  readonly #key: Bytes
  #depth = 0
  /** The depth at which members match; 0 until the first bracket. */
  #matchDepth = 0
  #inString = false
  #isEscaped = false
  /** The next string at the matching depth is a key. */
  #expectsKey = false
  /** The number of bytes of the current key that match; -1: no match. */
  #matchLength = -1
  #state = SEARCHING
  #valueStart = 0
  #parts: Bytes[] = []
  #offset = 0
  #value: Bytes | undefined
  #span: Span | undefined

  constructor(key: Bytes) {
    this.#key = key
  }
  /** The bytes of the value. */
  get value(): Bytes | undefined {
    return this.#value
  }
  /** The position of the value in all bytes so far. */
  get span(): Span | undefined {
    return this.#span
  }
  /** The hot loop: reads byte by byte between strings and uses `indexOf` inside them. State that is
   *  read for every byte lives in local variables and is written back at the end of the chunk.
   *  `once`: stop at the first value. */
  push(chunk: Bytes, once = false): void {
    const { length } = chunk
    let depth = this.#depth
    let matchDepth = this.#matchDepth
    let expectsKey = this.#expectsKey
    let state = this.#state
    let at = 0
    if (this.#inString) {
      at = expectsKey ? this.#readKey(chunk, 0) : this.#skipString(chunk, 0)
      if (expectsKey && !this.#inString) {
        expectsKey = false
        if (this.#matchLength === this.#key.length) state = KEY_SEEN
      }
    }
    while (at < length) {
      const byte = chunk[at++] as number
      if (byte <= SPACE) continue
      if (byte === QUOTE) {
        if (expectsKey) {
          this.#matchLength = 0
          at = this.#readKey(chunk, at)
          if (this.#inString) break
          expectsKey = false
          if (this.#matchLength === this.#key.length) state = KEY_SEEN
          continue
        }
        if (state === COLON_SEEN) state = this.#beginValue(at - 1)
        at = this.#skipString(chunk, at)
      } else if (byte === COMMA) {
        if (depth !== matchDepth) continue
        if (state === IN_VALUE) {
          state = this.#endValue(chunk, at - 1)
          if (once) return
        }
        expectsKey = true
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (matchDepth === 0) matchDepth = byte === OPEN_ARRAY ? 2 : 1
        if (state === COLON_SEEN) state = this.#beginValue(at - 1)
        depth++
        expectsKey = depth === matchDepth && byte === OPEN_OBJECT
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (state === IN_VALUE && depth === matchDepth) state = this.#endValue(chunk, at - 1)
        depth--
        expectsKey = false
      } else if (byte === COLON) {
        if (state === KEY_SEEN) state = COLON_SEEN
      } else if (state === COLON_SEEN) state = this.#beginValue(at - 1)
    }
    this.#depth = depth
    this.#matchDepth = matchDepth
    this.#expectsKey = expectsKey
    this.#state = state
    if (state === IN_VALUE) this.#carryValue(chunk)
    this.#offset += length
  }
  /** Keys at the matching depth are short and are compared byte by byte. A key spelt with escapes
   *  does not match. */
  #readKey(chunk: Bytes, from: number): number {
    const key = this.#key
    let matchLength = this.#matchLength
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === QUOTE) {
        this.#matchLength = matchLength
        this.#inString = false
        return at + 1
      } else if (byte === BACKSLASH) this.#isEscaped = true
      matchLength = matchLength >= 0 && byte === key[matchLength] ? matchLength + 1 : -1
    }
    this.#matchLength = matchLength
    this.#inString = true
    return chunk.length
  }
  /** Returns the position after the closing quote, or the end of the chunk. */
  #skipString(chunk: Bytes, from: number): number {
    const { length } = chunk
    let at = this.#isEscaped ? from + 1 : from
    this.#isEscaped = false
    for (const near = Math.min(at + LOOP_LENGTH, length); at < near; at++) {
      const byte = chunk[at] as number
      if (byte === QUOTE) {
        this.#inString = false
        return at + 1
      }
      if (byte === BACKSLASH) at++
    }
    if (at > length) this.#isEscaped = true
    this.#inString = true
    return at < length ? this.#skipLong(chunk, at) : length
  }
  /** The byte before `start` is no backslash. A quote is escaped if an odd number of backslashes
   *  precedes it. */
  #skipLong(chunk: Bytes, start: number): number {
    for (let quote = chunk.indexOf(QUOTE, start); ; quote = chunk.indexOf(QUOTE, quote + 1)) {
      const end = quote < 0 ? chunk.length : quote
      let slashes = 0
      while (end - 1 - slashes >= start && chunk[end - 1 - slashes] === BACKSLASH) slashes++
      const isEscaped = slashes % 2 === 1
      if (quote < 0) {
        this.#isEscaped = isEscaped
        return chunk.length
      }
      if (!isEscaped) {
        this.#inString = false
        return quote + 1
      }
    }
  }
  #beginValue(at: number): number {
    this.#valueStart = this.#offset + at
    this.#parts = []
    return IN_VALUE
  }
  /** The value continues in the next chunk. */
  #carryValue(chunk: Bytes): void {
    this.#parts.push(chunk.subarray(Math.max(0, this.#valueStart - this.#offset)))
    if (this.#offset + chunk.length - this.#valueStart <= VALUE_LIMIT) return
    this.#parts = []
    this.#state = SEARCHING
  }
  /** The value ends before `end` in this chunk. */
  #endValue(chunk: Bytes, end: number): number {
    const last = chunk.subarray(Math.max(0, this.#valueStart - this.#offset), end)
    this.#span = { start: this.#valueStart, end: this.#offset + end }
    this.#value = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last])
    this.#parts = []
    return SEARCHING
  }
}
