/** Estimates the output tokens from the bytes of an answer, whole or as events, for any chunk
 *  boundaries. */
import type { Bytes } from '../../engine/plugin.ts'

/** Which members of an answer hold text of the model. */
export interface TextMembers {
  readonly text: readonly string[]
  /** Members that repeat each other: only the first one with a text counts. */
  readonly alternatives?: readonly string[]
  /** Members whose value is an object that the model wrote, such as the arguments of a call. */
  readonly objects?: readonly string[]
  /** Members whose value holds text that the model did not write. */
  readonly exclusions?: readonly string[]
}
/** Compiled `TextMembers`. */
export interface TextPattern {
  readonly names: RegExp
  readonly members: ReadonlyMap<string, Member>
}
interface Member {
  readonly kind: 'text' | 'either' | 'object' | 'skip'
  /** The index of its unfinished word. */
  readonly index: number
}
export const compileTextPattern = ({
  text,
  alternatives = [],
  objects = [],
  exclusions = [],
}: TextMembers) => {
  const kinds = [
    ...text.map(name => [name, 'text'] as const),
    ...alternatives.map(name => [name, 'either'] as const),
    ...objects.map(name => [name, 'object'] as const),
    ...exclusions.map(name => [name, 'skip'] as const),
  ]
  const names = kinds.map(([name]) => name).join('|')
  return {
    names: new RegExp(`"(${names})"\\s*:\\s*(["{[])`, 'g'),
    members: new Map(kinds.map(([name, kind], index) => [name, { kind, index }])),
  } satisfies TextPattern
}

/** Longer than any name with its colon that a chunk boundary may split. */
const MAX_NAME = 64
const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENS = new Set([0x5b, 0x7b])
const CLOSES = new Set([0x5d, 0x7d])
const NO_VALUE: OpenValue = { member: { kind: 'skip', index: 0 }, string: false }

/** The value being read. */
interface OpenValue {
  readonly member: Member
  /** True for a string; otherwise an object or a list. */
  readonly string: boolean
}

/** A word (the text between two spaces) is one token, and each four bytes of a longer word are one.
 *  The same text gives the same number for any events and chunks. */
export class OutputTextEstimator {
  readonly #pattern: TextPattern
  /** Bytes of the previous chunk that may begin a name or an escape. */
  #rest = ''
  #open: OpenValue | undefined
  #hasBegun = false
  #depth = 0
  #isQuoted = false
  #isEscaped = false
  /** A space follows the opening bracket. */
  #startsWithSpace = false
  /** The one of several repeated members that counts. */
  #countedAlternative: Member | undefined
  /** Tokens of the finished words. */
  #words = 0
  #pieces = 0
  /** Bytes of the unfinished word, by member. */
  readonly #unfinishedWords: number[]

