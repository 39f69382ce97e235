/** One request and its reply, as the stages see it. Knows nothing of sockets.
 *
 *  active ──finish──▶ ended: the reply was delivered or refused
 *  active ──abandon──▶ abandoned ──finish──▶ ended: no client waits, attempts are aborted
 *  The reply is set by `setReply`, at any time before the end; `cut` ends its body early. */
import type { WebSocket } from 'ws'
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
  SkippedTarget,
  Socket,
  Target,
  UpstreamView,
} from '../plugin.ts'
import { FilteredReply } from '../response/filters.ts'
import { PermittedTargets, type TargetRule } from '../upstream/permitted-targets.ts'
import { UpstreamSocket } from '../websocket/upstream-socket.ts'
import { SlotStore } from './slot-store.ts'
import { StageWatch } from './stage-watch.ts'
import { StatementGroups, type Store } from './writes.ts'

const fault = errors({
  NO_REPLY: [
    500,
    'route "%s" has no reply: does %s return without `await next()` or `exchange.answer(…)`?',
    { expose: false },
  ],
})

/** A body as attempts see it: whether it can be sent, and sent again. */
export interface SendableBody {
  readonly exists: boolean
  /** The whole body once it was read: it can be sent more than once. */
  readonly whole: Bytes | undefined
  /** Whether the body was taken as a stream: then it cannot be sent again. */
  readonly isStreamed: boolean
  /** Whether the connection should end with the reply: much of the body was not read. */
  readonly unread: boolean
  /** Reads JSON whole, since it may have to be sent twice, of any other body the start. Throws the
   *  client's faults before anything is sent. Undefined: nothing to wait for. */
  prepare(): Promise<unknown> | undefined
}
export interface EngineRequest extends Request {
  readonly body: SendableBody
  /** The query as it came, without the question mark. */
  readonly search: string
  /** No attempt follows: what was parsed from bytes is forgotten, and parsed again if needed. */
  release?(): void
}

export interface CallOptions {
  readonly id: string
  /** Sent upstream and to the client as `x-request-id`; `id` by default. */
  readonly requestId?: string
  readonly trace: string
  /** When its head arrived (ms, monotonic); now by default. */
  readonly startedAt?: number
  readonly kind: Exchange['kind']
  readonly route: Route
  readonly params?: Readonly<Record<string, string>>
  readonly request: EngineRequest
  readonly store: Store
  readonly targets?: readonly Target[]
  readonly hangup?: Exchange['hangup']
  /** See `ResumedCall`. */
  readonly upstreamPath?: string | undefined
}

/** The route of a request that matches none. */
export const NO_ROUTE: Route = {
  name: 'none',
  method: 'ANY',
  pattern: '/',
  has: () => false,
  option: () => undefined,
}

/** `reason`: why no client waits for the reply any more; undefined while one does. */
type State =
  | { readonly name: 'active'; readonly reason: undefined }
  | { readonly name: 'abandoned'; readonly reason: Fault }
  | { readonly name: 'ended'; readonly reason: Fault | undefined }

const ACTIVE: State = { name: 'active', reason: undefined }
const ENDED: State = { name: 'ended', reason: undefined }

/** A call so far, for the outcome, the log line and the metrics. */
interface CallProgress {
  attempts: number
  /** Target of the last attempt. */
  target: Target | undefined
  /** Name of its key. */
  key: string | undefined
  upstream: UpstreamView | undefined
  skipped: (SkippedTarget & { readonly candidate: object })[] | undefined
  /** ms spent waiting for upstreams; the rest of a call's time is the gateway's own. */
  waitedMs: number
  /** When the first byte of the body was sent (ms, monotonic); 0 before. */
  firstByteAt: number
}
/** How a call ended; the rest of its outcome is known to the call. */
export type Ending = Pick<Outcome, 'end' | 'status' | 'bytes'> & {
  readonly fault?: Fault | undefined
}

/** An attempt that has a deadline of its own. */
export interface AttemptUnderWay {
  /** Whether the upstream has the call, and no stage keeps it waiting. */
  readonly waiting: boolean
  abort(reason: Fault): void
}
const CALL = Symbol('call')
/** The call whose `signal` it is. */
export const callOf = (signal: AbortSignal | undefined): Call | undefined =>
  (signal as { [CALL]?: Call } | undefined)?.[CALL]

export class Call implements Exchange {
  readonly id: string
  readonly kind: Exchange['kind']
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly request: EngineRequest
  readonly requestId: string
  readonly trace: string
  readonly startedAt: number
  readonly upstreamPath: string | undefined
  readonly slots: SlotStore
  readonly #targets: PermittedTargets
  hangup: Exchange['hangup']
  readonly progress: CallProgress = {
    attempts: 0,
    target: undefined,
    key: undefined,
    upstream: undefined,
    skipped: undefined,
    waitedMs: 0,
    firstByteAt: 0,
  }
  readonly stages = new StageWatch()
  readonly #store: Store
  #state = ACTIVE
  #writes: StatementGroups | undefined
  #reply: FilteredReply | undefined
  #controller: AbortController | undefined
  #endListeners: ((outcome: Outcome) => void)[] | undefined
  #attempt: AttemptUnderWay | undefined

