/** One attempt on one pool: sends the request, and is the source of the reply's body.
 *
 *  connecting ──connection──▶ awaiting-head ──head──▶ streaming ──last byte──▶ complete
 *  connecting, awaiting-head, streaming ──error, timeout, abort──▶ failed
 *  Before the head a failure is reported to `onFault`; behind it, to the sink of the body. */
import { errors, TollgateError } from '../errors.ts'
import type { ResponseConnection, ResponseHandler } from '../http-client/connection.ts'
import { UnsendableRequest } from '../http-client/request-head.ts'
import type { ResponseHeaders } from '../http-client/response-head.ts'
import type { Body, Bytes, Fault, Headers, Out } from '../plugin.ts'
import type { AttemptUnderWay } from '../request/exchange.ts'
import { FilteredReply } from '../response/filters.ts'
import { responseHeaders } from '../response/headers.ts'
import type { Source } from '../response/source.ts'
import type { HealthRules } from './health.ts'
import type { TimedRequest } from './inactivity-timer.ts'
import type { Origin } from './origin.ts'
import type { Deadlines } from './upstreams.ts'

/** Faults of a target, with any HTTP client. */
export const targetFault = errors({
  INSIDE_SILENT: [500, 'no stage answered for the upstream "%s"', { expose: false }],
  REQUEST_UNSENDABLE: [500, 'the request to "%s" cannot be sent: %s', { expose: false }],
  TARGET_UNREACHABLE: [502, 'The upstream %s cannot be reached.', { retryable: true }],
  TARGET_BUSY: [
    503,
    'No connection to the upstream %s became free within %d ms.',
    { retryable: true, headers: { 'retry-after': '1' } },
  ],
  TARGET_BROKE: [502, 'The upstream %s broke off before it answered.'],
  TARGET_CLOSED: [502, 'The upstream %s closed the connection before it had the whole request.'],
  TARGET_CUT: [502, 'The upstream %s broke off in the middle of its answer.'],
  TARGET_TIMEOUT: [504, 'The upstream %s did not answer within %d ms.'],
  TARGET_STALLED: [504, 'The upstream %s fell silent for %d ms in the middle of its answer.'],
})

export interface Sending {
  readonly origin: Origin
  readonly upstream: string
  readonly method: string
  readonly path: string
  readonly headers: Headers
  body: Body
  readonly deadlines: Deadlines
  /** Whether another target is asked after the time for the first byte. */
  readonly retriesTimeout?: boolean
  readonly health: HealthRules
  /** Whether a second sending does no harm (RFC 9110 §9.2.2). */
  readonly idempotent: boolean
}

/** `failures`: those of the address in a row before this head. `headers`: all that came. */
type OnReply = (reply: FilteredReply, failures: number, headers: ResponseHeaders) => void

/** Chunks kept before the body is started; then the connection is paused. */
const EARLY_CHUNKS = 4

type State =
  | { readonly name: 'connecting' | 'awaiting-head' | 'streaming' | 'complete' }
  | { readonly name: 'failed'; readonly fault: Fault }

const CONNECTING: State = { name: 'connecting' }
const AWAITING_HEAD: State = { name: 'awaiting-head' }
const STREAMING: State = { name: 'streaming' }
const COMPLETE: State = { name: 'complete' }

/** Turns the response of a connection into a Source. The last chunk becomes the tail. */
class Transport implements Source, TimedRequest, ResponseHandler, AttemptUnderWay {
  index = -1
  activeAt = 0
  /** ms that may pass without activity, in the present state. */
  deadline: number
  readonly #sending: Sending
  readonly #onReply: OnReply
  readonly #onFault: (reason: Fault) => void
  #state = CONNECTING
  #connection: ResponseConnection | undefined
  #out: Out | undefined
  /** Chunks and tail that arrived before the body was started. */
  #early: Bytes[] | undefined
  #tail: Bytes | undefined

