/** Finds the ends of JSON strings, and decodes their escapes, byte by byte. */

export const [QUOTE, BACKSLASH] = [0x22, 0x5c]
/** Escaped quotes that follow each other within CLOSE bytes: after FEW_CLOSE of them the next FAR
 *  bytes are read singly, since each search costs more than such a step. */
const [CLOSE, FEW_CLOSE, FAR] = [24, 4, 256]
/** Strings of fewer bytes are read singly: a search costs as much as so many steps. */
const SHORT = 8

/** Finds the closing quote from `at` on, where no escape is open; -1 when there is none. */
export const closingQuote = (bytes: Buffer, text: string, at: number): number => {
  for (let near = at, end = Math.min(at + SHORT, bytes.length); near < end; near++) {
    const byte = bytes[near]
    if (byte === QUOTE) return near
    if (byte === BACKSLASH) break
  }
  const quote = text.indexOf('"', at)
  return quote < 0 || bytes[quote - 1] !== BACKSLASH ? quote : nextClosing(bytes, text, at, quote)
}
/** The same, from the first quote on. */
const nextClosing = (bytes: Buffer, text: string, at: number, first: number): number => {
  let from = at
  let quote = first
  let close = 0
  while (bytes[quote] !== QUOTE || isEscaped(bytes, quote, from)) {
    const next = text.indexOf('"', bytes[quote] === QUOTE ? quote + 1 : quote)
    if (next < 0) return -1
    close = next - quote < CLOSE ? close + 1 : 0
    quote = next
    if (close <= FEW_CLOSE) continue
    from = quote = step(bytes, isEscaped(bytes, quote, from) ? quote + 1 : quote, FAR)
  }
  return quote
}
/** Whether an odd number of backslashes precedes `at`, none of them before `from`. */
const isEscaped = (bytes: Buffer, at: number, from: number): boolean => {
  let slash = at - 1
  while (slash >= from && bytes[slash] === BACKSLASH) slash--
  return (at - slash) % 2 === 0
}
/** Steps over characters and escapes up to a quote, or about `count` bytes. */
const step = (bytes: Buffer, from: number, count: number): number => {
  const end = Math.min(from + count, bytes.length)
  let at = from
  while (at < end) {
    const byte = bytes[at]
    if (byte === QUOTE) break
    at += byte === BACKSLASH ? 2 : 1
  }
  return at
}

/** The letter behind the backslash of a short escape, and its character. */
const SHORT_ESCAPES = new Uint8Array(128)
for (const [letter, character] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'])
  SHORT_ESCAPES[(letter as string).charCodeAt(0)] = (character as string).charCodeAt(0)
/** Values of hexadecimal digits; 16 for all other bytes. */
const HEX = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9a-f]/i.test(String.fromCharCode(byte)) ? Number.parseInt(String.fromCharCode(byte), 16) : 16,
)

/** Writes the string at start..end (inside its quotes) to `out` without escapes, as UTF-8 in which
 *  half a surrogate pair has three bytes. Returns its length, or -1 if it is malformed. */
export const decodeString = (bytes: Buffer, start: number, end: number, out: Buffer): number => {
  let length = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte < 0x20) return -1
    if (byte !== BACKSLASH) {
      out[length++] = byte
      continue
    }
    const letter = bytes[++at] as number
    if (letter !== LETTER_U) {
      const character = SHORT_ESCAPES[letter] ?? 0
      if (character === 0) return -1
      out[length++] = character
      continue
    }
    let point = unitAt(bytes, at + 1, end)
    if (point < 0) return -1
    at += 4
    if (point >> 10 === HIGH && bytes[at + 1] === BACKSLASH && bytes[at + 2] === LETTER_U) {
      const low = unitAt(bytes, at + 3, end)
      if (low < 0) return -1
      if (low >> 10 === LOW) {
        point = 0x1_0000 + ((point & 0x3ff) << 10) + (low & 0x3ff)
        at += 6
      }
    }
    length = writePoint(out, length, point)
  }
  return length
}
const LETTER_U = 0x75
/** The upper six bits of the first and of the second half of a surrogate pair. */
const [HIGH, LOW] = [0xd800 >> 10, 0xdc00 >> 10]

const unitAt = (bytes: Buffer, at: number, end: number): number => {
  if (at + 4 > end) return -1
  let unit = 0
  for (let digit = at; digit < at + 4; digit++) {
    const value = HEX[bytes[digit] as number] as number
    if (value === 16) return -1
    unit = unit * 16 + value
  }
  return unit
}
const writePoint = (out: Buffer, length: number, point: number): number => {
  let at = length
  if (point < 0x80) out[at++] = point
  else {
    if (point < 0x800) out[at++] = 0xc0 | (point >> 6)
    else {
      if (point < 0x1_0000) out[at++] = 0xe0 | (point >> 12)
      else {
        out[at++] = 0xf0 | (point >> 18)
        out[at++] = 0x80 | ((point >> 12) & 0x3f)
      }
      out[at++] = 0x80 | ((point >> 6) & 0x3f)
    }
    out[at++] = 0x80 | (point & 0x3f)
  }
  return at
}
