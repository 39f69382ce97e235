/** The requests that one server has under way, and the end of each: log line, metrics, snapshot.
 *
 *  A server:  serving ──drain──▶ draining: replies end connections ──grace──▶ cutting: all refused
 *  A request: running ──the stages end, or one is stuck──▶ replying ──end──▶ (removed) */
import type { ServerResponse } from 'node:http'
import { errors } from '../errors.ts'
import { LOG_DETAILS, LOG_FIELDS } from '../kit.ts'
import type { Fault, Log } from '../plugin.ts'
import type { Resources } from '../snapshot/resources.ts'
import type { CompiledRoute, Snapshot } from '../snapshot/snapshot.ts'
import type { AcceptedRequest } from './accept-request.ts'
import type { Call, Ending } from './exchange.ts'
import { type Indexed, IndexedSet } from './indexed-set.ts'

const fault = errors({
  DRAINING: [503, 'The gateway is shutting down. Retry.', { headers: { 'retry-after': '1' } }],
  STAGE_STUCK: [
    500,
    '%s of route "%s" took longer than %d ms outside of `next()` (settings.timeouts.stage): does it wait for something that never comes?',
    { expose: false },
  ],
  FILTER_STUCK: [
    500,
    'a filter of route "%s" got the end of the reply and did not pass it on for %d ms (settings.timeouts.stage): does its `end` or `fail` miss a call of `out`?',
    { expose: false },
  ],
})

/** ms between two checks for stuck stages and filters. */
const CHECK_EVERY = 500
/** ms that the stages around a stuck one have to clean up before they count as stuck. */
const UNWINDING = 2_000

export class ActiveRequests {
  readonly resources: Resources
  readonly #active = new IndexedSet<RequestLifecycle>()
  /** The last small request: V8 drops compiled code once no object of the classes in it is left. */
  lastEnded: RequestLifecycle | undefined
  #phase: 'serving' | 'draining' | 'cutting' = 'serving'
  #flushing = 0
  readonly #timer: NodeJS.Timeout

