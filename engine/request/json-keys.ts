/** The keys of the open objects of a JSON text: none occurs twice, none is forbidden. */
import { errors } from '../errors.ts'

export const fault = errors({
  BODY_NOT_JSON: [400, 'The request body is not valid JSON: %s.'],
  BODY_DUPLICATE_KEY: [400, 'The JSON body has the key %s twice in one object.'],
  BODY_FORBIDDEN_KEY: [400, 'The JSON body has the key %s, which is not accepted.'],
})

const [QUOTE, BACKSLASH, SPACE, LETTER_U] = [0x22, 0x5c, 0x20, 0x75]
const FORBIDDEN = new Set(['__proto__', 'constructor'])
const FORBIDDEN_STARTS = new Set(['_'.charCodeAt(0), 'c'.charCodeAt(0)])
const FORBIDDEN_LENGTHS = new Set([...FORBIDDEN].map(({ length }) => length))
/** Objects with more keys than this are compared through a set of names instead of one by one. */
const FEW_KEYS = 24

/** FNV-1a. */
export const HASH_START = 0x811c9dc5 | 0
export const addToHash = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193)

/** Few keys are compared by hash, many as names, which cannot be made to collide. A name is the
 *  UTF-8 of a key with a character for each byte. Positions are stored, since texts would cost
 *  more. */
export class OpenKeys {
  readonly #bytes: Buffer
  readonly #text: string
  /** Three numbers a key: start, end, hash. Of all open objects, the innermost last; behind them
   *  those of the object that was closed last. */
  readonly #positions: number[] = []
  /** Numbers in use: V8 would copy an array that is made shorter. */
  #used = 0
  /** Index of the innermost object's first key, and its keys once they are names. */
  #first = 0
  #names: Set<string> | undefined
  readonly #outer: (number | Set<string> | undefined)[] = []
  /** The numbers of the object that was closed last. */
  #closedFirst = -1
  #closedEnd = 0
  /** The end of the numbers of a sibling that begins with the same keys; 0: none. Objects of a list
   *  often have the same keys, which need not be compared with each other again. */
  #siblingEnd = 0

