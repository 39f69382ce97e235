/** HTTP/1.1 answers out of bytes in pieces of any size (RFC 9112). What two readers could read in two ways is broken. */

import { isLength } from './grammar.ts'
import {
  AnswerBroken,
  type AnswerHeaders,
  HEAD_MOST,
  readAnswerHead,
  readFields,
} from './response-head.ts'

/** Told of one answer in this order: head, data of any number, end. */
export interface Parts {
  /** Interim answers (1xx) are passed over. Names are in lower case; a name that came more than once has a list. */
  head(status: number, headers: AnswerHeaders): void
  /** Bytes that stay the receiver's. */
  data(chunk: Buffer): void
  /** `tail`: the last bytes, where they are known to be the last. */
  end(tail: Buffer | undefined): void
}

/** Bytes of the line that says a chunk's size. */
const LINE_MOST = 4 * 1024
/** Hexadecimal digits of a chunk's size: more are no exact number. */
const SIZE_DIGITS = 13

const LINE_END = '\r\n'
const HEAD_END = Buffer.from('\r\n\r\n')

const CR = 13
const LF = 10
const SEMICOLON = 59

const AWAITING = 0
const LENGTH = 1
const UNTIL_CLOSE = 2
const SIZE = 3
const EXTENSION = 4
const SIZE_LF = 5
const CHUNK = 6
const CHUNK_CR = 7
const CHUNK_LF = 8
const TRAILER = 9
const DONE = 10

export class AnswerParser {
  /** Whether the connection can carry another request after this answer. */
  reusable = true
  /** How long the upstream says that it keeps an idle connection, ms. */
  keeps: number | undefined
  #parts: Parts | undefined
  #state = DONE
  #bodiless = false
  #held: Buffer | undefined
  #left = 0
  #digits = 0
  #line = 0
  #trailers = ''