  constructor(options: CallOptions) {
    this.id = options.id
    this.requestId = options.requestId ?? options.id
    this.trace = options.trace
    this.startedAt = options.startedAt ?? performance.now()
    this.upstreamPath = options.upstreamPath
    this.kind = options.kind
    this.route = options.route
    this.params = options.params ?? {}
    this.request = options.request
    this.slots = new SlotStore(options.route.name)
    this.#targets = new PermittedTargets(options.targets ?? [])
    this.hangup = options.hangup ?? 'cancel'
    this.#store = options.store
  }
  get targets(): readonly Target[] {
    return this.#targets.list
  }
  set targets(targets: readonly Target[]) {
    this.#targets.replace(targets)
  }
  restrict(rule: TargetRule): void {
    this.#targets.restrict(rule)
  }
  permits(target: Target): boolean {
    return this.#targets.permits(target)
  }
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      Object.assign(this.#controller.signal, { [CALL]: this })
    }
    if (this.abandonReason) this.#controller.abort(this.abandonReason)
    return this.#controller.signal
  }
  get writes(): StatementGroups {
    this.#writes ??= new StatementGroups(this.#store, this.id)
    return this.#writes
  }
  /** Whether anything has to become durable: most calls of a route without prices make no group. */
  get durable(): boolean {
    return this.#writes !== undefined && !this.#writes.idle
  }
  get attempts(): number {
    return this.progress.attempts
  }
  get reply(): Reply {
    return this.requireReply()
  }
  get hasReply(): boolean {
    return this.#reply !== undefined
  }
  get ended(): boolean {
    return this.#state.name === 'ended'
  }
  /** Why no client waits for the reply any more; undefined while one does. */
  get abandonReason(): Fault | undefined {
    return this.#state.reason
  }
  requireReply(): FilteredReply {
    if (!this.#reply) throw fault('NO_REPLY', [this.route.name, this.stages.owner])
    return this.#reply
  }
  answer(status: number, body?: Content, headers: Headers = {}): FilteredReply {
    return this.setReply(toReply(status, body, headers))
  }
  setReply(reply: FilteredReply): FilteredReply {
    this.#reply = reply
    return reply
  }
  cut(reason: Fault): void {
    if (this.#reply) this.#reply.cut(reason)
    else this.abandon(reason)
  }
  /** Aborts the attempt under way and refuses new ones: no client waits for the reply any more. */
  abandon(reason: Fault): void {
    if (this.abandonReason) return
    this.#state = { name: this.ended ? 'ended' : 'abandoned', reason }
    this.#controller?.abort(reason)
    this.#attempt?.abort(reason)
    this.#reply?.cut(reason)
  }
  /** Sets the attempt under way, which `abandon` aborts; the last one set counts. */
  awaitAttempt(attempt: AttemptUnderWay): void {
    this.#attempt = attempt
    if (this.abandonReason) attempt.abort(this.abandonReason)
  }
  /** Whether the call waits for an upstream, and not for a stage. */
  get waitsForUpstream(): boolean {
    return this.stages.sending || this.#attempt?.waiting === true
  }
  /** Fails the innermost waiting stage. Returns the fault where no stage waits. */
  stall(makeFault: (stage: string | undefined) => Fault): Fault | undefined {
    const { fault, wasRejected } = this.stages.stall(makeFault)
    this.abandon(fault)
    return wasRejected ? undefined : fault
  }
  onEnd(listener: (outcome: Outcome) => void): void {
    this.#endListeners ??= []
    this.#endListeners.push(listener)
  }
  /** Ends the call, once. Returns the faults that listeners threw, for the caller to log. */
  finish(ending: Ending): readonly Fault[] {
    if (this.ended) return NO_FAULTS
    this.#state = this.abandonReason ? { name: 'ended', reason: this.abandonReason } : ENDED
    if (ending.end !== 'complete') this.#controller?.abort(ending.fault)
    this.#writes?.close()
    if (!this.#endListeners) return NO_FAULTS
    const outcome = outcomeOf(this, ending)
    const faults: Fault[] = []
    for (const listener of this.#endListeners.reverse()) {
      try {
        listener(outcome)
      } catch (error) {
        faults.push(asFault(error))
      }
    }
    return faults
  }
}

const NO_FAULTS: readonly Fault[] = []
type Content = Body | Json | Socket

const outcomeOf = (
  { startedAt, progress: { attempts, target, waitedMs, firstByteAt } }: Call,
  { fault, ...ending }: Ending,
): Outcome => ({
  ...ending,
  attempts,
  ...(target && { target }),
  ...(fault && { fault }),
  ms: {
    whole: performance.now() - startedAt,
    waited: waitedMs,
    ...(firstByteAt > 0 && { first: firstByteAt - startedAt }),
  },
})

const isBody = (body: Body | Json): body is Exclude<Body, undefined> =>
  body instanceof Uint8Array ||
  (typeof body === 'object' && body !== null && Symbol.asyncIterator in body)

/** Bytes and streams unchanged, a socket with 101; anything else as JSON. */
export const toReply = (status: number, content: Content, headers: Headers): FilteredReply => {
  if (status === 101)
    return new FilteredReply(101, headers, undefined, new UpstreamSocket(content as WebSocket))
  const body = content as Body | Json
  if (body === undefined || isBody(body)) return new FilteredReply(status, { ...headers }, body)
  const bytes: Bytes = Buffer.from(JSON.stringify(body))
  return new FilteredReply(status, { 'content-type': 'application/json', ...headers }, bytes)
}
