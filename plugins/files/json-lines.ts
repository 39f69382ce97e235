/** Checks JSON Lines byte by byte in constant memory: every line is a JSON object in UTF-8, and
 *  none is too long. `JSON.parse` of a line could take many times its size. */
import type { Bytes } from '../../engine/plugin.ts'

export interface LineProblem {
  /** From 1. */
  readonly line: number
  readonly reason: string
}
/** Bytes of the longest line. */
const MAX_LINE = 16 * 2 ** 20
/** Nested arrays and objects. */
const MAX_DEPTH = 512

/** The token that may come next. A string, number or literal is read by a state of its own.
 *
 *  line ──"{"──▶ key or end ──key──▶ colon ──▶ value ──▶ after value ──","──▶ key, value
 *  after value of the outermost object ──▶ end ──line end──▶ line */
type State =
  | 'line'
  | 'value'
  | 'value or end'
  | 'key'
  | 'key or end'
  | 'colon'
  | 'after value'
  | 'end'
  | 'string'
  | 'escape'
  | 'hex'
  | 'literal'
  | 'number'

const [TAB, LF, CR, SPACE, QUOTE, COMMA, COLON] = [9, 10, 13, 32, 34, 44, 58]
const [BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [92, 91, 93, 123, 125]
const LITERALS: Readonly<Record<number, string>> = { 116: 'true', 102: 'false', 110: 'null' }
const ESCAPES = /["\\/bfnrt]/
const HEX = /[\da-fA-F]/

export class JsonLines {
  #state: State = 'line'
  /** The open arrays and objects: closing bytes, the innermost last. */
  readonly #open: number[] = []
  #line = 1
  #lineBytes = 0
  /** Whether the string is a key. */
  #isKey = false
  /** The rest of a literal or an escape. */
  #text = ''
  #number: NumberPhase = 'sign'
  #hasObject = false
  readonly #utf8 = new Utf8()

  /** Returns the first problem, after which the object must not be used. */
  write(bytes: Bytes): LineProblem | undefined {
    for (let index = 0; index < bytes.length; index++) {
      if (this.#state === 'string' && this.#utf8.isBetween) {
        const end = plainEnd(bytes, index)
        this.#lineBytes += end - index
        index = end
        if (index === bytes.length) break
      }
      const reason = this.#read(bytes[index] as number)
      if (reason !== undefined) return { line: this.#line, reason }
    }
    return this.#lineBytes > MAX_LINE ? this.#tooLong() : undefined
  }
  end(): LineProblem | undefined {
    if (!this.#hasObject) return { line: this.#line, reason: NO_OBJECT }
    const isComplete = this.#state === 'line' || this.#state === 'end'
    return isComplete ? undefined : { line: this.#line, reason: 'incomplete' }
  }
  #tooLong(): LineProblem {
    return { line: this.#line, reason: `longer than ${MAX_LINE} bytes` }
  }
  /** Returns why the byte is invalid. */
  #read(byte: number): string | undefined {
    if (byte === LF) return this.#endLine()
    if (++this.#lineBytes > MAX_LINE) return this.#tooLong().reason
    switch (this.#state) {
      case 'string':
        return this.#readString(byte)
      case 'escape':
      case 'hex':
        return this.#readEscape(byte)
      case 'literal':
        return this.#readLiteral(byte)
      case 'number':
        return this.#readNumber(byte)
      default:
        return this.#readToken(byte)
    }
  }
  #endLine(): string | undefined {
    if (this.#state !== 'line' && this.#state !== 'end') return INVALID
    this.#line++
    this.#lineBytes = 0
    this.#state = 'line'
    return undefined
  }
  #readToken(byte: number): string | undefined {
    if (byte === SPACE || byte === TAB || byte === CR) return undefined
    switch (this.#state) {
      case 'line':
        return byte === OPEN_OBJECT ? this.#openNested(CLOSE_OBJECT) : NO_OBJECT
      case 'key or end':
        return byte === CLOSE_OBJECT ? this.#close(byte) : this.#readKey(byte)
      case 'key':
        return this.#readKey(byte)
      case 'colon':
        if (byte !== COLON) return INVALID
        this.#state = 'value'
        return undefined
      case 'value or end':
        return byte === CLOSE_LIST ? this.#close(byte) : this.#readValue(byte)
      case 'value':
        return this.#readValue(byte)
      case 'after value':
        return this.#readAfterValue(byte)
      default:
        return INVALID
    }
  }
  #readKey(byte: number): string | undefined {
    if (byte !== QUOTE) return INVALID
    this.#isKey = true
    this.#state = 'string'
    return undefined
  }
  #readValue(byte: number): string | undefined {
    if (byte === OPEN_OBJECT) return this.#openNested(CLOSE_OBJECT)
    if (byte === OPEN_LIST) return this.#openNested(CLOSE_LIST)
    if (byte === QUOTE) {
      this.#isKey = false
      this.#state = 'string'
      return undefined
    }
    const literal = LITERALS[byte]
    if (literal === undefined) {
      this.#number = byte === MINUS ? 'sign' : byte === ZERO ? 'zero' : 'integer'
      this.#state = 'number'
      return byte === MINUS || isDigit(byte) ? undefined : INVALID
    }
    this.#text = literal.slice(1)
    this.#state = 'literal'
    return undefined
  }
  #readAfterValue(byte: number): string | undefined {
    const closing = this.#open.at(-1)
    if (byte === closing) return this.#close(byte)
    if (byte !== COMMA) return INVALID
    this.#state = closing === CLOSE_OBJECT ? 'key' : 'value'
    return undefined
  }
  #openNested(closing: number): string | undefined {
    if (this.#open.push(closing) > MAX_DEPTH) return `nested deeper than ${MAX_DEPTH} levels`
    this.#hasObject = true
    this.#state = closing === CLOSE_OBJECT ? 'key or end' : 'value or end'
    return undefined
  }
  #close(byte: number): string | undefined {
    if (this.#open.pop() !== byte) return INVALID
    this.#state = this.#open.length === 0 ? 'end' : 'after value'
    return undefined
  }
  #readString(byte: number): string | undefined {
    if (!this.#utf8.accepts(byte)) return 'not valid UTF-8'
    if (byte === BACKSLASH) this.#state = 'escape'
    else if (byte === QUOTE) this.#state = this.#isKey ? 'colon' : 'after value'
    else if (byte < SPACE) return INVALID
    return undefined
  }
  #readEscape(byte: number): string | undefined {
    const character = String.fromCharCode(byte)
    if (this.#state === 'hex') {
      if (!HEX.test(character)) return INVALID
      this.#text = this.#text.slice(1)
      if (this.#text === '') this.#state = 'string'
      return undefined
    }
    if (character === 'u') {
      this.#state = 'hex'
      this.#text = '0000'
      return undefined
    }
    this.#state = 'string'
    return ESCAPES.test(character) ? undefined : INVALID
  }
  #readNumber(byte: number): string | undefined {
    const next = nextPhase(this.#number, byte)
    if (next !== undefined) {
      this.#number = next
      return undefined
    }
    if (!COMPLETE[this.#number]) return INVALID
    this.#state = 'after value'
    return this.#readToken(byte)
  }
  #readLiteral(byte: number): string | undefined {
    if (this.#text.charCodeAt(0) !== byte) return INVALID
    this.#text = this.#text.slice(1)
    if (this.#text === '') this.#state = 'after value'
    return undefined
  }
}

/** How far a number is read: -, 0 or 12, 12., 12.5, 12.5e, 12.5e+, 12.5e+7. */
type NumberPhase = 'sign' | 'zero' | 'integer' | 'point' | 'fraction' | 'e' | 'e sign' | 'exponent'
const COMPLETE: Readonly<Partial<Record<NumberPhase, true>>> = {
  zero: true,
  integer: true,
  fraction: true,
  exponent: true,
}
const [MINUS, PLUS, POINT, ZERO, NINE, UPPER_E, LOWER_E] = [45, 43, 46, 48, 57, 69, 101]
const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE
/** Undefined if the byte does not belong to the number. */
const nextPhase = (phase: NumberPhase, byte: number): NumberPhase | undefined => {
  if (isDigit(byte)) {
    if (phase === 'sign') return byte === ZERO ? 'zero' : 'integer'
    if (phase === 'point') return 'fraction'
    if (phase === 'e' || phase === 'e sign') return 'exponent'
    return phase === 'zero' ? undefined : phase
  }
  if (byte === POINT) return phase === 'zero' || phase === 'integer' ? 'point' : undefined
  if (byte === LOWER_E || byte === UPPER_E)
    return phase !== 'exponent' && COMPLETE[phase] ? 'e' : undefined
  return (byte === PLUS || byte === MINUS) && phase === 'e' ? 'e sign' : undefined
}
const INVALID = 'not valid JSON'
const NO_OBJECT = 'not a dictionary'

/** The first byte of a string that needs a look: a quote, an escape, a control or non-ASCII byte.
 */
const plainEnd = (bytes: Bytes, from: number): number => {
  let index = from
  for (; index < bytes.length; index++) {
    const byte = bytes[index] as number
    if (byte < SPACE || byte === QUOTE || byte === BACKSLASH || byte > 0x7e) break
  }
  return index
}

/** Checks UTF-8 byte by byte (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
 */
class Utf8 {
  /** Bytes of the character that are still to come, and the range of the next one. */
  #remaining = 0
  #min = 0x80
  #max = 0xbf

  /** Whether the next byte begins a character. */
  get isBetween(): boolean {
    return this.#remaining === 0
  }
  accepts(byte: number): boolean {
    if (this.#remaining > 0) {
      const isValid = byte >= this.#min && byte <= this.#max
      this.#remaining--
      this.#min = 0x80
      this.#max = 0xbf
      return isValid
    }
    if (byte < 0x80) return true
    if (byte < 0xc2 || byte > 0xf4) return false
    this.#remaining = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
    if (byte === 0xe0) this.#min = 0xa0
    else if (byte === 0xed) this.#max = 0x9f
    else if (byte === 0xf0) this.#min = 0x90
    else if (byte === 0xf4) this.#max = 0x8f
    return true
  }
}
