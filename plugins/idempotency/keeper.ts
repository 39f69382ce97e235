/** Keeps a copy of a reply on its way, up to a size, and says what becomes of its key when it ends. */
import type { Bytes, Fault, Filter, Headers, Out, Reply, Statement } from '../../engine/plugin.ts'
import { freeKey, keepReply } from './statements.ts'

export interface KeeperOptions {
  readonly request: string
  readonly reply: Reply
  /** Bytes. */
  readonly largest: number
  /** Whether the reply ends in an error told inside it. */
  failed(): boolean
  /** Into the list that must be durable before the last byte. */
  add(statement: Statement): void
}

/** What asks for another try is not an answer: RFC 9110 §15.5.9, RFC 8470, RFC 6585 §4, and what two calls at once meet. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 425, 429])
const isAnswer = (status: number): boolean => status < 500 && !PASSING.has(status)

/** What frames a message or tells of one call only, and so would be wrong of the next. */
const OF_ONE_CALL =
  /^(?:connection|content-length|date|retry-after|transfer-encoding|x-request-id|(?:x|anthropic)-ratelimit-.*|x-tollgate-.*)$/
const lasting = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_ONE_CALL.test(name)))

export class Keeper implements Filter {
  readonly #options: KeeperOptions
  #parts: Bytes[] | undefined
  #size = 0
  constructor(options: KeeperOptions) {
    this.#options = options
    if (isAnswer(options.reply.status)) this.#parts = []
  }
  write(chunk: Bytes, out: Out): void {
    this.#take(chunk)
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#take(tail)
    this.#options.add(this.#verdict())
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    this.#options.add(freeKey(this.#options.request))
    out.fail(reason)
  }
  #take(bytes: Bytes): void {
    this.#size += bytes.length
    if (this.#size <= this.#options.largest) this.#parts?.push(bytes)
    else this.#parts = undefined
  }
  #verdict(): Statement {
    const { request, reply, failed } = this.#options
    if (!isAnswer(reply.status) || failed()) return freeKey(request)
    const headers = JSON.stringify(lasting(reply.headers))
    return keepReply(request, reply.status, headers, this.#parts && Buffer.concat(this.#parts))
  }
}
