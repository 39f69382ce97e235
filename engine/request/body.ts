/** A request's body on its way in: limits, minimum pace, compressed bodies, JSON. Reads nothing nobody asks for. */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { errors, TollgateError } from '../errors.ts'
import type { Bytes, Json, Request } from '../plugin.ts'
import { hasBody, type RequestHeaders } from '../response/headers.ts'
import type { Pace, Paced } from './body-pace.ts'
import { joinLast } from './bytes.ts'
import { inflate } from './inflate.ts'
import { parseJson } from './json.ts'

const fault = errors({
  BODY_TOO_LARGE: [413, 'The request body is larger than %d bytes.'],
  BODY_ENCODING: [415, 'A body with Content-Encoding "%s" is not accepted here.'],
  BODY_CUT: [400, 'The request body ended early.'],
})

export interface BodyRules {
  /** Bytes as they arrive. */
  readonly limit: number
  readonly encodings: readonly string[]
  /** Bytes after inflation. */
  readonly inflated: number
}

export interface Head {
  readonly path: string
  readonly search: string
  readonly headers: RequestHeaders
  readonly encrypted: boolean
}

export class Inbound implements Request, Paced {
  readonly method: string
  readonly path: string
  readonly headers: RequestHeaders
  /** The query as it came, for what is forwarded as it came. */
  readonly search: string
  /** Bytes of the body so far. */
  received = 0
  /** When it was first asked for, and its place among those under way. */
  begunAt = 0
  seat = -1
  /** When the whole body was there (ms, monotonic): waiting for it is not the gateway's time. */
  arrivedAt = 0
  /** Told when somebody wants the body: a client may be waiting for that before it sends any. */
  asked: () => void = NOTHING
  readonly #incoming: IncomingMessage
  readonly #rules: BodyRules
  readonly #pace: Pace
  readonly #encrypted: boolean
  #query: URLSearchParams | undefined
  #bytes: Promise<Bytes> | undefined
  #json: Promise<Json> | undefined
  #parsed: Json | undefined
  #whole: Bytes | undefined
  #taken = false
  /** What was read of it before anybody was asked to take it. */
  #start: readonly Buffer[] = NONE
  #reject: ((reason: unknown) => void) | undefined