  constructor(pattern: TextPattern) {
    this.#pattern = pattern
    this.#unfinishedWords = new Array(pattern.members.size).fill(0)
  }
  /** Tokens of the whole text. */
  get tokens(): number {
    let sum = this.#words
    for (const bytes of this.#unfinishedWords) sum += tokensOfWord(bytes)
    return sum
  }
  /** The tokens of a truncated answer: at least one per event with text. */
  get truncatedTokens(): number {
    return Math.max(this.tokens, this.#pieces)
  }
  push(bytes: Bytes): void {
    const { buffer, byteOffset, length } = bytes
    const text = this.#rest + Buffer.from(buffer, byteOffset, length).toString('latin1')
    this.#rest = ''
    let at = 0
    while (at < text.length) at = this.#open ? this.#read(text, at) : this.#find(text, at)
  }
  /** Returns the position after the quote or bracket that opens the next value. */
  #find(text: string, from: number): number {
    const { names, members } = this.#pattern
    names.lastIndex = from
    const match = names.exec(text)
    if (!match) {
      // Events end in a blank line, which no name crosses.
      if (!text.endsWith('\n\n')) this.#rest = text.slice(Math.max(from, text.length - MAX_NAME))
      return text.length
    }
    const [, name = '', opening] = match
    const { kind, index } = members.get(name) ?? NO_VALUE.member
    const string = opening === '"'
    const repeats =
      kind === 'either' && this.#countedAlternative && this.#countedAlternative.index !== index
    if (string ? kind !== 'object' && kind !== 'skip' && !repeats : BRACKETED_KINDS.has(kind)) {
      this.#open = { member: { kind, index }, string }
      this.#hasBegun = this.#isQuoted = this.#isEscaped = this.#startsWithSpace = false
      this.#depth = 1
    }
    return names.lastIndex
  }
  #read(text: string, from: number): number {
    const { member, string } = this.#open ?? NO_VALUE
    return string ? this.#readString(text, from, member) : this.#readObject(text, from, member)
  }
  #readString(text: string, from: number, member: Member): number {
    const { index } = member
    let word = this.#unfinishedWords[index] ?? 0
    let at = from
    for (; at < text.length; at++) {
      const byte = text.charCodeAt(at)
      if (byte === QUOTE) break
      if (!this.#hasBegun) this.#begin(member)
      let bytes = byte <= SPACE ? 0 : 1
      if (byte === BACKSLASH) {
        const sequence = text.slice(at, at + (text[at + 1] === 'u' ? 6 : 2))
        if (sequence.length < 2 || (sequence[1] === 'u' && sequence.length < 6)) {
          this.#rest = sequence
          this.#unfinishedWords[index] = word
          return text.length
        }
        bytes = bytesOfEscape(sequence)
        at += sequence.length - 1
      }
      if (bytes === 0) this.#words += tokensOfWord(word)
      word = bytes === 0 ? 0 : word + bytes
    }
    this.#unfinishedWords[index] = word
    if (at < text.length) this.#open = undefined
    return at + 1
  }
  /** Counts an object as written, with its keys; an empty one counts nothing. */
  #readObject(text: string, from: number, member: Member): number {
    const counts = member.kind === 'object'
    for (let at = from; at < text.length; at++) {
      const byte = text.charCodeAt(at)
      const isClosed = this.#nest(byte)
      if (byte <= SPACE) this.#startsWithSpace = true
      else if (counts && !this.#hasBegun && !isClosed) {
        this.#begin(member)
        this.#add(member, 1)
        if (this.#startsWithSpace) this.#add(member, 0)
      }
      if (this.#hasBegun) this.#add(member, byte <= SPACE ? 0 : 1)
      if (!isClosed) continue
      this.#open = undefined
      return at + 1
    }
    return text.length
  }
  /** Whether this byte closes the value. */
  #nest(byte: number): boolean {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === QUOTE) this.#isQuoted = !this.#isQuoted
    else if (this.#isQuoted) this.#isEscaped = byte === BACKSLASH
    else if (OPENS.has(byte)) this.#depth++
    else if (CLOSES.has(byte)) this.#depth--
    return this.#depth === 0
  }
  #begin(member: Member): void {
    this.#hasBegun = true
    this.#pieces++
    if (member.kind === 'either') this.#countedAlternative = member
  }
  /** `bytes` 0: a space. */
  #add({ index }: Member, bytes: number): void {
    if (bytes > 0) {
      this.#unfinishedWords[index] = (this.#unfinishedWords[index] ?? 0) + bytes
      return
    }
    this.#words += tokensOfWord(this.#unfinishedWords[index] ?? 0)
    this.#unfinishedWords[index] = 0
  }
}
const BRACKETED_KINDS: ReadonlySet<string> = new Set(['object', 'skip'])

/** Bytes per token of a long word. */
const BYTES_PER_TOKEN = 4
const tokensOfWord = (bytes: number): number =>
  bytes === 0 ? 0 : Math.max(1, Math.floor(bytes / BYTES_PER_TOKEN))

/** The UTF-8 bytes of a JSON escape; 0: a space. */
const bytesOfEscape = (sequence: string): number => {
  const letter = sequence[1] ?? ''
  if (letter !== 'u') return 'nrtbf'.includes(letter) ? 0 : 1
  const code = Number.parseInt(sequence.slice(2), 16)
  if (code <= SPACE) return 0
  if (code < 0x80) return 1
  const surrogate = code >= 0xd800 && code < 0xe000
  return code < 0x800 || surrogate ? 2 : 3
}
