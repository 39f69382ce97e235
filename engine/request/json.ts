/** JSON bodies read with suspicion: one pass over the bytes before `JSON.parse`, so that no input can hurt by its shape. */
import { isUtf8 } from 'node:buffer'
import { errors } from '../errors.ts'
import { asBuffer } from '../kit.ts'
import type { Bytes, Json } from '../plugin.ts'

const fault = errors({
  BODY_NOT_UTF8: [400, 'The request body is not valid UTF-8.'],
  BODY_NOT_JSON: [400, 'The request body is not valid JSON: %s.'],
  BODY_EMPTY: [400, 'The request has no body; this route expects JSON.'],
  BODY_TOO_DEEP: [400, 'The JSON body is nested deeper than %d levels.'],
  BODY_TOO_MANY_KEYS: [400, 'The JSON body has more than %d keys %s.'],
  BODY_DUPLICATE_KEY: [400, 'The JSON body has the key %s twice in one object.'],
  BODY_FORBIDDEN_KEY: [400, 'The JSON body has the key %s, which is not accepted.'],
})

interface JsonLimits {
  readonly depth: number
  readonly keysPerObject: number
  readonly keys: number
}
const LIMITS: JsonLimits = { depth: 64, keysPerObject: 10_000, keys: 100_000 }

export const parseJson = (bytes: Bytes, limits = LIMITS): Json => {
  if (bytes.length === 0) throw fault('BODY_EMPTY')
  if (!isUtf8(bytes)) throw fault('BODY_NOT_UTF8')
  const buffer = asBuffer(bytes)
  scan(buffer, limits)
  try {
    return JSON.parse(buffer.toString()) as Json
  } catch (thrown) {
    throw fault('BODY_NOT_JSON', [reason(thrown)])
  }
}

/** V8 quotes the input in its message; the customer needs the place, not the text again. */
const reason = (thrown: unknown): string =>
  (thrown as Error).message.replace(/, (?:\.\.\.)?".*$/s, '').replace(' in JSON', '')

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
/** Strings longer than this are skipped by `indexOf` (native), shorter ones in the loop, where a call would cost more. */
const SHORT = 32
/** Objects with more keys than this are compared through a set of strings instead of one by one. */
const FEW = 24

/** The keys of the objects that are open: few are compared by hash, many as strings, whose hashes nobody can collide.
 *  Where a key stands is kept as numbers: a view of its bytes for each would cost more than the whole pass. */
class Keys {
  readonly #bytes: Buffer
  /** By threes: where a key starts, where it ends, its hash. Of all open objects, the innermost last. */
  readonly #places: number[] = []
  /** Where those of the innermost object begin, and its keys once they are strings; then those of the outer ones. */
  #from = 0
  #seen: Set<string> | undefined
  readonly #outer: (number | Set<string> | undefined)[] = []
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }
  /** An object begins. */
  enter(): void {
    this.#outer.push(this.#from, this.#seen)
    this.#from = this.#places.length
    this.#seen = undefined
  }
  /** The innermost object ends. */
  leave(): void {
    this.#places.length = this.#from
    this.#seen = this.#outer.pop() as Set<string> | undefined
    this.#from = this.#outer.pop() as number
  }
  /** How many the innermost object has. */
  get size(): number {
    return this.#seen?.size ?? (this.#places.length - this.#from) / 3
  }
  /** Adds the key at start..end (inside its quotes). */
  add(start: number, end: number, escaped: boolean): void {
    const length = end - start
    if (escaped) return this.#addText(decodeKey(this.#bytes, start, end))
    if ((length === 9 || length === 11) && FORBIDDEN.has(this.#text(start, end)))
      throw fault('BODY_FORBIDDEN_KEY', [quote(this.#text(start, end))])
    if (this.#seen) return this.#addText(this.#text(start, end))
    if (!this.#addToFew(start, end))
      throw fault('BODY_DUPLICATE_KEY', [quote(this.#text(start, end))])
  }
  /** A key spelt with escapes is compared by what it means. */
  #addText(text: string): void {
    if (FORBIDDEN.has(text)) throw fault('BODY_FORBIDDEN_KEY', [quote(text)])
    const seen = this.#all()
    const { size } = seen
    if (seen.add(text).size === size) throw fault('BODY_DUPLICATE_KEY', [quote(text)])
  }
  #addToFew(start: number, end: number): boolean {
    const places = this.#places
    const hash = this.#hash(start, end)
    for (let at = this.#from; at < places.length; at += 3)
      if (
        places[at + 2] === hash &&
        this.#same(places[at] as number, places[at + 1] as number, start, end)
      )
        return false
    places.push(start, end, hash)
    if (places.length - this.#from > FEW * 3) this.#all()
    return true
  }
  /** From now on as strings. */
  #all(): Set<string> {
    if (this.#seen) return this.#seen
    const places = this.#places
    const seen = new Set<string>()
    for (let at = this.#from; at < places.length; at += 3)
      seen.add(this.#text(places[at] as number, places[at + 1] as number))
    this.#seen = seen
    return seen
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
  #same(start: number, end: number, from: number, to: number): boolean {
    return this.#bytes.compare(this.#bytes, from, to, start, end) === 0
  }
}
const quote = (text: string): string => JSON.stringify(text.slice(0, 64))
const decodeKey = (bytes: Buffer, start: number, end: number): string => {
  try {
    return JSON.parse(bytes.toString('utf8', start - 1, end + 1)) as string
  } catch (thrown) {
    throw fault('BODY_NOT_JSON', [reason(thrown)])
  }
}
const FORBIDDEN = new Set(['__proto__', 'constructor'])

/** One pass; strings are skipped, keys compared within their object. Malformed JSON is left for the parser to name. */
const scan = (bytes: Buffer, limits: JsonLimits): void => {
  const keys = new Keys(bytes)
  /** Whether each of those that are open stands in an object, and whether we do. */
  const outer: boolean[] = []
  let inObject = false
  let wantsKey = false
  let total = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      const start = at + 1
      let escaped = false
      at++
      for (const near = at + SHORT; at < near && bytes[at] !== QUOTE && at < bytes.length; at++)
        if (bytes[at] === BACKSLASH) {
          escaped = true
          at++
        }
      if (bytes[at] !== QUOTE) {
        const end = closing(bytes, at)
        if (end < 0) return
        if (wantsKey && !escaped) escaped = bytes.subarray(start, end).includes(BACKSLASH)
        at = end
      }
      if (wantsKey) {
        if (++total > limits.keys) throw fault('BODY_TOO_MANY_KEYS', [limits.keys, 'in all'])
        if (keys.size >= limits.keysPerObject)
          throw fault('BODY_TOO_MANY_KEYS', [limits.keysPerObject, 'in one object'])
        keys.add(start, at, escaped)
        wantsKey = false
      }
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (outer.push(inObject) > limits.depth) throw fault('BODY_TOO_DEEP', [limits.depth])
      inObject = byte === OPEN_OBJECT
      wantsKey = inObject
      if (inObject) keys.enter()
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (inObject) keys.leave()
      inObject = outer.pop() ?? false
      wantsKey = false
    } else if (byte === COMMA) wantsKey = inObject
    else if (byte === COLON) wantsKey = false
  }
}

/** The quote that closes a string of which `at` is inside and not behind a backslash; -1 when there is none. */
const closing = (bytes: Buffer, at: number): number => {
  for (let quote = bytes.indexOf(QUOTE, at); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let slashes = 0
    while (quote - 1 - slashes >= at && bytes[quote - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote
  }
  return -1
}