  get done(): boolean {
    return this.#state === DONE
  }
  /** An answer to a request of this method is awaited. */
  expect(method: string, parts: Parts): void {
    this.#parts = parts
    this.#bodiless = method === 'HEAD'
    this.#state = AWAITING
  }
  /** Nobody is told anything more. */
  forget(): void {
    this.#parts = undefined
  }
  /** The first `length` bytes of a buffer that is used again. Throws AnswerBroken. */
  read(buffer: Buffer, length: number): void {
    let at = 0
    while (this.#state === AWAITING) {
      at = this.#readHead(buffer, at, length)
      if (at < 0) return
    }
    if (this.#state === LENGTH) at = this.#readLength(buffer, at, length)
    else if (this.#state === UNTIL_CLOSE) {
      if (at < length) this.#parts?.data(copied(buffer, at, length))
      return
    } else if (this.#state !== DONE) at = this.#readChunks(buffer, at, length)
    if (at < length) throw new AnswerBroken('bytes after the end of the answer')
  }
  /** The upstream closed the connection in order. False where that broke an answer off. */
  close(): boolean {
    this.reusable = false
    if (this.#state === UNTIL_CLOSE) this.#finish(undefined)
    return this.#state === DONE
  }

  /** Returns where the body begins, or -1 while the head is not whole. */
  #readHead(given: Buffer, from: number, to: number): number {
    let [buffer, start, length] = [given, from, to]
    const before = this.#held?.length ?? 0
    if (this.#held) {
      buffer = Buffer.concat([this.#held, given.subarray(from, to)])
      start = 0
      length = buffer.length
    }
    // The buffer may hold older bytes behind the length.
    const found = buffer.indexOf(HEAD_END, Math.max(start, before - 3))
    const end = found + HEAD_END.length > length ? -1 : found
    if ((end < 0 ? length : end) - start > HEAD_MOST)
      throw new AnswerBroken(`a head of more than ${HEAD_MOST} bytes`)
    if (end < 0) {
      this.#held = copied(buffer, start, length)
      return -1
    }
    this.#held = undefined
    this.#takeHead(buffer.toString('latin1', start, end))
    return end + HEAD_END.length - before + (before > 0 ? from : 0)
  }
  #takeHead(text: string): void {
    const { status, headers, persistent, keeps } = readAnswerHead(text)
    if (status < 200) {
      if (!persistent) throw new AnswerBroken('an interim answer on a connection that ends with it')
      return
    }
    this.reusable = persistent
    this.keeps = keeps
    this.#state = this.#framing(status, headers)
    this.#parts?.head(status, headers)
    if (this.#state === LENGTH && this.#left === 0) this.#finish(undefined)
  }
  /** RFC 9112 §6.3. */
  #framing(status: number, headers: AnswerHeaders): number {
    const coding = headers['transfer-encoding']
    const length = headers['content-length']
    if (coding !== undefined && length !== undefined)
      throw new AnswerBroken('both Transfer-Encoding and Content-Length')
    if (coding !== undefined && (typeof coding !== 'string' || coding.toLowerCase() !== 'chunked'))
      throw new AnswerBroken('a Transfer-Encoding other than chunked')
    if (length !== undefined && (typeof length !== 'string' || !isLength(length)))
      throw new AnswerBroken('a Content-Length that is no number')
    this.#left = 0
    if (this.#bodiless || status === 204 || status === 304) return LENGTH
    if (coding !== undefined) {
      this.#digits = 0
      this.#line = 0
      this.#trailers = LINE_END
      return SIZE
    }
    if (length === undefined) {
      this.reusable = false
      return UNTIL_CLOSE
    }
    this.#left = Number(length)
    return LENGTH
  }
  #readLength(buffer: Buffer, at: number, length: number): number {
    const end = Math.min(length, at + this.#left)
    if (end === at) return at
    const chunk = copied(buffer, at, end)
    this.#left -= end - at
    if (this.#left === 0) this.#finish(chunk)
    else this.#parts?.data(chunk)
    return end
  }
  /** What one read brings of any number of chunks is handed on as one piece. */
  #readChunks(buffer: Buffer, from: number, length: number): number {
    let at = from
    let out: Buffer | undefined
    let used = 0
    while (at < length && this.#state !== DONE) {
      if (this.#state === CHUNK) {
        const end = Math.min(length, at + this.#left)
        out ??= Buffer.allocUnsafe(length - at)
        used += buffer.copy(out, used, at, end)
        this.#left -= end - at
        at = end
        if (this.#left === 0) this.#state = CHUNK_CR
      } else this.#step(buffer[at++] as number)
    }
    const piece = out && (used === out.length ? out : out.subarray(0, used))
    if (this.#state === DONE) this.#finish(piece)
    else if (piece) this.#parts?.data(piece)
    return at
  }
  /** One byte of what stands between the chunks. */
  #step(byte: number): void {
    switch (this.#state) {
      case SIZE: {
        const digit = hexOf(byte)
        if (digit >= 0 && this.#digits < SIZE_DIGITS) {
          this.#left = this.#left * 16 + digit
          this.#digits++
          return
        }
        if (digit >= 0 || this.#digits === 0) throw new AnswerBroken('a chunk without a size')
        if (byte === CR) this.#state = SIZE_LF
        else if (byte === SEMICOLON) this.#state = EXTENSION
        else throw new AnswerBroken('a chunk without a size')
        return
      }
      case EXTENSION:
        if (byte === CR) this.#state = SIZE_LF
        else if (byte === LF || ++this.#line > LINE_MOST)
          throw new AnswerBroken('a chunk extension without an end')
        return
      case SIZE_LF:
        need(byte, LF)
        this.#digits = 0
        this.#line = 0
        this.#state = this.#left === 0 ? TRAILER : CHUNK
        return
      case CHUNK_CR:
        need(byte, CR)
        this.#state = CHUNK_LF
        return
      case CHUNK_LF:
        need(byte, LF)
        this.#state = SIZE
        return
      default:
        this.#trailer(byte)
    }
  }
  /** Trailers are read and dropped: nothing in them may be merged into a head that has left. */
  #trailer(byte: number): void {
    this.#trailers += String.fromCharCode(byte)
    if (this.#trailers.length > HEAD_MOST) throw new AnswerBroken('trailers without an end')
    if (byte !== LF || !this.#trailers.endsWith('\r\n\r\n')) return
    readFields(this.#trailers.slice(0, -HEAD_END.length))
    this.#state = DONE
  }
  #finish(tail: Buffer | undefined): void {
    this.#state = DONE
    // An idle connection must not hold what its last request was about.
    const parts = this.#parts
    this.#parts = undefined
    parts?.end(tail)
  }
}

const need = (byte: number, wanted: number): void => {
  if (byte !== wanted) throw new AnswerBroken('a chunk whose end is not where its size says')
}
const hexOf = (byte: number): number => {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}
const copied = (buffer: Buffer, from: number, to: number): Buffer => {
  const copy = Buffer.allocUnsafe(to - from)
  buffer.copy(copy, 0, from, to)
  return copy
}
