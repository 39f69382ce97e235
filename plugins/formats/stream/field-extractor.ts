/** Extracts members from JSON in a stream of chunks without parsing the rest. Chunks may split
 *  anywhere; only the values are kept in memory. */
import type { Bytes } from '../../../engine/plugin.ts'
import { JsonStrings } from './json-strings.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACE = 0x20
/** A longer value is neither a usage record nor a name, and is discarded. */
const VALUE_LIMIT = 65_536

/** States of the search for the member. */
const SEARCHING = 0
const AFTER_KEY = 1
const AFTER_COLON = 2
const IN_VALUE = 3

export interface Span {
  readonly start: number
  readonly end: number
}

/** Matches members of the outermost object, or of objects in an outermost array. Deeper members may
 *  come from the customer (such as the arguments of a tool) and never match. The last match
 *  wins. */
export class FieldExtractor {
  readonly #strings: JsonStrings
  readonly #captures: readonly ValueCapture[]
  /** The capture of the value that is read. */
  #capture: ValueCapture
  /** Bytes before the current chunk. */
  #offset = 0
  #depth = 0
  /** The depth at which members match; 0 until the first bracket. */
  #matchDepth = 0
  /** The next string at the matching depth is a key. */
  #expectsKey = false
  #state = SEARCHING
  /** Text before or after the outermost value. */
  #isForeign = false

  /** `more`: keys of further members. */
  constructor(key: Bytes, more: readonly Bytes[] = NO_KEYS) {
    const capture = new ValueCapture()
    this.#strings = new JsonStrings(more.length === 0 ? [key] : [key, ...more])
    const captures = [capture]
    for (let index = 0; index < more.length; index++) captures.push(new ValueCapture())
    this.#captures = captures
    this.#capture = capture
  }
  /** The bytes of the value. */
  get value(): Bytes | undefined {
    return this.#captures[0]?.value
  }
  /** The bytes of the value of a further member, by its position among them. */
  valueAt(index: number): Bytes | undefined {
    return this.#captures[index + 1]?.value
  }
  /** Whether the bytes so far are exactly one JSON object or array. Checks that brackets and
   *  strings are closed, not the syntax between them. */
  get isWhole(): boolean {
    return this.#matchDepth > 0 && this.#depth === 0 && !this.#isForeign && !this.#strings.isOpen
  }
  /** Whether a byte so far lies outside of the JSON object or array: the answer is not JSON. */
  get isForeign(): boolean {
    return this.#isForeign
  }
  /** The position of the value in all bytes so far. */
  get span(): Span | undefined {
    return this.#captures[0]?.span
  }
  /** The hot loop: reads byte by byte between strings and uses `indexOf` inside them. State that is
   *  read for every byte lives in local variables and is written back at the end of the chunk.
   *  `once`: stop at the first value. */
  push(chunk: Bytes, once = false): void {
    const { length } = chunk
    const strings = this.#strings
    let depth = this.#depth
    let matchDepth = this.#matchDepth
    let expectsKey = this.#expectsKey
    let state = this.#state
    let at = 0
    if (strings.isOpen) {
      at = expectsKey ? strings.continueKey(chunk, 0) : strings.skip(chunk, 0)
      if (expectsKey && !strings.isOpen) {
        expectsKey = false
        state = this.#endKey(state)
      }
    }
    while (at < length) {
      const byte = chunk[at++] as number
      if (byte <= SPACE) continue
      if (byte === QUOTE) {
        if (expectsKey) {
          at = strings.readKey(chunk, at)
          if (strings.isOpen) break
          expectsKey = false
          state = this.#endKey(state)
          continue
        }
        if (state === AFTER_COLON) state = this.#beginValue(at - 1)
        at = strings.skip(chunk, at)
      } else if (byte === COMMA) {
        if (depth !== matchDepth) continue
        if (state === IN_VALUE) {
          state = this.#endValue(chunk, at - 1)
          if (once) return
        }
        expectsKey = true
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (matchDepth === 0) matchDepth = byte === OPEN_ARRAY ? 2 : 1
        else if (depth === 0) this.#isForeign = true
        if (state === AFTER_COLON) state = this.#beginValue(at - 1)
        depth++
        expectsKey = depth === matchDepth && byte === OPEN_OBJECT
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (state === IN_VALUE && depth === matchDepth) state = this.#endValue(chunk, at - 1)
        if (--depth < 0) this.#isForeign = true
        expectsKey = false
      } else if (byte === COLON) {
        if (state === AFTER_KEY) state = AFTER_COLON
      } else if (state === AFTER_COLON) state = this.#beginValue(at - 1)
      // A byte order mark is not text.
      else if (depth === 0 && byte < 0x80) this.#isForeign = true
    }
    this.#depth = depth
    this.#matchDepth = matchDepth
    this.#expectsKey = expectsKey
    this.#state =
      state === IN_VALUE && !this.#capture.carry(chunk, this.#offset) ? SEARCHING : state
    this.#offset += length
  }
  #endKey(state: number): number {
    const capture = this.#captures[this.#strings.match]
    if (!capture) return state
    this.#capture = capture
    return AFTER_KEY
  }
  #beginValue(at: number): number {
    this.#capture.begin(this.#offset + at)
    return IN_VALUE
  }
  #endValue(chunk: Bytes, end: number): number {
    this.#capture.end(chunk, end, this.#offset)
    return SEARCHING
  }
}

const NO_KEYS: readonly Bytes[] = []

/** The bytes and the position of the last value of one member. */
class ValueCapture {
  value: Bytes | undefined
  span: Span | undefined
  #start = 0
  #parts: Bytes[] = []

  /** The value begins at this position of all bytes. */
  begin(start: number): void {
    this.#start = start
    this.#parts = []
  }
  /** The value continues in the next chunk. Returns false, and discards it, if it is too long.
   *  `offset`: bytes before this chunk. */
  carry(chunk: Bytes, offset: number): boolean {
    this.#parts.push(this.#inChunk(chunk, chunk.length, offset))
    if (offset + chunk.length - this.#start <= VALUE_LIMIT) return true
    this.#parts = []
    return false
  }
  /** The value ends before `end` in the current chunk. */
  end(chunk: Bytes, end: number, offset: number): void {
    const last = this.#inChunk(chunk, end, offset)
    this.span = { start: this.#start, end: offset + end }
    this.value = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last])
    this.#parts = []
  }
  #inChunk(chunk: Bytes, end: number, offset: number): Bytes {
    return chunk.subarray(Math.max(0, this.#start - offset), end)
  }
}
