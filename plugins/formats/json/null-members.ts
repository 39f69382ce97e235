/** Members of a request that are null: they count as absent. A provider that refuses null there
 *  gets the request without them; all other bytes stay unchanged. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes, Json } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../fields.ts'

/** Which null members a provider takes. */
export interface NullFacts {
  /** Names of members whose null its own types permit. */
  readonly accepted: ReadonlySet<string>
  /** Names of members whose values are the client's own data, such as arguments and schemas. */
  readonly data: ReadonlySet<string>
}
export const nullFacts = (accepted: string, data: string): NullFacts => ({
  accepted: namesIn(accepted),
  data: namesIn(data),
})
const namesIn = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))
/** A provider whose types permit null nowhere. */
export const NO_NULLS = nullFacts('', '')

/** Whether a provider with these facts refuses a null member of this value. */
export const hasRefusedNull = (value: Json, facts: NullFacts): boolean => {
  if (Array.isArray(value)) return value.some(each => hasRefusedNull(each, facts))
  return isFields(value) && hasRefusedMember(value, facts)
}
const hasRefusedMember = (fields: Fields, facts: NullFacts): boolean => {
  for (const name in fields) {
    const member = fields[name] as Json
    if (member === null) {
      if (!facts.accepted.has(name)) return true
    } else if (!facts.data.has(name) && hasRefusedNull(member, facts)) return true
  }
  return false
}
/** The bytes without the null members that the provider refuses; the same bytes if there is none.
 *  `bytes`: valid JSON. */
export const withoutNulls = (bytes: Bytes, facts: NullFacts): Bytes => {
  const text = asBuffer(bytes)
  if (!NULLS.some(each => text.includes(each))) return bytes
  const cuts = new Scan(text, facts).cuts()
  if (cuts.length === 0) return bytes
  const ends = [...cuts.map(([start]) => start), text.length]
  return Buffer.concat(ends.map((end, index) => text.subarray(cuts[index - 1]?.[1] ?? 0, end)))
}
/** Serialisers write null members in one of these forms. */
const NULLS = [':null', ': null']

/** An object or array that is open. */
interface Level {
  readonly isObject: boolean
  readonly isData: boolean
  /** The quotes around the name of the current member; -1: between two members. */
  start: number
  nameEnd: number
  /** The end of the last member that stays; -1: none does so far. */
  keptEnd: number
}
type Cut = [start: number, end: number]

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
const N = 0x6e

/** One pass over the text. It does not recurse: a request may be deep. */
class Scan {
  readonly #text: Buffer
  readonly #facts: NullFacts
  /** The levels around the current one. */
  readonly #outer: (Level | undefined)[] = []
  #level: Level | undefined
  readonly #cuts: Cut[] = []

  constructor(text: Buffer, facts: NullFacts) {
    this.#text = text
    this.#facts = facts
  }
  cuts(): readonly Cut[] {
    for (let at = 0; at < this.#text.length; ) at = this.#step(at)
    return this.#cuts
  }
  /** Reads what begins here; returns the position after it. */
  #step(at: number): number {
    const byte = this.#text[at] as number
    if (byte === QUOTE) return this.#string(at)
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open(byte === OPEN_OBJECT)
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#close(at + 1)
    else if (this.#level?.isObject && this.#level.start >= 0 && isValue(byte))
      return this.#literal(at, this.#level)
    return at + 1
  }
  #open(isObject: boolean): void {
    const parent = this.#level
    const isData =
      parent !== undefined &&
      (parent.isData || (parent.isObject && this.#facts.data.has(this.#nameOf(parent))))
    this.#outer.push(parent)
    this.#level = { isObject, isData, start: -1, nameEnd: -1, keptEnd: -1 }
  }
  #close(end: number): void {
    this.#level = this.#outer.pop()
    if (this.#level?.isObject) keep(this.#level, end)
  }
  #string(start: number): number {
    const end = stringEnd(this.#text, start)
    const level = this.#level
    if (level?.isObject !== true) return end
    if (level.start >= 0) keep(level, end)
    else {
      level.start = start
      level.nameEnd = end
    }
    return end
  }
  /** A name may be spelt with escapes. */
  #nameOf({ start, nameEnd }: Level): string {
    const name = this.#text.toString('utf8', start + 1, nameEnd - 1)
    return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name
  }
  #literal(start: number, level: Level): number {
    let end = start
    while (isValue(this.#text[end] as number)) end++
    // Of all words and numbers of JSON only null begins with n.
    const stays = this.#text[start] !== N || level.isData
    if (stays || this.#facts.accepted.has(this.#nameOf(level))) keep(level, end)
    else this.#cut(level, end)
    return end
  }
  /** With the comma before the member, or else the one after it. */
  #cut(level: Level, end: number): void {
    const last = this.#cuts.at(-1)
    if (level.keptEnd >= 0) {
      if (last && last[0] === level.keptEnd) last[1] = end
      else this.#cuts.push([level.keptEnd, end])
    } else this.#cuts.push([level.start, this.#afterComma(end)])
    level.start = -1
  }
  #afterComma(end: number): number {
    let at = end
    while ((this.#text[at] as number) <= 0x20) at++
    return this.#text[at] === COMMA ? at + 1 : end
  }
}
const keep = (level: Level, end: number): void => {
  level.keptEnd = end
  level.start = -1
}
/** A byte of a number or of a word. */
const isValue = (byte: number): boolean =>
  byte > 0x20 &&
  byte !== COMMA &&
  byte !== COLON &&
  byte !== CLOSE_OBJECT &&
  byte !== CLOSE_ARRAY &&
  byte !== OPEN_OBJECT &&
  byte !== OPEN_ARRAY &&
  byte !== QUOTE
/** Strings up to this length are read byte by byte, longer ones by the search for quotes. */
const SHORT = 32
const stringEnd = (text: Buffer, start: number): number => {
  const near = Math.min(start + SHORT, text.length)
  for (let at = start + 1; at < near; at++) {
    if (text[at] === QUOTE) return at + 1
    if (text[at] === BACKSLASH) at++
  }
  return longStringEnd(text, start)
}
const longStringEnd = (text: Buffer, start: number): number => {
  for (let quote = start; ; ) {
    quote = text.indexOf(QUOTE, quote + 1)
    if (quote < 0) return text.length
    let first = quote
    while (text[first - 1] === BACKSLASH) first--
    if ((quote - first) % 2 === 0) return quote + 1
  }
}
