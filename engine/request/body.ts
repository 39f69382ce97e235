/** Reads a request's body: limits, minimum pace, content codings. Reads nothing early.
 *
 *  waiting ──prepare──▶ receiving ──64 KiB──▶ waiting, with a start ──stream──▶ streaming
 *  waiting ──bytes──▶ receiving ──last byte──▶ whole; with a coding: waiting, to be inflated
 *  receiving ──too large, too slow, cut──▶ refused */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { errors, TollgateError } from '../errors.ts'
import { LARGE, largeTurn } from '../kit.ts'
import type { Bytes } from '../plugin.ts'
import { hasBody, type RequestHeaders } from '../response/headers.ts'
import type { OutlineUse } from './body-json.ts'
import type { BodyPace, PacedBody } from './body-pace.ts'
import { Pieces } from './bytes.ts'
import type { SendableBody } from './exchange.ts'
import { inflate } from './inflate.ts'

const fault = errors({
  BODY_TOO_LARGE: [413, 'The request body is larger than %d bytes.'],
  BODY_ENCODING: [415, 'A body with Content-Encoding "%s" is not accepted here.'],
  BODY_CUT: [400, 'The request body ended early.'],
})

export interface BodyRules {
  /** Maximum size in bytes, as they arrive. */
  readonly limit: number
  readonly encodings: readonly string[]
  /** Maximum size in bytes after decompression. */
  readonly inflatedLimit: number
  readonly outlines?: OutlineUse
}

type State =
  /** `start`: bytes that were read before the body was taken. */
  | { readonly name: 'waiting'; readonly start: readonly Buffer[] }
  | { readonly name: 'receiving'; readonly reject: (reason: unknown) => void }
  | { readonly name: 'whole'; readonly bytes: Bytes }
  | { readonly name: 'streaming' | 'refused' }

const NONE: readonly Buffer[] = []
const UNREAD: State = { name: 'waiting', start: NONE }
const STREAMING: State = { name: 'streaming' }
const REFUSED: State = { name: 'refused' }

export class IncomingBody implements PacedBody, SendableBody {
  index = -1
  startedAt = 0
  handedAt = 0
  /** Bytes so far, as they arrived. */
  byteCount = 0
  /** When the whole body was there (ms, monotonic): waiting for it is not the gateway's time. */
  arrivedAt = 0
  /** Called when the body is taken: a client may wait for `100 Continue` before it sends. */
  onFirstRead: () => void = NOTHING
  readonly #incoming: IncomingMessage
  readonly #headers: RequestHeaders
  readonly #rules: BodyRules
  readonly #pace: BodyPace
  #state = UNREAD
  #bytes: Promise<Bytes> | undefined

