/** The members of the outermost object of a JSON text, by their positions: found without parsing
 *  their values, so that a body can be edited while all other bytes stay unchanged. */
import type { Bytes } from '../../engine/plugin.ts'

export interface Member {
  readonly key: string
  /** First byte of the key. */
  readonly start: number
  readonly valueStart: number
  /** Position after the value. */
  readonly end: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACE = 0x20

/** Undefined if the bytes are not a JSON object. Values are not validated. */
export const membersIn = (bytes: Bytes): readonly Member[] | undefined => {
  const members: Member[] = []
  let position = skipSpace(bytes, 0)
  if (bytes[position] !== OPEN_OBJECT) return undefined
  position = skipSpace(bytes, position + 1)
  if (bytes[position] === CLOSE_OBJECT) return members
  for (;;) {
    const member = readMember(bytes, position)
    if (!member) return undefined
    members.push(member)
    position = skipSpace(bytes, member.end)
    if (bytes[position] === CLOSE_OBJECT) return members
    if (bytes[position] !== COMMA) return undefined
    position = skipSpace(bytes, position + 1)
  }
}

const readMember = (bytes: Bytes, start: number): Member | undefined => {
  const keyEnd = bytes[start] === QUOTE ? stringEnd(bytes, start) : -1
  const colon = skipSpace(bytes, keyEnd)
  if (keyEnd < 0 || bytes[colon] !== COLON) return undefined
  const valueStart = skipSpace(bytes, colon + 1)
  const end = valueEnd(bytes, valueStart)
  const key = keyIn(bytes.subarray(start, keyEnd))
  return end > valueStart && key !== undefined ? { key, start, valueStart, end } : undefined
}

/** A key may be spelt with escapes. */
const keyIn = (bytes: Bytes): string | undefined => {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as string
  } catch {
    return undefined
  }
}

const skipSpace = (bytes: Bytes, from: number): number => {
  let position = from
  while (position < bytes.length && (bytes[position] as number) <= SPACE) position++
  return position
}

/** Position after the string that begins at `start`; -1 if it has no end. Long strings (media in
 *  base64) are passed by `indexOf`. */
const stringEnd = (bytes: Bytes, start: number): number => {
  for (let quote = start; ; ) {
    quote = bytes.indexOf(QUOTE, quote + 1)
    if (quote < 0) return -1
    let first = quote
    while (bytes[first - 1] === BACKSLASH) first--
    if ((quote - first) % 2 === 0) return quote + 1
  }
}

/** Position after the value that begins at `start`; `start` or less if it has no end. */
const valueEnd = (bytes: Bytes, start: number): number => {
  let depth = 0
  let position = start
  while (position < bytes.length) {
    const byte = bytes[position] as number
    if (byte === QUOTE) {
      position = stringEnd(bytes, position)
      if (position < 0 || depth === 0) return position
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++
      position++
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (depth === 0) return position
      position++
      if (--depth === 0) return position
    } else if (depth === 0 && (byte === COMMA || byte <= SPACE)) return position
    else position++
  }
  return -1
}
