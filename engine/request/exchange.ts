/** One request and its reply, as the stages see it. Knows nothing of sockets. */
import { asFault, errors } from '../errors.ts'
import type {
  Body,
  Bytes,
  Exchange,
  Fault,
  Headers,
  Json,
  Outcome,
  Reply,
  Request,
  Route,
  Target,
} from '../plugin.ts'
import { Answer } from '../response/filters.ts'
import { Places } from './slot-store.ts'
import { Groups, type Store } from './writes.ts'

const fault = errors({
  NO_REPLY: [
    500,
    'route "%s" has no reply: does a stage return without `await next()` or `exchange.answer(…)`?',
    { expose: false },
  ],
})

/** A request as the engine holds it: what can be sent once more, and what goes on as it came. */
export interface Received extends Request {
  /** The body once it is read. */
  readonly whole: Bytes | undefined
  readonly hasBody: boolean
  /** Whether a streamed body was begun: then it can't be sent again. */
  readonly taken: boolean
  /** Before the first attempt: reads JSON whole, since it may have to be sent twice; of any other body, judges what its
   *  head says. Throws what the client did wrong, while nothing has left yet. */
  prepare(): Promise<unknown> | undefined
  /** Whether the client may still be sending a body that nobody reads. */
  readonly unread: boolean
  /** The query as it came. */
  readonly search: string
}

export interface CallOptions {
  readonly id: string
  /** What correlates: sent up and down as `x-request-id`, and W3C's trace id. */
  readonly requestId: string
  readonly traceId: string
  readonly kind: Exchange['kind']
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly request: Received
  readonly store: Store
  readonly targets: readonly Target[]
  readonly hangup: Exchange['hangup']
}

export class Call implements Exchange {
  readonly id: string
  readonly kind: Exchange['kind']
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly request: Received
  readonly requestId: string
  readonly traceId: string
  readonly slots: Places
  targets: readonly Target[]
  hangup: Exchange['hangup']
  /** Tries so far, and where the last one went: for the log line and the metrics. */
  attempts = 0
  target: Target | undefined
  /** ms spent waiting for upstreams: what is beside it is the gateway's own time. */
  waited = 0
  /** Why no stage may begin any more. */
  stalled: Fault | undefined
  #store: Store
  #writes: Groups | undefined
  #reply: Answer | undefined
  #controller: AbortController | undefined
  #ends: ((outcome: Outcome) => void)[] | undefined
  #over = false
  #left: Fault | undefined
  #abort: ((reason: Fault) => void) | undefined
  /** Stages that wait, the innermost last; also some that have ended since. */
  #stages: { readonly name: string | undefined; reject(reason: Fault): void }[] | undefined
  #upstream: Awaited | undefined
  /** Requests beside the pipeline that a stage waits for. */
  #sends = 0

  constructor(options: CallOptions) {
    this.id = options.id
    this.requestId = options.requestId
    this.traceId = options.traceId
    this.kind = options.kind
    this.route = options.route
    this.params = options.params
    this.request = options.request
    this.slots = new Places(options.route.name)
    this.targets = options.targets
    this.hangup = options.hangup
    this.#store = options.store
  }
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      Object.assign(this.#controller.signal, { [CALL]: this })
    }
    if (this.#left) this.#controller.abort(this.#left)
    return this.#controller.signal
  }
  get writes(): Groups {
    this.#writes ??= new Groups(this.#store, this.id)
    return this.#writes
  }
  /** Whether anything has to become durable: most calls of a free route never make a group. */
  get durable(): boolean {
    return this.#writes !== undefined && !this.#writes.idle
  }
  get reply(): Reply {
    return this.need()
  }
  get answered(): boolean {
    return this.#reply !== undefined
  }
  /** Whether it has ended: a late reply of an upstream finds nobody. */
  get over(): boolean {
    return this.#over
  }
  /** Why nobody waits for the reply any more. */
  get left(): Fault | undefined {
    return this.#left
  }
  need(): Answer {
    if (!this.#reply) throw fault('NO_REPLY', [this.route.name])
    return this.#reply
  }
  answer(status: number, body?: Body | Json, headers: Headers = {}): Answer {
    return this.take(toAnswer(status, body, headers))
  }
  take(reply: Answer): Answer {
    this.#reply = reply
    return reply
  }
  cut(reason: Fault): void {
    if (this.#reply) this.#reply.cut(reason)
    else this.leave(reason)
  }
  /** Nobody waits any more: aborts the attempt under way and refuses new ones. */
  leave(reason: Fault): void {
    if (this.#left) return
    this.#left = reason
    this.#controller?.abort(reason)
    this.#abort?.(reason)
    this.#reply?.cut(reason)
  }
  /** How the attempt under way is aborted; only the last one counts. */
  onLeave(abort: (reason: Fault) => void): void {
    this.#abort = abort
    if (this.#left) abort(this.#left)
  }
  /** A promise of the stage's that `stall` can reject. */
  guard(stage: Promise<void>, name: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#stages ??= []
      this.#stages.push({ name, reject })
      stage.then(resolve, reject)
    })
  }
  /** Fails the innermost stage that waits, as if it had thrown, and lets no other begin. Returns the
   *  fault where none waits. */
  stall(reason: (stage: string | undefined) => Fault): Fault | undefined {
    const stage = this.#stages?.pop()
    const thrown = reason(stage?.name)
    this.stalled = thrown
    this.leave(thrown)
    stage?.reject(thrown)
    return stage ? undefined : thrown
  }
  /** The attempt under way; only the last one counts. */
  awaits(upstream: Awaited): void {
    this.#upstream = upstream
  }
  /** A request beside the pipeline. Returns what to call when its reply has ended. */
  awaitsSend(): () => void {
    this.#sends++
    return () => void this.#sends--
  }
  /** Whether an upstream has the call, and no stage keeps it waiting. */
  get waiting(): boolean {
    return this.#sends > 0 || this.#upstream?.waiting === true
  }
  onEnd(listener: (outcome: Outcome) => void): void {
    this.#ends ??= []
    this.#ends.push(listener)
  }
  /** Ends it, once. A listener that throws is returned, so that the caller can log it. */
  finish(outcome: Outcome): readonly Fault[] {
    if (this.#over) return NONE
    this.#over = true
    if (outcome.end !== 'complete') this.#controller?.abort(outcome.fault)
    this.#writes?.close()
    if (!this.#ends) return NONE
    const faults: Fault[] = []
    for (const listener of this.#ends) {
      try {
        listener(outcome)
      } catch (thrown) {
        faults.push(asFault(thrown))
      }
    }
    return faults
  }
}

const NONE: readonly Fault[] = []

/** Something that has an end of its own: a deadline watches over it. */
export interface Awaited {
  readonly waiting: boolean
}
const CALL = Symbol('call')
/** Whose `signal` it is. */
export const callOf = (signal: AbortSignal | undefined): Call | undefined =>
  (signal as { [CALL]?: Call } | undefined)?.[CALL]

const isRaw = (body: Body | Json): body is Exclude<Body, undefined> =>
  body instanceof Uint8Array ||
  (typeof body === 'object' && body !== null && Symbol.asyncIterator in body)

/** Bytes and streams as they are; anything else as JSON. */
export const toAnswer = (status: number, body: Body | Json, headers: Headers): Answer => {
  if (body === undefined || isRaw(body)) return new Answer(status, { ...headers }, body)
  const bytes: Bytes = Buffer.from(JSON.stringify(body))
  return new Answer(status, { 'content-type': 'application/json', ...headers }, bytes)
}
