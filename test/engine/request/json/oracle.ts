/** The check of JSON bodies in its first form, byte by byte: an oracle for the faster one. */
import { isUtf8 } from 'node:buffer'
import { asBuffer } from '../../../../engine/kit.ts'
import type { Bytes, Json } from '../../../../engine/plugin.ts'
import { fault, LIMITS } from '../../../../engine/request/json/faults.ts'

export const parseSlowly = (bytes: Bytes, limits = LIMITS): Json => {
  if (bytes.length === 0) throw fault('BODY_EMPTY')
  if (!isUtf8(bytes)) throw fault('BODY_NOT_UTF8')
  const buffer = asBuffer(bytes)
  scan(buffer, limits)
  try {
    return JSON.parse(buffer.toString()) as Json
  } catch (error) {
    throw fault('BODY_NOT_JSON', [reasonOf(error)])
  }
}

/** Removes the input that V8 quotes in its message: the customer needs the place only. */
const reasonOf = (error: unknown): string =>
  (error as Error).message.replace(/, (?:\.\.\.)?".*$/s, '').replace(' in JSON', '')

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
/** Longer strings are skipped by `indexOf` (native), shorter ones in the loop. */
const SHORT_STRING = 32
/** Objects with more keys than this are compared through a set of strings instead of one by one. */
const FEW_KEYS = 24

/** The keys of the open objects: few are compared by hash, many as strings, which cannot be made to
 *  collide. Positions are stored, since views of the bytes would cost more. */
class OpenKeys {
  readonly #bytes: Buffer
  /** Three numbers a key: start, end, hash. Of all open objects, the innermost last. */
  readonly #positions: number[] = []
  /** Index of the innermost object's first key, and its keys once they are strings. */
  #first = 0
  #names: Set<string> | undefined
  readonly #outer: (number | Set<string> | undefined)[] = []
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }
  openObject(): void {
    this.#outer.push(this.#first, this.#names)
    this.#first = this.#positions.length
    this.#names = undefined
  }
  closeObject(): void {
    this.#positions.length = this.#first
    this.#names = this.#outer.pop() as Set<string> | undefined
    this.#first = this.#outer.pop() as number
  }
  /** Number of keys of the innermost object. */
  get size(): number {
    return this.#names?.size ?? (this.#positions.length - this.#first) / 3
  }
  /** Adds the key at start..end (inside its quotes). */
  add(start: number, end: number, hasEscapes: boolean): void {
    const length = end - start
    if (hasEscapes) return this.#addText(decodeKey(this.#bytes, start, end))
    if ((length === 9 || length === 11) && FORBIDDEN.has(this.#text(start, end)))
      throw fault('BODY_FORBIDDEN_KEY', [quote(this.#text(start, end))])
    if (this.#names) return this.#addText(this.#text(start, end))
    if (!this.#addByHash(start, end))
      throw fault('BODY_DUPLICATE_KEY', [quote(this.#text(start, end))])
  }
  /** Compares a key with escapes by its decoded text. */
  #addText(text: string): void {
    if (FORBIDDEN.has(text)) throw fault('BODY_FORBIDDEN_KEY', [quote(text)])
    const names = this.#useNames()
    const { size } = names
    if (names.add(text).size === size) throw fault('BODY_DUPLICATE_KEY', [quote(text)])
  }
  #addByHash(start: number, end: number): boolean {
    const positions = this.#positions
    const hash = this.#hash(start, end)
    for (let at = this.#first; at < positions.length; at += 3)
      if (
        positions[at + 2] === hash &&
        this.#equal(positions[at] as number, positions[at + 1] as number, start, end)
      )
        return false
    positions.push(start, end, hash)
    if (positions.length - this.#first > FEW_KEYS * 3) this.#useNames()
    return true
  }
  /** Compares the keys of this object as strings from now on. */
  #useNames(): Set<string> {
    if (this.#names) return this.#names
    const positions = this.#positions
    const names = new Set<string>()
    for (let at = this.#first; at < positions.length; at += 3)
      names.add(this.#text(positions[at] as number, positions[at + 1] as number))
    this.#names = names
    return names
  }
  #text(start: number, end: number): string {
    return this.#bytes.toString('utf8', start, end)
  }
  #hash(start: number, end: number): number {
    const bytes = this.#bytes
    let hash = 0x811c9dc5 // FNV-1a
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
    return hash
  }
  #equal(start: number, end: number, from: number, to: number): boolean {
    return this.#bytes.compare(this.#bytes, from, to, start, end) === 0
  }
}
const quote = (text: string): string => JSON.stringify(text.slice(0, 64))
const decodeKey = (bytes: Buffer, start: number, end: number): string => {
  try {
    return JSON.parse(bytes.toString('utf8', start - 1, end + 1)) as string
  } catch (error) {
    throw fault('BODY_NOT_JSON', [reasonOf(error)])
  }
}
const FORBIDDEN = new Set(['__proto__', 'constructor'])

/** Skips strings, compares keys within their object, leaves malformed JSON to the parser. */
const scan = (bytes: Buffer, limits: typeof LIMITS): void => {
  const keys = new OpenKeys(bytes)
  /** Whether each enclosing value is an object, and whether the present one is. */
  const outer: boolean[] = []
  let inObject = false
  let wantsKey = false
  let total = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      const start = at + 1
      let hasEscapes = false
      at++
      for (
        const near = at + SHORT_STRING;
        at < near && bytes[at] !== QUOTE && at < bytes.length;
        at++
      )
        if (bytes[at] === BACKSLASH) {
          hasEscapes = true
          at++
        }
      if (bytes[at] !== QUOTE) {
        const end = closingQuote(bytes, at)
        if (end < 0) return
        if (wantsKey && !hasEscapes) hasEscapes = bytes.subarray(start, end).includes(BACKSLASH)
        at = end
      }
      if (wantsKey) {
        if (++total > limits.keys) throw fault('BODY_TOO_MANY_KEYS', [limits.keys, 'in all'])
        if (keys.size >= limits.keysPerObject)
          throw fault('BODY_TOO_MANY_KEYS', [limits.keysPerObject, 'in one object'])
        keys.add(start, at, hasEscapes)
        wantsKey = false
      }
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (outer.push(inObject) > limits.depth) throw fault('BODY_TOO_DEEP', [limits.depth])
      inObject = byte === OPEN_OBJECT
      wantsKey = inObject
      if (inObject) keys.openObject()
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (inObject) keys.closeObject()
      inObject = outer.pop() ?? false
      wantsKey = false
    } else if (byte === COMMA) wantsKey = inObject
    else if (byte === COLON) wantsKey = false
  }
}

/** Finds the closing quote of the string around `at`; -1 when there is none. */
const closingQuote = (bytes: Buffer, at: number): number => {
  for (let quote = bytes.indexOf(QUOTE, at); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let slashes = 0
    while (quote - 1 - slashes >= at && bytes[quote - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote
  }
  return -1
}
