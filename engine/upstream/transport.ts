/** One attempt on one pool: sends it, and is the source of the reply's body. */
import { errors, TollgateError } from '../errors.ts'
import type { Asker, Connection } from '../http-client/connection.ts'
import { Unsendable } from '../http-client/request-head.ts'
import type { AnswerHeaders } from '../http-client/response-head.ts'
import type { Body, Bytes, Fault, Headers, Out } from '../plugin.ts'
import type { Awaited } from '../request/exchange.ts'
import { Answer } from '../response/filters.ts'
import { passDown } from '../response/headers.ts'
import type { Source } from '../response/source.ts'
import type { HealthRules } from './health.ts'
import type { Watched } from './inactivity-timer.ts'
import type { Origin } from './origin.ts'
import type { Deadlines } from './upstreams.ts'

/** What goes wrong with a target, on whatever wire. */
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
  readonly body: Body
  readonly deadlines: Deadlines
  readonly health: HealthRules
  /** Whether a second sending does no harm (RFC 9110 §9.2.2). */
  readonly idempotent: boolean
}

/** Chunks kept while nobody has asked for the body yet. */
const EARLY = 4

/** What a connection tells of an answer, as a Source. The chunk known to be the last is handed over as the tail. */
class Transport implements Source, Watched, Asker, Awaited {
  seat = -1
  heardAt = 0
  patience = 0
  over = false
  readonly #sending: Sending
  readonly #headed: (answer: Answer) => void
  readonly #failed: (reason: Fault) => void
  #connection: Connection | undefined
  #out: Out | undefined
  #early: Bytes[] | undefined
  #tail: Bytes | undefined
  #headDone = false
  #ended = false
  #fault: Fault | undefined

