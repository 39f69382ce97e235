/** Keeps a copy of a reply on its way, up to a size, and says what becomes of its key when it ends. */
import type { Bytes, Fault, Filter, Headers, Out, Reply, Statement } from '../../engine/plugin.ts'
import { freeKey, storeResponse } from './statements.ts'

export interface RecorderOptions {
  readonly request: string
  readonly reply: Reply
  /** Bytes. */
  readonly largest: number
  /** Whether the reply ends in an error told inside it. */
  hasFailed(): boolean
  /** Into the list that must be durable before the last byte. */
  add(statement: Statement): void
}

/** What asks for another try is not an answer: RFC 9110 §15.5.9, RFC 8470, RFC 6585 §4, and what two calls at once meet. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 425, 429])
const isFinal = (status: number): boolean => status < 500 && !RETRYABLE.has(status)

/** What frames a message or tells of one call only, and so would be wrong of the next. */
const OF_ONE_CALL =
  /^(?:connection|content-length|date|retry-after|transfer-encoding|x-request-id|(?:x|anthropic)-ratelimit-.*|x-tollgate-.*)$/
const replayableHeaders = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_ONE_CALL.test(name)))

export class ResponseRecorder implements Filter {
  readonly #options: RecorderOptions
  #parts: Bytes[] | undefined
  #size = 0
  constructor(options: RecorderOptions) {
    this.#options = options
    if (isFinal(options.reply.status)) this.#parts = []
  }
  write(chunk: Bytes, out: Out): void {
    this.#record(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#record(tail)
    this.#options.add(this.#statement())
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    this.#options.add(freeKey(this.#options.request))
    out.fail(reason)
  }
  #record(bytes: Bytes): void {
    this.#size += bytes.length
    if (this.#size <= this.#options.largest) this.#parts?.push(bytes)
    else this.#parts = undefined
  }
  #statement(): Statement {
    const { request, reply, hasFailed } = this.#options
    if (!isFinal(reply.status) || hasFailed()) return freeKey(request)
    const headers = JSON.stringify(replayableHeaders(reply.headers))
    return storeResponse(request, reply.status, headers, this.#parts && Buffer.concat(this.#parts))
  }
}
