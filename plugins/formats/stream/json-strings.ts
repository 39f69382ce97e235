/** Reads past JSON strings in a stream of chunks that may split anywhere, and compares keys. */
import type { Bytes } from '../../../engine/plugin.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** After this many bytes of a string, the closing quote is searched with the native `indexOf`; for
 *  shorter strings that call costs more than the loop. */
const LOOP_LENGTH = 24

export class JsonStrings {
  readonly #key: Bytes
  #isOpen = false
  #isEscaped = false
  /** The number of bytes of the current key that match; -1: no match. */
  #matchLength = -1

  /** `key`: the bytes that keys are compared with. */
  constructor(key: Bytes) {
    this.#key = key
  }
  /** Whether the last chunk ended inside a string. */
  get isOpen(): boolean {
    return this.#isOpen
  }
  /** Whether the last complete key matches. */
  get isMatch(): boolean {
    return this.#matchLength === this.#key.length
  }
  /** Reads a key from the position after its opening quote; like `continueKey` otherwise. */
  readKey(chunk: Bytes, from: number): number {
    this.#matchLength = 0
    return this.continueKey(chunk, from)
  }
  /** Returns the position after the closing quote, or the end of the chunk. Keys at the matching
   *  depth are short and are compared byte by byte. A key spelt with escapes does not match. */
  continueKey(chunk: Bytes, from: number): number {
    const key = this.#key
    let matchLength = this.#matchLength
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === QUOTE) {
        this.#matchLength = matchLength
        this.#isOpen = false
        return at + 1
      } else if (byte === BACKSLASH) this.#isEscaped = true
      matchLength = matchLength >= 0 && byte === key[matchLength] ? matchLength + 1 : -1
    }
    this.#matchLength = matchLength
    this.#isOpen = true
    return chunk.length
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
