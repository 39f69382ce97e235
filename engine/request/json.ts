/** Parses JSON bodies after one checking pass, so that no shape of input exhausts the process. */
import { isAscii, isUtf8 } from 'node:buffer'
import { errors } from '../errors.ts'
import { asBuffer } from '../kit.ts'
import type { Bytes, Json } from '../plugin.ts'
import { addToHash, HASH_START, fault as keyFault, OpenKeys, reasonOf } from './json-keys.ts'

const fault = errors({
  BODY_NOT_UTF8: [400, 'The request body is not valid UTF-8.'],
  BODY_EMPTY: [400, 'The request has no body; this route expects JSON.'],
  BODY_TOO_DEEP: [400, 'The JSON body is nested deeper than %d levels.'],
  BODY_TOO_MANY_KEYS: [400, 'The JSON body has more than %d keys %s.'],
})

const LIMITS = { depth: 64, keysPerObject: 10_000, keys: 100_000 }

export const parseJson = (bytes: Bytes, limits = LIMITS): Json => {
  if (bytes.length === 0) throw fault('BODY_EMPTY')
  const buffer = asBuffer(bytes)
  const isPlain = isAscii(buffer)
  if (!isPlain && !isUtf8(buffer)) throw fault('BODY_NOT_UTF8')
  // A character for each byte: V8 searches in a text without a call of native code.
  const text = buffer.toString('latin1')
  scan(buffer, text, limits)
  try {
    return JSON.parse(isPlain ? text : buffer.toString()) as Json
  } catch (error) {
    throw keyFault('BODY_NOT_JSON', [reasonOf(error)])
  }
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
/** 1 for each byte outside of strings that has a meaning. */
const MEANS_SOMETHING = new Uint8Array(256)
for (const byte of Buffer.from('"{}[],:')) MEANS_SOMETHING[byte] = 1

/** Skips strings, compares keys within their object, leaves malformed JSON to the parser. */
const scan = (bytes: Buffer, text: string, limits: typeof LIMITS): void => {
  const keys = new OpenKeys(bytes, text)
  const { length } = bytes
  /** Whether each enclosing value is an object, and whether the present one is. */
  const outer: boolean[] = []
  let inObject = false
  let wantsKey = false
  let total = 0
  for (let at = 0; at < length; at++) {
    const byte = bytes[at] as number
    if (MEANS_SOMETHING[byte] === 0) continue
    if (byte === QUOTE && !wantsKey) {
      at = closingQuote(bytes, text, at + 1)
      if (at < 0) return
    } else if (byte === QUOTE) {
      const start = ++at
      let hash = HASH_START
      let letter = bytes[at] as number
      while (letter !== QUOTE && letter !== BACKSLASH && at < length) {
        hash = addToHash(hash, letter)
        letter = bytes[++at] as number
      }
      const hasEscapes = letter === BACKSLASH
      if (hasEscapes) at = closingQuote(bytes, text, at)
      if (at < 0 || at >= length) return
      if (++total > limits.keys) throw fault('BODY_TOO_MANY_KEYS', [limits.keys, 'in all'])
      if (keys.size >= limits.keysPerObject)
        throw fault('BODY_TOO_MANY_KEYS', [limits.keysPerObject, 'in one object'])
      if (hasEscapes) keys.addEscaped(start, at)
      else keys.add(start, at, hash)
      wantsKey = false
    } else if (byte === COMMA) wantsKey = inObject
    else if (byte === COLON) wantsKey = false
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (outer.push(inObject) > limits.depth) throw fault('BODY_TOO_DEEP', [limits.depth])
      inObject = byte === OPEN_OBJECT
      wantsKey = inObject
      if (inObject) keys.openObject()
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (inObject) keys.closeObject()
      inObject = outer.pop() ?? false
      wantsKey = false
    }
  }
}

/** Bytes of a string that are read one by one before its end is searched, and after several escaped
 *  quotes that stand close together. */
const [NEAR, NEAR_ESCAPES] = [16, 128]
/** Bytes between two escaped quotes that stand close together, and how many of them may follow each
 *  other until the bytes are read one by one. */
const [CLOSE, FEW] = [12, 4]

/** The position of the quote that ends a string; -1: none. `start`: in the string, where no escape
 *  is open. */
const closingQuote = (bytes: Buffer, text: string, start: number): number => {
  let from = stepTo(bytes, start, NEAR)
  if (bytes[from] === QUOTE) return from
  let search = from
  let previous = from
  let closeOnes = 0
  for (;;) {
    const quote = text.indexOf('"', search)
    if (quote < 0) return -1
    let slash = quote - 1
    while (slash >= from && bytes[slash] === BACKSLASH) slash--
    if ((quote - slash) % 2 === 1) return quote
    closeOnes = quote - previous < CLOSE ? closeOnes + 1 : 0
    search = quote + 1
    if (closeOnes > FEW) {
      from = stepTo(bytes, search, NEAR_ESCAPES)
      if (bytes[from] === QUOTE) return from
      search = from
    }
    previous = search
  }
}
/** Steps over characters and escapes up to a quote, or over about `count` bytes. */
const stepTo = (bytes: Buffer, start: number, count: number): number => {
  const end = Math.min(start + count, bytes.length)
  let at = start
  while (at < end) {
    const byte = bytes[at]
    if (byte === QUOTE) break
    at += byte === BACKSLASH ? 2 : 1
  }
  return at
}