  /** `text`: the bytes, a character each. */
  constructor(bytes: Buffer, text: string) {
    this.#bytes = bytes
    this.#text = text
  }
  openObject(): void {
    this.#outer.push(this.#first, this.#names)
    this.#siblingEnd = this.#closedFirst === this.#used ? this.#closedEnd : 0
    this.#first = this.#used
    this.#names = undefined
  }
  closeObject(): void {
    this.#closedFirst = this.#names ? -1 : this.#first
    this.#closedEnd = this.#used
    this.#siblingEnd = 0
    this.#used = this.#first
    this.#names = this.#outer.pop() as Set<string> | undefined
    this.#first = this.#outer.pop() as number
  }
  /** Number of keys of the innermost object. */
  get size(): number {
    return this.#names?.size ?? (this.#used - this.#first) / 3
  }
  /** Adds the key at start..end (inside its quotes), which has no escapes. `hash`: of its bytes. */
  add(start: number, end: number, hash: number): void {
    if (FORBIDDEN_LENGTHS.has(end - start) && FORBIDDEN_STARTS.has(this.#bytes[start] as number))
      this.#refuseForbidden(this.#text.slice(start, end))
    if (this.#names) this.#addName(this.#text.slice(start, end), start, end)
    else this.#addHash(start, end, hash)
  }
  /** Adds a key that has escapes. */
  addEscaped(start: number, end: number): void {
    const name = nameOf(this.#bytes, this.#text, start, end)
    // The parser says what is wrong with it.
    if (name === undefined) return void decodeKey(this.#bytes, start, end)
    this.#refuseForbidden(name)
    if (this.#names) return this.#addName(name, start, end)
    let hash = HASH_START
    for (let at = 0; at < name.length; at++) hash = addToHash(hash, name.charCodeAt(at))
    this.#addHash(start, end, hash)
  }
  #addHash(start: number, end: number, hash: number): void {
    const positions = this.#positions
    const used = this.#used
    const isLikeSibling =
      used < this.#siblingEnd && positions[used + 2] === hash && this.#isEqual(used, start, end)
    if (!isLikeSibling) {
      this.#siblingEnd = 0
      for (let at = this.#first; at < used; at += 3)
        if (positions[at + 2] === hash && this.#hasName(at, start, end))
          throw this.#duplicate(start, end)
    }
    positions[used] = start
    positions[used + 1] = end
    positions[used + 2] = hash
    this.#used = used + 3
    if (this.#used - this.#first > FEW_KEYS * 3) this.#useNames()
  }
  #addName(name: string, start: number, end: number): void {
    const names = this.#names as Set<string>
    const { size } = names
    if (names.add(name).size === size) throw this.#duplicate(start, end)
  }
  #refuseForbidden(name: string): void {
    if (FORBIDDEN.has(name)) throw fault('BODY_FORBIDDEN_KEY', [JSON.stringify(name)])
  }
  #duplicate(start: number, end: number): Error {
    const spelling = this.#bytes.toString('utf8', start, end)
    const key = spelling.includes('\\') ? decodeKey(this.#bytes, start, end) : spelling
    return fault('BODY_DUPLICATE_KEY', [JSON.stringify(key.slice(0, 64))])
  }
  /** Compares the keys of this object by their names from now on. */
  #useNames(): void {
    const positions = this.#positions
    const names = new Set<string>()
    for (let at = this.#first; at < this.#used; at += 3)
      names.add(this.#nameOf(positions[at] as number, positions[at + 1] as number))
    this.#names = names
  }
  #nameOf(start: number, end: number): string {
    const spelling = this.#text.slice(start, end)
    if (!spelling.includes('\\')) return spelling
    return nameOf(this.#bytes, this.#text, start, end) ?? spelling
  }
  #hasName(at: number, start: number, end: number): boolean {
    const [from, to] = [this.#positions[at] as number, this.#positions[at + 1] as number]
    return this.#isEqual(at, start, end) || this.#nameOf(from, to) === this.#nameOf(start, end)
  }
  /** Whether the key at this index is spelt in the same way. */
  #isEqual(at: number, start: number, end: number): boolean {
    const bytes = this.#bytes
    const from = this.#positions[at] as number
    if ((this.#positions[at + 1] as number) - from !== end - start) return false
    let offset = 0
    while (start + offset < end && bytes[from + offset] === bytes[start + offset]) offset++
    return start + offset === end
  }
}

const decodeKey = (bytes: Buffer, start: number, end: number): string => {
  try {
    return JSON.parse(bytes.toString('utf8', start - 1, end + 1)) as string
  } catch (error) {
    throw fault('BODY_NOT_JSON', [reasonOf(error)])
  }
}
/** Removes the input that V8 quotes in its message: the customer needs the place only. */
export const reasonOf = (error: unknown): string =>
  (error as Error).message.replace(/, (?:\.\.\.)?".*$/s, '').replace(' in JSON', '')

/** Escapes of one letter, by its byte. */
const ESCAPES: readonly (string | undefined)[] = Object.assign([], {
  [QUOTE]: '"',
  [BACKSLASH]: '\\',
  47: '/',
  98: '\b',
  102: '\f',
  110: '\n',
  114: '\r',
  116: '\t',
})
/** The name of a key with escapes; undefined if it is malformed. */
const nameOf = (bytes: Buffer, text: string, start: number, end: number): string | undefined => {
  let name = ''
  let from = start
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte < SPACE) return undefined
    if (byte !== BACKSLASH) continue
    if (at > from) name += text.slice(from, at)
    const letter = bytes[++at] as number
    if (letter === LETTER_U) {
      const unit = unitAt(bytes, at + 1)
      if (unit < 0) return undefined
      at += 4
      const second = isHigh(unit) && bytes[at + 1] === BACKSLASH && bytes[at + 2] === LETTER_U
      const low = second ? unitAt(bytes, at + 3) : -1
      if (low >= LOW && low < AFTER_LOW) {
        name += encode(0x10000 + ((unit - HIGH) << 10) + (low - LOW))
        at += 6
      } else name += encode(unit)
    } else {
      const character = ESCAPES[letter]
      if (character === undefined) return undefined
      name += character
    }
    from = at + 1
  }
  return end > from ? name + text.slice(from, end) : name
}
const [HIGH, LOW, AFTER_LOW] = [0xd800, 0xdc00, 0xe000]
const isHigh = (unit: number): boolean => unit >= HIGH && unit < LOW
/** The number of four hexadecimal digits; -1 if they are none. */
const unitAt = (bytes: Buffer, at: number): number => {
  let unit = 0
  for (let index = at; index < at + 4; index++) {
    const digit = digitOf(bytes[index] ?? 0)
    if (digit < 0) return -1
    unit = unit * 16 + digit
  }
  return unit
}
const digitOf = (byte: number): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
/** The UTF-8 of a code point, a character for each byte. A half of a pair has three, as no valid
 *  UTF-8 has them. */
const encode = (point: number): string => {
  const { fromCharCode } = String
  if (point < 0x80) return fromCharCode(point)
  const last = 0x80 | (point & 0x3f)
  if (point < 0x800) return fromCharCode(0xc0 | (point >> 6), last)
  const third = 0x80 | ((point >> 6) & 0x3f)
  if (point < 0x10000) return fromCharCode(0xe0 | (point >> 12), third, last)
  return fromCharCode(0xf0 | (point >> 18), 0x80 | ((point >> 12) & 0x3f), third, last)
}
