/** One request's stay: what its delivery asks of the server, and what the log and the numbers are told when it is over.
 *  One object with methods, where closures would cost a kilobyte a request. */
import type { ServerResponse } from 'node:http'
import { errors } from '../errors.ts'
import type { Fault, Outcome } from '../plugin.ts'
import type { DeliveryFacts } from '../response/response-writer.ts'
import type { Resources } from '../snapshot/host.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Opened } from './accept-request.ts'
import type { Call } from './exchange.ts'
import type { Seated } from './indexed-set.ts'

/** The server, as its visits see it. */
export interface Premises {
  readonly resources: Resources
  /** Replies end their connections. */
  readonly leaving: boolean
  /** This reply has ended and is still on its way to a slow reader. */
  flush(response: ServerResponse): void
  /** False when it was not there any more. */
  depart(visit: Visit): boolean
}

const fault = errors({
  STAGE_STUCK: [
    500,
    '%s of route "%s" took longer than %d ms outside of `next()` (settings.timeouts.stage): does it wait for something that never comes?',
    { expose: false },
  ],
})
/** ms that the stages around one that was stuck have to clean up before they count as stuck. */
const UNWINDING = 2_000

export class Visit implements DeliveryFacts, Seated {
  seat = -1
  /** While its stages run: until there is a reply, or none. */
  running = true
  /** What refuses it where no stage can be rejected. */
  delivery: { settle(reason: Fault): Promise<void> } | undefined
  /** Until when its stages have taken no time of their own, ms, monotonic. */
  #since: number
  readonly opened: Opened
  readonly #snapshot: Snapshot
  readonly #premises: Premises
  readonly #response: ServerResponse | undefined
  readonly #started: number
  /** Its snapshot stays as long as it does. `started`: ms, monotonic. */
  constructor(
    opened: Opened,
    snapshot: Snapshot,
    premises: Premises,
    started: number,
    response?: ServerResponse,
  ) {
    this.opened = opened
    this.#snapshot = snapshot
    this.#premises = premises
    this.#started = started
    this.#since = started
    this.#response = response
    snapshot.retain()
  }
  get call(): Call {
    return this.opened.call
  }
  get version(): string {
    return String(this.#snapshot.version)
  }
  get idleWrite(): number {
    return this.#snapshot.settings.timeouts.idle_write
  }
  /** Behind a declined offer Node drops what came with it: so the client must not go on there. */
  closing(): boolean {
    const { upgrade, connection } = this.opened.inbound.headers
    return (
      this.#premises.leaving || (upgrade !== undefined && /\bupgrade\b/i.test(connection ?? ''))
    )
  }
  /** Ends a stage that takes too long by itself. Waiting for the client's body or for an upstream does
   *  not count: these have deadlines of their own. */
  checkStages(now: number): void {
    const { stage: limit } = this.#snapshot.settings.timeouts
    if (!this.running || limit === 0) return
    const { call, inbound } = this.opened
    if (call.waiting || inbound.seat >= 0) this.#since = now
    if (now - this.#since <= limit) return
    this.#since = now - limit + UNWINDING
    const reason = call.stall(stage =>
      fault('STAGE_STUCK', [stage ? `stage "${stage}"` : 'a stage', call.route.name, limit]),
    )
    if (!reason) return
    this.running = false
    this.stumbled(reason)
    void this.delivery?.settle(reason)
  }
  streaming(kind: 'sse' | 'websocket' = 'sse'): () => void {
    return this.#premises.resources.metrics.route(this.call.route.name).open(kind)
  }
  /** Logs what the client does not read: a hidden fault, and the cause of a 503. */
  stumbled(reason: Fault): void {
    const { id, route } = this.call
    const { code, cause } = reason
    if (reason.expose) {
      if (reason.status === 503 && typeof cause === 'string')
        this.#premises.resources.log.warn({ id, route: route.name, code, cause }, reason.message)
      return
    }
    const { stack } = (cause instanceof Error ? cause : reason) as { stack?: string }
    this.#premises.resources.log.error({ id, route: route.name, code, stack }, reason.message)
  }
  /** `headAt`: when the head of the reply was written (ms, monotonic); 0 = it never was. */
  ended(outcome: Outcome, headAt: number): void {
    if (!this.#premises.depart(this)) return
    const response = this.#response
    if (response && response.writableLength > 0 && !response.destroyed)
      this.#premises.flush(response)
    this.#tell(outcome, headAt)
    this.#snapshot.release()
  }
  /** One line and the numbers. */
  #tell(outcome: Outcome, headAt: number): void {
    const { log, metrics } = this.#premises.resources
    const { call, inbound } = this.opened
    const now = performance.now()
    const ms = now - this.#started
    const own = (headAt || now) - Math.max(this.#started, inbound.arrivedAt) - call.waited
    const added = Math.max(0, own)
    if (outcome.end === 'cut')
      metrics.count('cut_total', { route: call.route.name, code: outcome.fault?.code ?? 'none' })
    metrics.route(call.route.name).end(outcome.status, ms, added, inbound.received, outcome.bytes)
    for (const reason of call.finish(outcome))
      log.error({ id: call.id, code: reason.code }, `onEnd: ${reason.message}`)
    log.request({
      id: call.id,
      requestId: call.requestId === call.id ? undefined : call.requestId,
      trace: call.traceId,
      route: call.route.name,
      method: inbound.method,
      path: inbound.path,
      status: outcome.status,
      end: outcome.end,
      ms,
      added,
      bytes: outcome.bytes,
      attempts: call.attempts,
      upstream: call.target?.upstream,
      target: call.target?.name,
      code: outcome.fault?.code,
    })
  }
}
