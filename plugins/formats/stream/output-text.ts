/** Estimates the output tokens from the bytes of an answer, whole or as events, for any chunk
 *  boundaries. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import type { TextMember, TextPattern } from './text-pattern.ts'
import { WordCounter } from './word-counter.ts'

/** Longer than any name with its colon that a chunk boundary may split. */
const MAX_NAME = 64
const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENS = new Set([0x5b, 0x7b])
const CLOSES = new Set([0x5d, 0x7d])
/** Kinds of members whose value is read if it is an object or a list. */
const BRACKETED_KINDS: ReadonlySet<string> = new Set(['object', 'skip'])
const NO_MEMBER: TextMember = { kind: 'skip', index: 0 }
const NO_VALUE: OpenValue = { member: NO_MEMBER, isString: false }

/** The value being read. */
interface OpenValue {
  readonly member: TextMember
  /** False for an object or a list. */
  readonly isString: boolean
}

/** The same text gives the same number of tokens for any events and chunks. */
export class OutputTextEstimator {
  readonly #pattern: TextPattern
  readonly #words: WordCounter
  readonly #nesting = new Nesting()
  /** Bytes of the previous chunk that may begin a name or an escape. */
  #rest = ''
  #open: OpenValue | undefined
  #hasBegun = false
  /** A space follows the opening bracket. */
  #startsWithSpace = false
  /** The one of several repeated members that counts. */
  #countedAlternative: TextMember | undefined
  /** Values with text: in a stream, one for each event. */
  #pieces = 0

  constructor(pattern: TextPattern) {
    this.#pattern = pattern
    this.#words = new WordCounter(pattern.members.size)
  }
  /** Tokens of the whole text. */
  get tokens(): number {
    return this.#words.tokens
  }
  /** The tokens of a truncated answer: at least one per event with text. */
  get truncatedTokens(): number {
    return Math.max(this.tokens, this.#pieces)
  }
  push(bytes: Bytes): void {
    const text = this.#rest + asBuffer(bytes).toString('latin1')
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
    const member = members.get(name) ?? NO_MEMBER
    const isString = opening === '"'
    if (isString ? this.#countsString(member) : BRACKETED_KINDS.has(member.kind)) {
      this.#open = { member, isString }
      this.#hasBegun = this.#startsWithSpace = false
      this.#nesting.reset()
    }
    return names.lastIndex
  }
  #countsString({ kind, index }: TextMember): boolean {
    if (kind === 'either') return (this.#countedAlternative?.index ?? index) === index
    return kind === 'text'
  }
  #read(text: string, from: number): number {
    const { member, isString } = this.#open ?? NO_VALUE
    return isString ? this.#readString(text, from, member) : this.#readObject(text, from, member)
  }
  #readString(text: string, from: number, member: TextMember): number {
    const { index } = member
    const { unfinishedWords } = this.#words
    let word = unfinishedWords[index] ?? 0
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
          unfinishedWords[index] = word
          return text.length
        }
        bytes = bytesOfEscape(sequence)
        at += sequence.length - 1
      }
      if (bytes === 0) this.#words.finish(word)
      word = bytes === 0 ? 0 : word + bytes
    }
    unfinishedWords[index] = word
    if (at < text.length) this.#open = undefined
    return at + 1
  }
  /** Counts an object as written, with its keys; an empty one counts nothing. */
  #readObject(text: string, from: number, member: TextMember): number {
    const counts = member.kind === 'object'
    for (let at = from; at < text.length; at++) {
      const byte = text.charCodeAt(at)
      const isClosed = this.#nesting.closesWith(byte)
      if (byte <= SPACE) this.#startsWithSpace = true
      else if (counts && !this.#hasBegun && !isClosed) this.#beginObject(member)
      if (this.#hasBegun) this.#words.add(member.index, byte <= SPACE ? 0 : 1)
      if (!isClosed) continue
      this.#open = undefined
      return at + 1
    }
    return text.length
  }
  /** Adds the opening bracket, and the space after it, to the words of the member. */
  #beginObject(member: TextMember): void {
    this.#begin(member)
    this.#words.add(member.index, 1)
    if (this.#startsWithSpace) this.#words.add(member.index, 0)
  }
  #begin(member: TextMember): void {
    this.#hasBegun = true
    this.#pieces++
    if (member.kind === 'either') this.#countedAlternative = member
  }
}

/** Finds the end of an object or a list whose opening bracket has been read. */
class Nesting {
  #depth = 1
  #isQuoted = false
  #isEscaped = false

  reset(): void {
    this.#depth = 1
    this.#isQuoted = this.#isEscaped = false
  }
  /** Takes the next byte. Returns whether it closes the object or list. */
  closesWith(byte: number): boolean {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === QUOTE) this.#isQuoted = !this.#isQuoted
    else if (this.#isQuoted) this.#isEscaped = byte === BACKSLASH
    else if (OPENS.has(byte)) this.#depth++
    else if (CLOSES.has(byte)) this.#depth--
    return this.#depth === 0
  }
}

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
