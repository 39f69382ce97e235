/** Reads a chunked body (RFC 9112 §7.1), cut into reads of any length.
 *
 *  size ──LF──▶ data ──CR LF──▶ size ──LF of size 0──▶ trailers ──empty line──▶ done
 *  size ──";"──▶ extension ──CR──▶ size-lf; data ──▶ data-cr ──▶ data-lf */
import { HEAD_LIMIT, MalformedResponse, parseHeaderLines } from './response-head.ts'

/** Maximum size of a chunk extension, in bytes. */
const EXTENSION_LIMIT = 4 * 1024
/** Hexadecimal digits of a chunk's size; with more the size would be no exact number. */
const SIZE_DIGITS = 13

const CR = 13
const LF = 10
const SEMICOLON = 59

type State = 'size' | 'extension' | 'size-lf' | 'data' | 'data-cr' | 'data-lf' | 'trailers' | 'done'

export class ChunkedBody {
  /** Where the last read stopped in its buffer: behind the body when that is done. */
  position = 0
  #state: State = 'done'
  /** The size while it is read; then bytes of data to come. */
  #remaining = 0
  #digits = 0
  #extension = 0
  #trailers = ''

  get isDone(): boolean {
    return this.#state === 'done'
  }
  /** Begins another body. */
  start(): void {
    this.#state = 'size'
    this.#remaining = 0
    this.#digits = 0
    this.#extension = 0
    this.#trailers = '\r\n'
  }
  /** Returns the data of all chunks in this read as one piece. Throws MalformedResponse. */
  read(buffer: Buffer, from: number, length: number): Buffer | undefined {
    let at = from
    let piece: Buffer | undefined
    let pieceLength = 0
    while (at < length && this.#state !== 'done') {
      if (this.#state === 'data') {
        const end = Math.min(length, at + this.#remaining)
        piece ??= Buffer.allocUnsafe(length - at)
        pieceLength += buffer.copy(piece, pieceLength, at, end)
        this.#remaining -= end - at
        at = end
        if (this.#remaining === 0) this.#state = 'data-cr'
      } else this.#step(buffer[at++] as number)
    }
    this.position = at
    return piece && (pieceLength === piece.length ? piece : piece.subarray(0, pieceLength))
  }
  /** Reads one byte between the chunks. */
  #step(byte: number): void {
    switch (this.#state) {
      case 'size':
        return this.#readSize(byte)
      case 'extension':
        if (byte === CR) this.#state = 'size-lf'
        else if (byte === LF || ++this.#extension > EXTENSION_LIMIT)
          throw new MalformedResponse('a chunk extension without an end')
        return
      case 'size-lf':
        requireByte(byte, LF)
        this.#digits = 0
        this.#extension = 0
        this.#state = this.#remaining === 0 ? 'trailers' : 'data'
        return
      case 'data-cr':
        requireByte(byte, CR)
        this.#state = 'data-lf'
        return
      case 'data-lf':
        requireByte(byte, LF)
        this.#state = 'size'
        return
      default:
        this.#readTrailer(byte)
    }
  }
  #readSize(byte: number): void {
    const digit = hexDigit(byte)
    if (digit >= 0 && this.#digits < SIZE_DIGITS) {
      this.#remaining = this.#remaining * 16 + digit
      this.#digits++
      return
    }
    if (digit >= 0 || this.#digits === 0) throw new MalformedResponse('a chunk without a size')
    if (byte === CR) this.#state = 'size-lf'
    else if (byte === SEMICOLON) this.#state = 'extension'
    else throw new MalformedResponse('a chunk without a size')
  }
  /** Checks and drops trailers: no field may be merged into a head that was passed on. */
  #readTrailer(byte: number): void {
    this.#trailers += String.fromCharCode(byte)
    if (this.#trailers.length > HEAD_LIMIT) throw new MalformedResponse('trailers without an end')
    if (byte !== LF || !this.#trailers.endsWith('\r\n\r\n')) return
    parseHeaderLines(this.#trailers.slice(0, -4))
    this.#state = 'done'
  }
}

const requireByte = (byte: number, expected: number): void => {
  if (byte !== expected) throw new MalformedResponse('a chunk whose end is not where its size says')
}
const hexDigit = (byte: number): number => {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}
