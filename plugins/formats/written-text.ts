/** Estimates the tokens that a model wrote from the bytes of its answer, whole or as events, at any chunk boundary. */
import type { Bytes } from '../../engine/plugin.ts'

/** Which members of an answer the model wrote. */
export interface TextMembers {
  readonly text: readonly string[]
  /** Members that repeat each other: of these the first one with a text counts. */
  readonly either?: readonly string[]
  /** Members whose value is an object that the model wrote: the arguments of a call. */
  readonly objects?: readonly string[]
  /** Members whose value holds text that the model did not write. */
  readonly skip?: readonly string[]
}
/** `TextMembers`, compiled. */
export interface TextPattern {
  readonly names: RegExp
  readonly members: ReadonlyMap<string, Member>
}
interface Member {
  readonly kind: 'text' | 'either' | 'object' | 'skip'
  /** Where its unfinished word stands. */
  readonly index: number
}
export const textPattern = ({ text, either = [], objects = [], skip = [] }: TextMembers) => {
  const kinds = [
    ...text.map(name => [name, 'text'] as const),
    ...either.map(name => [name, 'either'] as const),
    ...objects.map(name => [name, 'object'] as const),
    ...skip.map(name => [name, 'skip'] as const),
  ]
  const names = kinds.map(([name]) => name).join('|')
  return {
    names: new RegExp(`"(${names})"\\s*:\\s*(["{[])`, 'g'),
    members: new Map(kinds.map(([name, kind], index) => [name, { kind, index }])),
  } satisfies TextPattern
}

/** More than the longest name with its colon that a chunk may cut. */
const CARRY = 64
const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENS = new Set([0x5b, 0x7b])
const CLOSES = new Set([0x5d, 0x7d])
const NOTHING: Open = { member: { kind: 'skip', index: 0 }, string: false }

/** The value that is being read. */
interface Open {
  readonly member: Member
  /** It is a string; otherwise an object or a list. */
  readonly string: boolean
}

/** A word is a token, and each four bytes of a longer word are one: what lies between two spaces is a word. The same text
 *  comes to the same number, however it is cut into events and chunks. */
export class WrittenText {
  readonly #pattern: TextPattern
  /** Bytes of the chunk before that may begin a name or an escape. */
  #carried = ''
  #open: Open | undefined
  #begun = false
  #depth = 0
  #quoted = false
  #escaped = false
  /** A space stands behind the bracket that opened it. */
  #spaced = false
  /** The one of the repeated members that counts. */
  #chosen: Member | undefined
  /** Tokens of the words that are finished. */
  #words = 0
  #pieces = 0
  /** By member: bytes of its unfinished word. */
  readonly #unfinished: number[]

