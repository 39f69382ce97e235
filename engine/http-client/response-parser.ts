/** Reads HTTP/1.1 responses out of reads of any length (RFC 9112); refuses ambiguous ones.
 *
 *  done ──expect──▶ awaiting-head ──head──▶ length, until-close, chunked ──end──▶ done */
import { ChunkedBody } from './chunked-body.ts'
import { isLength } from './grammar.ts'
import {
  HEAD_LIMIT,
  MalformedResponse,
  parseResponseHead,
  type ResponseHeaders,
} from './response-head.ts'

/** Receives one response: its head, any number of data, its end. */
export interface ResponseParts {
  /** Not called for interim responses (1xx). Names are in lower case; a repeated header has an
   *  array of values. */
  onHead(status: number, headers: ResponseHeaders): void
  /** The bytes belong to the receiver. */
  onData(chunk: Buffer): void
  /** `tail`: the last bytes, if they are known to be the last. */
  onEnd(tail: Buffer | undefined): void
}

const HEAD_END = Buffer.from('\r\n\r\n')

export class ResponseParser {
  /** Whether the connection can carry another request after this response. */
  isReusable = true
  /** The idle timeout that the upstream announces in Keep-Alive, ms. */
  keepAliveMs: number | undefined
  #parts: ResponseParts | undefined
  #state: 'done' | 'awaiting-head' | 'length' | 'until-close' | 'chunked' = 'done'
  /** The response is to HEAD: it has no body, also with a length in its head. */
  #bodiless = false
  /** The beginning of a head that is not whole yet. */
  #partialHead: Buffer | undefined
  /** Bytes to come, of a body with a length. */
  #remaining = 0
  readonly #chunks = new ChunkedBody()

  get isDone(): boolean {
    return this.#state === 'done'
  }
  /** Begins to wait for the response to a request of this method. */
  expect(method: string, parts: ResponseParts): void {
    this.#parts = parts
    this.#bodiless = method === 'HEAD'
    this.#state = 'awaiting-head'
  }
  /** Reports nothing more. */
  forget(): void {
    this.#parts = undefined
  }
  /** Reads `length` bytes of a buffer that is used again. Throws MalformedResponse. */
  read(buffer: Buffer, length: number): void {
    let at = 0
    while (this.#state === 'awaiting-head') {
      at = this.#readHead(buffer, at, length)
      if (at < 0) return
    }
    if (this.#state === 'length') at = this.#readLength(buffer, at, length)
    else if (this.#state === 'chunked') at = this.#readChunks(buffer, at, length)
    else if (this.#state === 'until-close') {
      if (at < length) this.#parts?.onData(copyOf(buffer, at, length))
      return
    }
    if (at < length) throw new MalformedResponse('bytes after the end of the response')
  }
  /** The upstream closed the connection in order. Returns false when that cut a response short. */
  close(): boolean {
    this.isReusable = false
    if (this.#state === 'until-close') this.#finish(undefined)
    return this.#state === 'done'
  }
  /** Returns where the body begins, or -1 while the head is not whole. */
  #readHead(read: Buffer, from: number, to: number): number {
    let [buffer, start, length] = [read, from, to]
    const before = this.#partialHead?.length ?? 0
    if (this.#partialHead) {
      buffer = Buffer.concat([this.#partialHead, read.subarray(from, to)])
      start = 0
      length = buffer.length
    }
    // The buffer may hold older bytes behind the length.
    const index = buffer.indexOf(HEAD_END, Math.max(start, before - 3))
    const end = index + HEAD_END.length > length ? -1 : index
    if ((end < 0 ? length : end) - start > HEAD_LIMIT)
      throw new MalformedResponse(`a head of more than ${HEAD_LIMIT} bytes`)
    if (end < 0) {
      this.#partialHead = copyOf(buffer, start, length)
      return -1
    }
    this.#partialHead = undefined
    this.#takeHead(buffer.toString('latin1', start, end))
    return end + HEAD_END.length - before + (before > 0 ? from : 0)
  }
  #takeHead(text: string): void {
    const { status, headers, isReusable, keepAliveMs } = parseResponseHead(text)
    if (status < 200) {
      if (!isReusable)
        throw new MalformedResponse('an interim response on a connection that ends with it')
      return
    }
    this.isReusable = isReusable
    this.keepAliveMs = keepAliveMs
    this.#state = this.#framing(status, headers)
    this.#parts?.onHead(status, headers)
    if (this.#state === 'length' && this.#remaining === 0) this.#finish(undefined)
  }
  /** RFC 9112 §6.3. */
  #framing(status: number, headers: ResponseHeaders): 'length' | 'until-close' | 'chunked' {
    const coding = headers['transfer-encoding']
    const length = headers['content-length']
    if (coding !== undefined && length !== undefined)
      throw new MalformedResponse('both Transfer-Encoding and Content-Length')
    if (coding !== undefined && (typeof coding !== 'string' || coding.toLowerCase() !== 'chunked'))
      throw new MalformedResponse('a Transfer-Encoding other than chunked')
    if (length !== undefined && (typeof length !== 'string' || !isLength(length)))
      throw new MalformedResponse('a Content-Length that is not a number')
    this.#remaining = 0
    if (this.#bodiless || status === 204 || status === 304) return 'length'
    if (coding !== undefined) {
      this.#chunks.start()
      return 'chunked'
    }
    if (length === undefined) {
      this.isReusable = false
      return 'until-close'
    }
    this.#remaining = Number(length)
    return 'length'
  }
  #readLength(buffer: Buffer, at: number, length: number): number {
    const end = Math.min(length, at + this.#remaining)
    if (end === at) return at
    const chunk = copyOf(buffer, at, end)
    this.#remaining -= end - at
    if (this.#remaining === 0) this.#finish(chunk)
    else this.#parts?.onData(chunk)
    return end
  }
  #readChunks(buffer: Buffer, from: number, length: number): number {
    const piece = this.#chunks.read(buffer, from, length)
    if (this.#chunks.isDone) this.#finish(piece)
    else if (piece) this.#parts?.onData(piece)
    return this.#chunks.position
  }
  #finish(tail: Buffer | undefined): void {
    this.#state = 'done'
    // An idle connection must not hold the objects of its last request.
    const parts = this.#parts
    this.#parts = undefined
    parts?.onEnd(tail)
  }
}

const copyOf = (buffer: Buffer, from: number, to: number): Buffer => {
  const copy = Buffer.allocUnsafe(to - from)
  buffer.copy(copy, 0, from, to)
  return copy
}