  constructor(incoming: IncomingMessage, head: Head, rules: BodyRules, pace: Pace) {
    this.method = incoming.method ?? 'GET'
    this.path = head.path
    this.search = head.search
    this.headers = head.headers
    this.#encrypted = head.encrypted
    this.#incoming = incoming
    this.#rules = rules
    this.#pace = pace
  }
  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.search)
    return this.#query
  }
  get client(): Request['client'] {
    return { address: this.#incoming.socket.remoteAddress ?? '', encrypted: this.#encrypted }
  }
  /** The body, when it is read: what can be sent more than once. */
  get whole(): Bytes | undefined {
    return this.#whole
  }
  get hasBody(): boolean {
    return hasBody(this.headers)
  }
  get taken(): boolean {
    return this.#taken
  }
  /** Whether what is still to come is better ended with its connection: it is much, or reading it broke off. */
  get unread(): boolean {
    if (this.#incoming.complete || !this.hasBody) return false
    return this.received > 0 || !(Number(this.headers['content-length']) <= SKIPPABLE)
  }
  prepare(): Promise<unknown> | undefined {
    if (!this.hasBody || this.#whole) return undefined
    if (this.#bytes || JSON_TYPE.test(this.headers['content-type'] ?? '')) return this.bytes()
    this.#judge()
    // Whoever sends next to nothing must not hold a connection to an upstream while it does.
    return this.#receive(START)
  }
  json(): Promise<Json> {
    this.#json ??= this.bytes().then(bytes => {
      this.#parsed = parseJson(bytes)
      return this.#parsed
    })
    return this.#json
  }
  get parsed(): Json | undefined {
    return this.#parsed
  }
  means(value: Json): void {
    this.#parsed = value
    this.#json = Promise.resolve(value)
  }
  bytes(): Promise<Bytes> {
    this.#bytes ??= this.#collect()
    return this.#bytes
  }
  async *stream(): AsyncGenerator<Bytes> {
    if (this.#bytes || this.#whole) {
      yield await this.bytes()
      return
    }
    this.#judge()
    this.#taken = true
    this.#open()
    try {
      yield* inflate(this.#counted(), this.headers['content-encoding'], this.#rules.inflated)
    } finally {
      this.#pace.leave(this)
    }
  }
  refuse(reason: unknown): void {
    this.#pace.leave(this)
    const reject = this.#reject
    this.#reject = undefined
    if (reject) reject(reason)
    else this.#incoming.destroy(reason as Error)
  }
  /** From here on the client has to send. */
  #open(): void {
    this.asked()
    this.asked = NOTHING
    this.#pace.watch(this)
  }
  /** False when nobody wants it any more, or it is too much. */
  #counts(chunk: Buffer): boolean {
    if (!this.#reject) return false
    this.received += chunk.length
    if (this.received <= this.#rules.limit) return true
    this.#incoming.pause()
    this.refuse(fault('BODY_TOO_LARGE', [this.#rules.limit]))
    return false
  }
  /** What is known before a byte is read. */
  #judge(): void {
    const coding = this.headers['content-encoding']
    if (coding !== undefined && coding !== 'identity' && !this.#rules.encodings.includes(coding))
      throw fault('BODY_ENCODING', [coding])
    if (Number(this.headers['content-length']) > this.#rules.limit)
      throw fault('BODY_TOO_LARGE', [this.#rules.limit])
  }
  /** As it arrives. Who stops reading leaves the connection standing, so that there can be an answer. */
  async *#counted(): AsyncGenerator<Bytes> {
    try {
      for (const chunk of this.#start) yield* this.#pace.excuse(this, chunk)
      this.#start = NONE
      for await (const chunk of this.#incoming.iterator({ destroyOnReturn: false })) {
        this.received += (chunk as Buffer).length
        if (this.received > this.#rules.limit) throw fault('BODY_TOO_LARGE', [this.#rules.limit])
        yield* this.#pace.excuse(this, chunk as Buffer)
      }
    } catch (thrown) {
      throw thrown instanceof TollgateError ? thrown : fault('BODY_CUT', [], { cause: thrown })
    }
  }
  /** A promise an async function less: most bodies are one chunk that needs no more than to be there. */
  #collect(): Promise<Bytes> {
    if (this.#whole) return Promise.resolve(this.#whole)
    try {
      if (this.#taken) throw new Error('the body was already taken as a stream')
      this.#judge()
    } catch (thrown) {
      return Promise.reject(thrown)
    }
    if (!this.hasBody) {
      this.#whole = EMPTY
      return Promise.resolve(EMPTY)
    }
    const coding = this.headers['content-encoding']
    const raw = this.#receive(Number.POSITIVE_INFINITY)
    return coding === undefined ? raw : this.#inflated(raw, coding)
  }
  async #inflated(raw: Promise<Bytes>, coding: string): Promise<Bytes> {
    this.#whole = await inflateAll(await raw, coding, this.#rules.inflated)
    return this.#whole
  }
  /** Resolves when this much is there, or all of it. Listens by hand: an async iterator costs a promise per chunk, and most
   *  bodies are one chunk. */
  #receive(most: number): Promise<Bytes> {
    return new Promise((resolve, reject) => {
      const incoming = this.#incoming
      const parts = [...this.#start]
      let joined = 0
      // Not a closure over this request: measured, such a one keeps every request until a full collection.
      this.#reject = reject
      this.#open()
      const left = (): void => {
        this.#pace.leave(this)
        this.#reject = undefined
      }
      const ended = (): void => {
        left()
        this.arrivedAt = performance.now()
        const whole = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
        if (this.headers['content-encoding'] === undefined) this.#whole = whole
        else this.#start = [whole]
        resolve(whole)
      }
      const arrived = (chunk: Buffer): void => {
        if (!this.#counts(chunk)) parts.length = 0
        else if (parts.push(chunk) - joined >= LOOSE) joined = joinLast(parts, joined)
        if (this.received >= most && this.#reject) {
          incoming.off('data', arrived).off('end', ended).pause()
          left()
          this.#start = parts
          resolve(EMPTY)
        }
      }
      if (incoming.readableEnded) return ended()
      if (parts.length > 0) incoming.resume() // it was paused when its start was there
      incoming.on('data', arrived).on('end', ended)
      incoming.on('error', () => this.#reject && this.refuse(fault('BODY_CUT')))
    })
  }
}
const NONE: readonly Buffer[] = []
/** Bytes that must be there before an upstream is asked to take a body as it comes. */
const START = 65_536
/** Pieces after which they become one: a piece of one byte takes 280 of memory, as measured. */
const LOOSE = 256
const EMPTY = Buffer.alloc(0)
const NOTHING = (): void => {}
const JSON_TYPE = /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i
/** An unread rest that is read and dropped, so that the connection can go on. */
const SKIPPABLE = 65_536

const inflateAll = async (raw: Bytes, coding: string, limit: number): Promise<Bytes> =>
  Buffer.concat(await Array.fromAsync(inflate(Readable.from([raw]), coding, limit)))