  constructor(sending: Sending, onReply: OnReply, onFault: (reason: Fault) => void) {
    this.#sending = sending
    this.#onReply = onReply
    this.#onFault = onFault
    // The time for the first byte includes the wait for a connection, so that the wait has an end.
    this.deadline = sending.deadlines.first_byte
    sending.origin.inactivity.add(this)
  }
  get over(): boolean {
    return this.#state === COMPLETE || this.#state.name === 'failed'
  }
  /** Not while a stage lets the body wait. */
  get waiting(): boolean {
    return !this.over && this.#connection?.paused !== true
  }
  /** Asks for a connection. */
  send(): void {
    if (this.over) return // the client left before
    const { origin, method, path, headers, body } = this.#sending
    const isStream = body !== undefined && !(body instanceof Uint8Array)
    const sendableBody = isStream ? this.#upload(body) : body
    this.#sending.body = undefined
    try {
      origin.pool?.send({ method, path, headers, body: sendableBody }, this)
    } catch (error) {
      this.onError(error as Error)
    }
  }
  onStart(connection: ResponseConnection): void {
    this.#connection = connection
    this.#state = AWAITING_HEAD
  }
  onHead(status: number, headers: ResponseHeaders): void {
    if (this.over) return
    const { origin, health, deadlines } = this.#sending
    const now = performance.now()
    const failures = origin.health.recordResponse(status, headers, now, health)
    this.#state = STREAMING
    this.deadline = deadlines.idle
    this.#touch()
    const reply = new FilteredReply(status, responseHeaders(headers), undefined, this)
    this.#onReply(reply, failures, headers)
  }
  onData(chunk: Bytes): void {
    if (this.over) return
    this.#touch()
    if (this.#out) return this.#out.write(chunk)
    this.#early ??= []
    if (this.#early.push(chunk) >= EARLY_CHUNKS) this.#connection?.pause()
  }
  onEnd(tail: Bytes | undefined): void {
    if (this.over) return
    this.#tail = tail
    this.#finish(COMPLETE)
    this.#out?.end(tail)
  }
  onError(error: Error): void {
    if (this.over) return
    const { origin, health } = this.#sending
    // A fault of the client's body, or of a request that a stage made, is not the upstream's fault.
    const ownFault =
      error instanceof UnsendableRequest ? this.#unsendableFault(error) : clientFault(error)
    if (ownFault) origin.health.recordAbandoned()
    else origin.health.recordFailure(performance.now(), health)
    this.#fail(ownFault ?? this.#connectionFault(error))
  }
  onTimeout(): void {
    if (this.over) return
    const { origin, health } = this.#sending
    if (this.#connection) origin.health.recordFailure(performance.now(), health)
    this.abort(this.#timeoutFault())
  }
  start(out: Out): void {
    const earlyChunks = this.#early
    this.#early = undefined
    if (earlyChunks) for (const chunk of earlyChunks) out.write(chunk)
    this.#out = out
    if (this.#state.name === 'failed') return out.fail(this.#state.fault)
    if (this.#state === COMPLETE) return out.end(this.#tail)
    this.resume()
  }
  pause(): void {
    if (this.over) return
    this.deadline = Number.POSITIVE_INFINITY // a slow reader is not a silent upstream
    this.#connection?.pause()
  }
  resume(): void {
    if (this.over || !this.#connection?.paused) return
    this.deadline = this.#sending.deadlines.idle
    this.#touch()
    this.#connection.resume()
  }
  abort(reason: Fault): void {
    if (this.over) return
    this.#sending.origin.health.recordAbandoned()
    this.#fail(reason)
    this.#connection?.abort()
  }
  /** Passes a streamed request body on. Waiting for the client is not the upstream's silence; the
   *  time for the first byte counts from the last chunk. */
  async *#upload(body: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
    const client = body[Symbol.asyncIterator]()
    try {
      for (;;) {
        if (!this.#hasHead) this.deadline = Number.POSITIVE_INFINITY
        const { done, value } = await client.next()
        if (!this.#hasHead) this.deadline = this.#sending.deadlines.first_byte
        this.#touch()
        if (done) return
        yield value
      }
    } finally {
      await client.return?.()
    }
  }
  /** Whether a live response has had its head. */
  get #hasHead(): boolean {
    return this.#state === STREAMING || this.#state === COMPLETE
  }
  #fail(fault: Fault): void {
    const streaming = this.#hasHead
    this.#finish({ name: 'failed', fault })
    if (!streaming) return this.#onFault(fault)
    this.#out?.fail(fault)
  }
  #finish(state: State): void {
    this.#state = state
    const { origin } = this.#sending
    origin.inactivity.remove(this)
    origin.busy--
  }
  #touch(): void {
    this.activeAt = this.#sending.origin.inactivity.now
  }
  #timeoutFault(): Fault {
    const { upstream, deadlines, retriesTimeout: retryable = false } = this.#sending
    if (!this.#connection) return targetFault('TARGET_BUSY', [upstream, deadlines.first_byte])
    return this.#hasHead
      ? targetFault('TARGET_STALLED', [upstream, deadlines.idle])
      : targetFault('TARGET_TIMEOUT', [upstream, deadlines.first_byte], { retryable })
  }
  #unsendableFault(cause: UnsendableRequest): Fault {
    return targetFault('REQUEST_UNSENDABLE', [this.#sending.upstream, cause.message], { cause })
  }
  #connectionFault(cause: Error): Fault {
    const { upstream, idempotent } = this.#sending
    if (this.#hasHead) return targetFault('TARGET_CUT', [upstream], { cause })
    // Without a connection nothing was sent: the one case in which any request may be sent again.
    if (!this.#connection) return targetFault('TARGET_UNREACHABLE', [upstream], { cause })
    const code = this.#connection.isRequestCut ? 'TARGET_CLOSED' : 'TARGET_BROKE'
    return targetFault(code, [upstream], { cause, retryable: idempotent })
  }
}
/** The fault of a body that the client did not finish, or that a stage refused. */
const clientFault = (error: Error): Fault | undefined =>
  error instanceof TollgateError && error.status < 500 ? error : undefined

/** Aborts the attempt under way when no client waits for its reply any more. */
export interface Aborter {
  awaitAttempt(attempt: AttemptUnderWay): void
}
/** Calls `onReply` with the head of the response, or `onFault`. */
export const send = (
  sending: Sending,
  aborter: Aborter,
  onReply: OnReply,
  onFault: (reason: Fault) => void,
): void => {
  const { origin } = sending
  if (!origin.pool) return onFault(targetFault('INSIDE_SILENT', [sending.upstream]))
  origin.busy++
  if (origin.health.needsProbe) origin.health.recordAttempt(performance.now())
  const transport = new Transport(sending, onReply, onFault)
  aborter.awaitAttempt(transport)
  transport.send()
}
