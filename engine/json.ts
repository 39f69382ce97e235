/** JSON bodies read with suspicion: one pass over the bytes before `JSON.parse`, so that no input can hurt by its shape. */
import { isUtf8 } from 'node:buffer'
import { errors } from './errors.ts'
import type { Bytes, Json } from './plugin.ts'

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
  scan(bytes, limits)
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()) as Json
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

/** The keys of one open object: few are compared by hash, many as strings, whose hashes nobody can collide. */
class Keys {
  readonly #bytes: Bytes
  #spans: Bytes[] = []
  #hashes: number[] = []
  #seen: Set<string> | undefined
  constructor(bytes: Bytes) {
    this.#bytes = bytes
  }
  get size(): number {
    return this.#seen?.size ?? this.#spans.length
  }
  /** Adds the key at start..end (inside its quotes). */
  add(start: number, end: number, escaped: boolean): void {
    const span = escaped ? decodeKey(this.#bytes, start, end) : this.#bytes.subarray(start, end)
    if (isForbidden(span)) throw fault('BODY_FORBIDDEN_KEY', [quote(span)])
    if (!(this.#seen ? addToMany(this.#seen, latin(span)) : this.#addToFew(span)))
      throw fault('BODY_DUPLICATE_KEY', [quote(span)])
  }
  #addToFew(span: Bytes): boolean {
    const hash = hashOf(span)
    const hashes = this.#hashes
    if (
      hashes.includes(hash) &&
      hashes.some((each, at) => each === hash && same(this.#spans[at], span))
    )
      return false
    hashes.push(hash)
    if (this.#spans.push(span) > FEW) this.#seen = new Set(this.#spans.map(latin))
    return true
  }
}
const addToMany = (seen: Set<string>, text: string): boolean => {
  const { size } = seen
  return seen.add(text).size > size
}
const latin = (span: Bytes): string =>
  Buffer.from(span.buffer, span.byteOffset, span.length).toString('latin1')
const same = (one: Bytes | undefined, two: Bytes): boolean =>
  one !== undefined && Buffer.compare(one, two) === 0
const quote = (span: Bytes): string => JSON.stringify(Buffer.from(span).toString().slice(0, 64))
const decodeKey = (bytes: Bytes, start: number, end: number): Bytes => {
  try {
    return Buffer.from(
      JSON.parse(Buffer.from(bytes.subarray(start - 1, end + 1)).toString()) as string,
    )
  } catch (thrown) {
    throw fault('BODY_NOT_JSON', [reason(thrown)])
  }
}
const hashOf = (span: Bytes): number => {
  let hash = 0x811c9dc5 // FNV-1a
  for (let at = 0; at < span.length; at++) hash = Math.imul(hash ^ (span[at] as number), 0x01000193)
  return hash
}
const FORBIDDEN = ['__proto__', 'constructor'].map(name => Buffer.from(name))
const isForbidden = (span: Bytes): boolean =>
  (span.length === 9 || span.length === 11) && FORBIDDEN.some(name => same(name, span))

/** One pass; strings are skipped, keys compared within their object. Malformed JSON is left for the parser to name. */
const scan = (bytes: Bytes, limits: JsonLimits): void => {
  const open: (Keys | undefined)[] = []
  let keys: Keys | undefined // of the innermost object; undefined in an array
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
      if (wantsKey && keys) {
        if (++total > limits.keys) throw fault('BODY_TOO_MANY_KEYS', [limits.keys, 'in all'])
        if (keys.size >= limits.keysPerObject)
          throw fault('BODY_TOO_MANY_KEYS', [limits.keysPerObject, 'in one object'])
        keys.add(start, at, escaped)
        wantsKey = false
      }
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (open.push(keys) > limits.depth) throw fault('BODY_TOO_DEEP', [limits.depth])
      wantsKey = byte === OPEN_OBJECT
      keys = wantsKey ? new Keys(bytes) : undefined
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      keys = open.pop()
      wantsKey = false
    } else if (byte === COMMA) wantsKey = keys !== undefined
    else if (byte === COLON) wantsKey = false
  }
}

/** The quote that closes a string of which `at` is inside and not behind a backslash; -1 when there is none. */
const closing = (bytes: Bytes, at: number): number => {
  for (let quote = bytes.indexOf(QUOTE, at); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let slashes = 0
    while (quote - 1 - slashes >= at && bytes[quote - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote
  }
  return -1
}