  constructor(resources: Resources) {
    this.resources = resources
    this.#timer = setInterval(() => {
      const now = performance.now()
      for (const request of this.#active) request.checkProgress(now)
    }, CHECK_EVERY).unref()
  }
  get size(): number {
    return this.#active.size
  }
  /** Replies that have ended and are still being sent to slow readers. */
  get flushing(): number {
    return this.#flushing
  }
  get draining(): boolean {
    return this.#phase !== 'serving'
  }
  /** Why a new request is refused; undefined until the grace is over. */
  get refusal(): Fault | undefined {
    return this.#phase === 'cutting' ? fault('DRAINING') : undefined
  }
  add(request: RequestLifecycle): void {
    this.#active.add(request)
  }
  /** False when it was removed before. */
  remove(request: RequestLifecycle): boolean {
    if (request.acceptedRequest.request.body.byteCount < 16_384) this.lastEnded = request
    return this.#active.remove(request)
  }
  countFlush(response: ServerResponse): void {
    this.#flushing++
    response.once('close', () => this.#flushing--)
  }
  drain(): void {
    if (this.#phase === 'serving') this.#phase = 'draining'
  }
  /** The grace is over: ends every request that outlived it. */
  cut(): void {
    this.#phase = 'cutting'
    for (const { call } of this.#active) call.cut(fault('DRAINING'))
  }
  close(): void {
    clearInterval(this.#timer)
  }
}

/** Ends a request of which no stage can be rejected. */
export interface Refuser {
  commitAndRefuse(reason: Fault): Promise<void>
}

/** Logs what a listener of `onEnd` threw; the stack names the plugin. */
export const logEndFault = (log: Log, { id, route }: Call, reason: Fault): void => {
  const { code, cause, message } = reason
  const { stack } = (cause instanceof Error ? cause : reason) as { stack?: string }
  log.error({ id, route: route.name, code, stack }, `onEnd: ${message}`)
}

/** One request, as an object with methods: closures would cost a kilobyte a request. */
export class RequestLifecycle implements Indexed {
  index = -1
  readonly acceptedRequest: AcceptedRequest
  readonly #snapshot: Snapshot
  readonly #requests: ActiveRequests
  readonly #response: ServerResponse | undefined
  #phase: 'running' | 'replying' = 'running'
  /** The last time at which no stage was known to take time of its own, ms, monotonic. */
  #idleAt: number
  refuser: Refuser | undefined
  /** Retains the snapshot. `response`: none for a WebSocket. */
  constructor(
    acceptedRequest: AcceptedRequest,
    snapshot: Snapshot,
    requests: ActiveRequests,
    response?: ServerResponse,
  ) {
    this.acceptedRequest = acceptedRequest
    this.#snapshot = snapshot
    this.#requests = requests
    this.#idleAt = this.call.startedAt
    this.#response = response
    snapshot.retain()
    requests.add(this)
  }
  get call(): Call {
    return this.acceptedRequest.call
  }
  get compiledRoute(): CompiledRoute {
    return this.acceptedRequest.compiledRoute
  }
  get version(): string {
    return String(this.#snapshot.version)
  }
  /** ms that a client may read nothing before it is dropped. */
  get idleWrite(): number {
    return this.#snapshot.settings.timeouts.idle_write
  }
  /** Whether the reply ends its connection. After a declined upgrade Node drops the bytes that came
   *  with the offer, so the client must not continue there. */
  closesConnection(): boolean {
    const { upgrade, connection } = this.acceptedRequest.request.headers
    return (
      this.#requests.draining ||
      this.call.kind === 'websocket' ||
      (upgrade !== undefined && /\bupgrade\b/i.test(connection ?? ''))
    )
  }
  /** The pipeline has returned or thrown: only filters are checked from now on. */
  endStages(): void {
    this.#phase = 'replying'
  }
  /** Ends the request if a stage or a filter is stuck. */
  checkProgress(now: number): void {
    const { stage: limit } = this.#snapshot.settings.timeouts
    if (limit === 0) return
    if (this.#phase === 'running') this.#checkStages(now, limit)
    else this.#checkFilters(now, limit)
  }
  #checkFilters(now: number, limit: number): void {
    const { call } = this
    if (!call.hasReply || !call.requireReply().isHeldByFilter) this.#idleAt = now
    if (now - this.#idleAt <= limit) return
    this.#idleAt = now
    const reason = fault('FILTER_STUCK', [call.route.name, limit])
    this.logFault(reason)
    void this.refuser?.commitAndRefuse(reason)
  }
  /** Ends a stage that takes too long by itself. Waiting for the client's body or for an upstream
   *  does not count: these have deadlines of their own. Reading a chunk of the body is progress. */
  #checkStages(now: number, limit: number): void {
    const { call, request } = this.acceptedRequest
    const isWaiting = call.waitsForUpstream || request.body.index >= 0
    this.#idleAt = isWaiting ? now : Math.max(this.#idleAt, request.body.handedAt)
    if (now - this.#idleAt <= limit) return
    this.#idleAt = now - limit + UNWINDING
    const reason = call.stall(stage =>
      fault('STAGE_STUCK', [stage ? `stage "${stage}"` : 'a stage', call.route.name, limit]),
    )
    if (!reason) return
    this.endStages()
    this.logFault(reason)
    void this.refuser?.commitAndRefuse(reason)
  }
  /** Counts an open stream. Returns a function to call when it ends. */
  openStream(kind: 'sse' | 'websocket'): () => void {
    return this.#requests.resources.metrics.route(this.call.route.name).open(kind)
  }
  /** Logs the parts that the client does not get: a hidden fault, the cause of a 503. */
  logFault(reason: Fault): void {
    const { log } = this.#requests.resources
    const { id, route } = this.call
    const { code, cause, message } = reason
    if (!reason.expose) {
      const { stack } = (cause instanceof Error ? cause : reason) as { stack?: string }
      log.error({ id, route: route.name, code, stack }, message)
    } else if (reason.status === 503 && typeof cause === 'string')
      log.warn({ id, route: route.name, code, cause }, message)
  }
  /** `headAt`: when the head was written (ms, monotonic); 0 = never. Ends once. */
  end(ending: Ending, headAt: number): void {
    if (!this.#requests.remove(this)) return
    const response = this.#response
    if (response && response.writableLength > 0 && !response.destroyed)
      this.#requests.countFlush(response)
    this.#report(ending, headAt)
    this.#snapshot.release()
  }
  /** Writes the log line and the metrics. */
  #report(ending: Ending, headAt: number): void {
    const { log, metrics } = this.#requests.resources
    const { call, request: inbound } = this.acceptedRequest
    const { attempts, waitedMs, target } = call.progress
    const now = performance.now()
    const ms = now - call.startedAt
    const ownMs = (headAt || now) - Math.max(call.startedAt, inbound.body.arrivedAt) - waitedMs
    const addedMs = Math.max(0, ownMs)
    if (ending.end === 'cut')
      metrics.count('cut_total', { route: call.route.name, code: ending.fault?.code ?? 'none' })
    metrics
      .route(call.route.name)
      .end(ending.status, ms, addedMs, inbound.body.byteCount, ending.bytes)
    for (const reason of call.finish(ending)) logEndFault(log, call, reason)
    log.request({
      id: call.id,
      requestId: call.requestId === call.id ? undefined : call.requestId,
      trace: call.trace,
      route: call.route.name,
      method: inbound.method,
      path: inbound.path,
      status: ending.status,
      end: ending.end,
      ms,
      added: addedMs,
      bytes: ending.bytes,
      attempts,
      upstream: target?.upstream,
      target: target?.name,
      code: ending.fault?.code,
      fields: call.slots.get(LOG_FIELDS),
      details: call.slots.get(LOG_DETAILS),
    })
  }
}