  constructor(
    incoming: IncomingMessage,
    headers: RequestHeaders,
    rules: BodyRules,
    pace: BodyPace,
  ) {
    this.#incoming = incoming
    this.#headers = headers
    this.#rules = rules
    this.#pace = pace
  }
  get exists(): boolean {
    return hasBody(this.#headers)
  }
  get whole(): Bytes | undefined {
    return this.#state.name === 'whole' ? this.#state.bytes : undefined
  }
  get isStreamed(): boolean {
    return this.#state === STREAMING
  }
  get unread(): boolean {
    if (this.#incoming.complete || !this.exists) return false
    return this.byteCount > 0 || !(Number(this.#headers['content-length']) <= SKIPPABLE)
  }
  prepare(): Promise<unknown> | undefined {
    if (!this.exists || this.whole) return undefined
    if (this.#bytes || JSON_TYPE.test(this.#headers['content-type'] ?? '')) return this.bytes()
    this.#checkHead()
    // A client that sends next to nothing must not hold a connection to an upstream meanwhile.
    return this.#receive(START)
  }
  bytes(): Promise<Bytes> {
    this.#bytes ??= this.#collect()
    return this.#bytes
  }
  async *stream(): AsyncGenerator<Bytes> {
    if (this.#bytes || this.whole) {
      yield await this.bytes()
      return
    }
    this.#checkHead()
    const raw = this.#chunks([...this.#start])
    this.#state = STREAMING
    this.#open()
    try {
      const coding = this.#headers['content-encoding']
      yield* coding === undefined ? raw : inflate(raw, coding, this.#rules.inflatedLimit)
    } finally {
      this.#pace.remove(this)
    }
  }
  /** Ends `stream()`: what the client still sends is not read. */
  stop(): void {
    if (this.#incoming.complete) return
    this.#pace.remove(this)
    this.#state = REFUSED
  }
  refuse(reason: unknown): void {
    this.#pace.remove(this)
    const state = this.#state
    if (state.name !== 'receiving') return void this.#incoming.destroy(reason as Error)
    this.#state = REFUSED
    state.reject(reason)
  }
  get #start(): readonly Buffer[] {
    return this.#state.name === 'waiting' ? this.#state.start : NONE
  }
  /** From here on the client has to send. */
  #open(): void {
    this.onFirstRead()
    this.onFirstRead = NOTHING
    this.#pace.watch(this)
  }
  /** Throws the faults that the head alone shows, before a byte is read. */
  #checkHead(): void {
    const coding = this.#headers['content-encoding']
    if (coding !== undefined && coding !== 'identity' && !this.#rules.encodings.includes(coding))
      throw fault('BODY_ENCODING', [coding])
    if (Number(this.#headers['content-length']) > this.#rules.limit)
      throw fault('BODY_TOO_LARGE', [this.#rules.limit])
  }
  /** The body as it arrives. A reader that stops leaves the connection open for a reply. */
  async *#chunks(start: Buffer[]): AsyncGenerator<Bytes> {
    try {
      this.#pace.pause(this)
      for (let chunk = start.shift(); chunk; chunk = start.shift()) yield chunk
      this.#pace.resume(this)
      for await (const chunk of this.#incoming.iterator({ destroyOnReturn: false })) {
        this.byteCount += (chunk as Buffer).length
        if (this.#state === REFUSED) return
        if (this.byteCount > this.#rules.limit) throw fault('BODY_TOO_LARGE', [this.#rules.limit])
        this.#pace.pause(this)
        yield chunk as Buffer
        if (this.#state === REFUSED) return
        this.#pace.resume(this)
      }
    } catch (error) {
      throw error instanceof TollgateError ? error : fault('BODY_CUT', [], { cause: error })
    }
  }
  /** No async function: it would cost a promise more, and most bodies are one chunk. */
  #collect(): Promise<Bytes> {
    if (this.whole) return Promise.resolve(this.whole)
    try {
      if (this.isStreamed) throw new Error('the body was already taken as a stream')
      this.#checkHead()
    } catch (error) {
      return Promise.reject(error)
    }
    if (!this.exists) {
      this.#state = { name: 'whole', bytes: EMPTY }
      return Promise.resolve(EMPTY)
    }
    const coding = this.#headers['content-encoding']
    const raw = this.#receive(Number.POSITIVE_INFINITY)
    return coding === undefined ? raw : this.#inflateWhole(raw, coding)
  }
  async #inflateWhole(raw: Promise<Bytes>, coding: string): Promise<Bytes> {
    const plain = inflate(Readable.from([await raw]), coding, this.#rules.inflatedLimit)
    const bytes = Buffer.concat(await Array.fromAsync(plain))
    this.#state = { name: 'whole', bytes }
    return bytes
  }
  /** Resolves when `most` bytes are there, or the whole body. Listens to events: an async iterator
   *  costs a promise per chunk, and most bodies are one chunk. */
  #receive(most: number): Promise<Bytes> {
    return new Promise((resolve, reject) => {
      const incoming = this.#incoming
      const pieces = new Pieces(this.#start, Number(this.#headers['content-length']))
      let turnAt = LARGE
      // The state holds `reject`, and no closure over this request: measured, such a closure keeps
      // every request until a full collection.
      this.#state = { name: 'receiving', reject }
      this.#open()
      const onEnd = (): void => {
        this.#pace.remove(this)
        this.arrivedAt = performance.now()
        if (this.byteCount < LARGE) finish()
        else void largeTurn().then(finish)
      }
      const finish = (): void => {
        if (this.#state.name !== 'receiving') return
        const bytes = pieces.take()
        const isEncoded = this.#headers['content-encoding'] !== undefined
        this.#state = isEncoded ? { name: 'waiting', start: [bytes] } : { name: 'whole', bytes }
        resolve(bytes)
      }
      const onData = (chunk: Buffer): void => {
        if (this.#accepts(chunk)) pieces.add(chunk)
        else pieces.clear()
        if (this.#state.name !== 'receiving') return
        if (this.byteCount >= turnAt) {
          turnAt = this.byteCount + LARGE
          this.#waitForTurn()
        }
        if (this.byteCount < most) return
        incoming.off('data', onData).off('end', onEnd).pause()
        this.#pace.remove(this)
        this.#state = { name: 'waiting', start: pieces.list }
        resolve(EMPTY)
      }
      if (incoming.readableEnded) return onEnd()
      if (pieces.list.length > 0) incoming.resume() // it was paused when its start was there
      incoming.on('data', onData).on('end', onEnd)
      incoming.on('error', () => {
        if (this.#state.name === 'receiving') this.refuse(fault('BODY_CUT'))
      })
    })
  }
  /** Reads on in another turn: each turn reads 2 MiB of every connection that has them, and twenty
   *  such bodies at once stop the worker for 100 ms. */
  #waitForTurn(): void {
    this.#incoming.pause()
    this.#pace.pause(this)
    void largeTurn().then(() => {
      if (this.#state.name !== 'receiving') return
      this.#pace.resume(this)
      this.#incoming.resume()
    })
  }
  /** Counts a chunk. False when the body was refused, now or before. */
  #accepts(chunk: Buffer): boolean {
    if (this.#state.name !== 'receiving') return false
    this.byteCount += chunk.length
    if (this.byteCount <= this.#rules.limit) return true
    this.#incoming.pause()
    this.refuse(fault('BODY_TOO_LARGE', [this.#rules.limit]))
    return false
  }
}

/** Bytes that must be there before an upstream takes a body as it comes. */
const START = 65_536
const EMPTY = Buffer.alloc(0)
const NOTHING = (): void => {}
const JSON_TYPE = /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i
/** Bytes of an unread rest that is read and dropped, so that the connection can be used again. */
const SKIPPABLE = 65_536