  constructor(sending: Sending, headed: (answer: Answer) => void, failed: (reason: Fault) => void) {
    this.#sending = sending
    this.#headed = headed
    this.#failed = failed
    // Counted from here, so that waiting for a connection has an end as well.
    this.patience = sending.deadlines.first_byte
    sending.origin.vigil.add(this)
  }
  /** Not while a stage leaves the body where it is. */
  get waiting(): boolean {
    return !this.over && this.#connection?.paused !== true
  }
  begun(connection: Connection): void {
    this.#connection = connection
  }
  head(status: number, headers: AnswerHeaders): void {
    if (this.over) return
    this.#report(status, headers['retry-after'])
    this.#headDone = true
    this.patience = this.#sending.deadlines.idle // from here on, of the pause between two chunks
    this.#heard()
    this.#headed(new Answer(status, passDown(headers), undefined, this))
  }
  data(chunk: Bytes): void {
    if (this.over) return
    this.#heard()
    if (this.#out) return this.#out.write(chunk)
    this.#early ??= []
    if (this.#early.push(chunk) >= EARLY) this.#connection?.pause()
  }
  end(tail: Bytes | undefined): void {
    if (this.over) return
    this.#tail = tail
    this.#ended = true
    this.#finish()
    this.#out?.end(tail)
  }
  broke(error: Error): void {
    if (this.over) return
    const { origin, health } = this.#sending
    // What the client's body broke, or a stage made of the request, is not the upstream's fault.
    const ours = error instanceof Unsendable ? this.#unsendable(error) : clientFault(error)
    if (ours) origin.health.abandoned()
    else origin.health.failed(performance.now(), health)
    this.#fail(ours ?? this.#named(error))
  }
  /** Asks for a connection. */
  go(): void {
    if (this.over) return // whoever asked had left before
    const { origin, method, path, headers, body } = this.#sending
    try {
      origin.pool?.ask({ method, path, headers, body: carried(body, this) }, this)
    } catch (thrown) {
      this.broke(thrown as Error)
    }
  }
  /** A streamed body on its way up. Waiting for the client is not the upstream's silence; waiting for it to take a
   *  chunk is, and its time for the first byte counts from the last one. */
  async *carry(body: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
    const client = body[Symbol.asyncIterator]()
    try {
      for (;;) {
        if (!this.#headDone) this.patience = Number.POSITIVE_INFINITY
        const { done, value } = await client.next()
        if (!this.#headDone) this.patience = this.#sending.deadlines.first_byte
        this.#heard()
        if (done) return
        yield value
      }
    } finally {
      await client.return?.()
    }
  }
  start(out: Out): void {
    const early = this.#early
    this.#early = undefined
    if (early) for (const chunk of early) out.write(chunk)
    this.#out = out
    if (this.#fault) return out.fail(this.#fault)
    if (this.#ended) return out.end(this.#tail)
    this.resume()
  }
  pause(): void {
    if (this.over) return
    this.patience = Number.POSITIVE_INFINITY // a slow reader is not a silent upstream
    this.#connection?.pause()
  }
  resume(): void {
    if (this.over || !this.#connection?.paused) return
    this.patience = this.#sending.deadlines.idle
    this.#heard()
    this.#connection.resume()
  }
  abort(reason: Fault): void {
    if (this.over) return
    this.#sending.origin.health.abandoned()
    this.#fail(reason)
    this.#connection?.abort()
  }
  #fail(reason: Fault): void {
    this.#fault = reason
    this.#finish()
    if (!this.#headDone) return this.#failed(reason)
    this.#out?.fail(reason)
  }
  #heard(): void {
    this.heardAt = this.#sending.origin.vigil.now
  }
  #finish(): void {
    this.over = true
    const { origin } = this.#sending
    origin.vigil.leave(this)
    origin.busy--
  }
  #report(status: number, retryAfter: string | string[] | undefined): void {
    const { origin, health } = this.#sending
    if (status === 429) origin.health.rest(performance.now() + restOf(retryAfter))
    else if (status >= 500) origin.health.failed(performance.now(), health)
    else origin.health.succeeded()
  }
  silent(): void {
    if (this.over) return
    const { origin, health } = this.#sending
    if (this.#connection) origin.health.failed(performance.now(), health)
    this.abort(this.#silence())
  }
  #silence(): Fault {
    const { upstream, deadlines } = this.#sending
    if (!this.#connection) return targetFault('TARGET_BUSY', [upstream, deadlines.first_byte])
    return this.#headDone
      ? targetFault('TARGET_STALLED', [upstream, deadlines.idle])
      : targetFault('TARGET_TIMEOUT', [upstream, deadlines.first_byte])
  }
  #unsendable(cause: Unsendable): Fault {
    return targetFault('REQUEST_UNSENDABLE', [this.#sending.upstream, cause.message], { cause })
  }
  #named(cause: Error): Fault {
    const { upstream, idempotent } = this.#sending
    if (this.#headDone) return targetFault('TARGET_CUT', [upstream], { cause })
    // Without a start nothing was sent: the one case in which any request may be tried again.
    if (!this.#connection) return targetFault('TARGET_UNREACHABLE', [upstream], { cause })
    return targetFault('TARGET_BROKE', [upstream], { cause, retryable: idempotent })
  }
}
/** How long a target rests that says 429 without saying how long, and the longest rest taken from its word, ms. */
const REST = { usual: 1_000, most: 60_000 }
const restOf = (retryAfter: string | string[] | undefined): number => {
  const seconds = Number(retryAfter)
  return seconds > 0 ? Math.min(seconds * 1_000, REST.most) : REST.usual
}
const carried = (body: Body, transport: Transport): Body =>
  body === undefined || body instanceof Uint8Array ? body : transport.carry(body)
/** A body that the client did not finish, or that a stage refused. */
const clientFault = (error: Error): Fault | undefined =>
  error instanceof TollgateError && error.status < 500 ? error : undefined

/** Whoever may want an attempt ended early; told of each one under way. */
export interface Aborter {
  onLeave(abort: (reason: Fault) => void): void
  awaits(upstream: Awaited): void
}
/** One of the two is called: with the head, or with why there is none. */
export const send = (
  sending: Sending,
  aborter: Aborter,
  headed: (answer: Answer) => void,
  failed: (reason: Fault) => void,
): void => {
  const { origin } = sending
  if (!origin.pool) return failed(targetFault('INSIDE_SILENT', [sending.upstream]))
  origin.busy++
  if (origin.health.doubtful) origin.health.tried(performance.now())
  const transport = new Transport(sending, headed, failed)
  aborter.onLeave(reason => transport.abort(reason))
  aborter.awaits(transport)
  transport.go()
}
