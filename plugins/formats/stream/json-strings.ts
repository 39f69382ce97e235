/** Reads past JSON strings in a stream of chunks that may split anywhere, and compares keys with a
 *  few that are searched. */
import type { Bytes } from '../../../engine/plugin.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** After this many bytes of a string, the closing quote is searched with the native `indexOf`; for
 *  shorter strings that call costs more than the loop. */
const LOOP_LENGTH = 24

export class JsonStrings {
  readonly #keys: readonly Bytes[]
  #isOpen = false
  #isEscaped = false
  /** The index of the searched key that the last complete key is; -1: none. */
  #match = -1
  /** The bytes of a key that earlier chunks hold. */
  #keyBefore: Bytes | undefined

  /** `keys`: the bytes that keys are compared with. */
  constructor(keys: readonly Bytes[]) {
    this.#keys = keys
  }
  /** Whether the last chunk ended inside a string. */
  get isOpen(): boolean {
    return this.#isOpen
  }
  /** The index of the searched key that the last complete key matches; -1: none. */
  get match(): number {
    return this.#match
  }
  /** Reads a key from the position after its opening quote; like `continueKey` otherwise. */
  readKey(chunk: Bytes, from: number): number {
    this.#keyBefore = undefined
    return this.continueKey(chunk, from)
  }
  /** Returns the position after the closing quote, or the end of the chunk. Keys at the matching
   *  depth are short and are read byte by byte. A key spelt with escapes does not match. */
  continueKey(chunk: Bytes, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === QUOTE) {
        this.#isOpen = false
        this.#match = this.#keyBefore
          ? this.#find(Buffer.concat([this.#keyBefore, chunk.subarray(from, at)]), 0, -1)
          : this.#find(chunk, from, at)
        return at + 1
      } else if (byte === BACKSLASH) this.#isEscaped = true
    }
    const rest = chunk.subarray(from)
    this.#keyBefore = this.#keyBefore ? Buffer.concat([this.#keyBefore, rest]) : rest
    this.#isOpen = true
    return chunk.length
  }
  /** `end`: of the key in `bytes`; -1: their end. */
  #find(bytes: Bytes, from: number, end: number): number {
    const keys = this.#keys
    const length = (end < 0 ? bytes.length : end) - from
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as Bytes
      if (key.length !== length) continue
      let at = 0
      while (at < length && bytes[from + at] === key[at]) at++
      if (at === length) return index
    }
    return -1
  }
  /** Skips a string, or the rest of one. Returns the position after the closing quote, or the end
   *  of the chunk. */
  skip(chunk: Bytes, from: number): number {
    const { length } = chunk
    let at = this.#isEscaped ? from + 1 : from
    this.#isEscaped = false
    for (const near = Math.min(at + LOOP_LENGTH, length); at < near; at++) {
      const byte = chunk[at] as number
      if (byte === QUOTE) {
        this.#isOpen = false
        return at + 1
      }
      if (byte === BACKSLASH) at++
    }
    if (at > length) this.#isEscaped = true
    this.#isOpen = true
    return at < length ? this.#skipLong(chunk, at) : length
  }
  /** The byte at `start` is not escaped. A quote is escaped if an odd number of backslashes
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
        this.#isOpen = false
        return quote + 1
      }
    }
  }
}
