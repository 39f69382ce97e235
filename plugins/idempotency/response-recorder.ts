/** Records a response as it passes, up to a size, and stores it or frees its key at the end. */
import type { Bytes, Fault, Filter, Headers, Out, Reply, Statement } from '../../engine/plugin.ts'
import { freeKey, storeResponse } from './statements.ts'

export interface RecorderOptions {
  readonly request: string
  readonly reply: Reply
  /** Bytes. */
  readonly largest: number
  /** Whether the response ends with an error inside its body. */
  hasFailed(): boolean
  /** Adds to the list that must be durable before the last byte. */
  add(statement: Statement): void
}

/** Statuses that ask for a retry, whose responses are not stored: RFC 9110 §15.5.9, RFC 8470,
 *  RFC 6585 §4, and conflicts of concurrent calls. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 425, 429])
const isFinal = (status: number): boolean => status < 500 && !RETRYABLE.has(status)

/** Headers that frame a message or describe one call only. */
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