  constructor(pattern: TextPattern) {
    this.#pattern = pattern
    this.#unfinished = new Array(pattern.members.size).fill(0)
  }
  /** Of all that was written. */
  get tokens(): number {
    let sum = this.#words
    for (const bytes of this.#unfinished) sum += tokensOfWord(bytes)
    return sum
  }
  /** The same of an answer that was cut: an event that holds text was at least a token. */
  get tokensOfPart(): number {
    return Math.max(this.tokens, this.#pieces)
  }
  push(bytes: Bytes): void {
    const { buffer, byteOffset, length } = bytes
    const text = this.#carried + Buffer.from(buffer, byteOffset, length).toString('latin1')
    this.#carried = ''
    let at = 0
    while (at < text.length) at = this.#open ? this.#read(text, at) : this.#find(text, at)
  }
  /** To behind the quote or bracket that opens the next value. */
  #find(text: string, from: number): number {
    const { names, members } = this.#pattern
    names.lastIndex = from
    const match = names.exec(text)
    if (!match) {
      // Events end in a blank line, which no name crosses.
      if (!text.endsWith('\n\n')) this.#carried = text.slice(Math.max(from, text.length - CARRY))
      return text.length
    }
    const [, name = '', opening] = match
    const { kind, index } = members.get(name) ?? NOTHING.member
    const string = opening === '"'
    const repeats = kind === 'either' && this.#chosen && this.#chosen.index !== index
    if (string ? kind !== 'object' && kind !== 'skip' && !repeats : BRACKETED.has(kind)) {
      this.#open = { member: { kind, index }, string }
      this.#begun = this.#quoted = this.#escaped = this.#spaced = false
      this.#depth = 1
    }
    return names.lastIndex
  }
  #read(text: string, from: number): number {
    const { member, string } = this.#open ?? NOTHING
    return string ? this.#readString(text, from, member) : this.#readObject(text, from, member)
  }
  #readString(text: string, from: number, member: Member): number {
    const { index } = member
    let word = this.#unfinished[index] ?? 0
    let at = from
    for (; at < text.length; at++) {
      const byte = text.charCodeAt(at)
      if (byte === QUOTE) break
      if (!this.#begun) this.#begin(member)
      let bytes = byte <= SPACE ? 0 : 1
      if (byte === BACKSLASH) {
        const escaped = text.slice(at, at + (text[at + 1] === 'u' ? 6 : 2))
        if (escaped.length < 2 || (escaped[1] === 'u' && escaped.length < 6)) {
          this.#carried = escaped
          this.#unfinished[index] = word
          return text.length
        }
        bytes = bytesOfEscape(escaped)
        at += escaped.length - 1
      }
      if (bytes === 0) this.#words += tokensOfWord(word)
      word = bytes === 0 ? 0 : word + bytes
    }
    this.#unfinished[index] = word
    if (at < text.length) this.#open = undefined
    return at + 1
  }
  /** As it is written, with its keys; an empty one is nothing. */
  #readObject(text: string, from: number, member: Member): number {
    const counts = member.kind === 'object'
    for (let at = from; at < text.length; at++) {
      const byte = text.charCodeAt(at)
      const closed = this.#nest(byte)
      if (byte <= SPACE) this.#spaced = true
      else if (counts && !this.#begun && !closed) {
        this.#begin(member)
        this.#add(member, 1)
        if (this.#spaced) this.#add(member, 0)
      }
      if (this.#begun) this.#add(member, byte <= SPACE ? 0 : 1)
      if (!closed) continue
      this.#open = undefined
      return at + 1
    }
    return text.length
  }
  /** Whether this byte closes the value. */
  #nest(byte: number): boolean {
    if (this.#escaped) this.#escaped = false
    else if (byte === QUOTE) this.#quoted = !this.#quoted
    else if (this.#quoted) this.#escaped = byte === BACKSLASH
    else if (OPENS.has(byte)) this.#depth++
    else if (CLOSES.has(byte)) this.#depth--
    return this.#depth === 0
  }
  #begin(member: Member): void {
    this.#begun = true
    this.#pieces++
    if (member.kind === 'either') this.#chosen = member
  }
  /** 0: a space. */
  #add({ index }: Member, bytes: number): void {
    if (bytes > 0) {
      this.#unfinished[index] = (this.#unfinished[index] ?? 0) + bytes
      return
    }
    this.#words += tokensOfWord(this.#unfinished[index] ?? 0)
    this.#unfinished[index] = 0
  }
}
const BRACKETED: ReadonlySet<string> = new Set(['object', 'skip'])

/** Bytes of a word to a token. */
const LONG = 4
const tokensOfWord = (bytes: number): number =>
  bytes === 0 ? 0 : Math.max(1, Math.floor(bytes / LONG))

/** Bytes of UTF-8 that an escape of JSON stands for; 0: a space. */
const bytesOfEscape = (escaped: string): number => {
  const letter = escaped[1] ?? ''
  if (letter !== 'u') return 'nrtbf'.includes(letter) ? 0 : 1
  const code = Number.parseInt(escaped.slice(2), 16)
  if (code <= SPACE) return 0
  if (code < 0x80) return 1
  const surrogate = code >= 0xd800 && code < 0xe000
  return code < 0x800 || surrogate ? 2 : 3
}
