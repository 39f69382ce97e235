/** Runs every request of a server through its snapshot, and tells the log and the numbers how it ended. */
import type http from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Inbound, Pace } from './body.ts'
import { Delivery } from './delivery.ts'
import { type Crowd, drain } from './drain.ts'
import { asFault, errors } from './errors.ts'
import type { Call } from './exchange.ts'
import type { Resources } from './host.ts'
import { createIds } from './ids.ts'
import { nobody, type Opened, type OpeningKit, openCall } from './opening.ts'
import { Overload } from './overload.ts'
import { lastWords, Parting, refuseSocket } from './parting.ts'
import type { Fault, Outcome } from './plugin.ts'
import { plainRefusal } from './refusal.ts'
import { Roster, type Seated } from './roster.ts'
import type { Snapshot } from './snapshot.ts'
import { WebSockets } from './websocket.ts'

const fault = errors({
  OVERLOADED: [
    503,
    'The gateway is overloaded; try again in a moment.',
    { headers: { 'retry-after': '1' } },
  ],
  CONNECT_REFUSED: [405, 'CONNECT is not served here: this gateway is no tunnel.'],
  DRAINING: [503, 'The gateway is shutting down.', { headers: { 'retry-after': '1' } }],
})

/** How long a body may take before its pace counts, ms. */
const BODY_GRACE = 10_000

interface Active extends Seated {
  readonly call: Call
}

export class Gateway implements Crowd {
  readonly #current: () => Snapshot
  readonly #resources: Resources
  readonly #kit: OpeningKit
  readonly #pace: Pace
  readonly #overload = new Overload()
  readonly #active = new Roster<Active>()
  readonly #parting = new Parting()
  readonly #webSockets = new WebSockets()
  /** Replies that have ended and are still on their way to slow readers. */
  flushing = 0
  /** Replies end their connections. */
  #leaving = false
  /** The grace is over: nothing new begins. */
  #ending = false

  constructor(current: () => Snapshot, resources: Resources) {
    this.#current = current
    this.#resources = resources
    this.#pace = new Pace(current().settings.timeouts.body_rate, BODY_GRACE)
    this.#kit = { store: resources.database, pace: this.#pace, ids: createIds() }
  }
  /** Requests and connections under way. */
  get open(): number {
    return this.#active.size
  }
  /** `asks`: the client waits to be told to send its body. */
  accept(incoming: IncomingMessage, response: ServerResponse, asks = false): void {
    if (this.#parting.has(incoming.socket)) return // it stands behind a refusal that ends the connection
    const started = performance.now()
    const snapshot = this.#current()
    let opened: Opened
    try {
      opened = openCall(incoming, snapshot, 'http', this.#kit)
    } catch (thrown) {
      return this.#turnAway(incoming, response, snapshot, asFault(thrown))
    }
    const { call, compiled, inbound } = opened
    if (asks) inbound.asked = () => response.writeContinue()
    snapshot.retain()
    const delivery = new Delivery(call, compiled, response, {
      version: String(snapshot.version),
      idleWrite: snapshot.settings.timeouts.idle_write,
      // Behind a declined offer Node drops what came with it: so the client must not go on there.
      closing: () => this.#leaving || offersUpgrade(inbound.headers),
      streaming: () => this.#resources.metrics.route(call.route.name).open('sse'),
      stumbled: reason => this.#report(call, reason),
      ended: (outcome, headAt) => {
        this.#active.leave(delivery)
        if (response.writableLength > 0 && !response.destroyed) this.#flush(response)
        this.#tell(opened, outcome, started, headAt)
        snapshot.release()
      },
    })
    this.#active.add(delivery)
    const refusal = this.#shed() ?? opened.refusal
    if (refusal) return delivery.refuse(refusal)
    if (compiled.ping > 0) this.#armPings(delivery, compiled.ping, inbound)
    compiled
      .run(call)
      .then(() => (call.durable ? call.writes.commit() : undefined))
      .then(() => delivery.deliver())
      .catch(thrown => this.#stumble(delivery, asFault(thrown)))
  }
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const started = performance.now()
    const snapshot = this.#current()
    let opened: Opened
    try {
      opened = openCall(incoming, snapshot, 'websocket', this.#kit)
    } catch (thrown) {
      return refuseSocket(socket, plainRefusal(asFault(thrown), nobody(incoming, this.#kit)))
    }
    const refusal = this.#shed()
    if (refusal) opened = { ...opened, refusal }
    snapshot.retain()
    const present: Active = { call: opened.call, seat: -1 }
    this.#active.add(present)
    const end = (outcome: Outcome): void => {
      if (!this.#active.leave(present)) return
      this.#tell(opened, outcome, started, openAt)
      snapshot.release()
    }
    let openAt = 0
    const { route } = opened.call
    const given = {
      ...{ ...opened, incoming, socket, head, version: String(snapshot.version) },
      idleWrite: snapshot.settings.timeouts.idle_write,
      begun: () => {
        openAt = performance.now()
        return this.#resources.metrics.route(route.name).open('websocket')
      },
      stumbled: (reason: Fault) => this.#report(opened.call, reason),
    }
    this.#webSockets.upgrade(given).then(end, (thrown: unknown) => {
      const reason = asFault(thrown)
      socket.destroy()
      end({ end: 'refused', status: reason.status, attempts: 0, bytes: 0, fault: reason })
    })
  }
  connect(incoming: IncomingMessage, socket: Duplex): void {
    refuseSocket(socket, plainRefusal(fault('CONNECT_REFUSED'), nobody(incoming, this.#kit)))
  }
  malformed(error: NodeJS.ErrnoException, socket: Duplex): void {
    this.#parting.malformed(error, socket)
  }
  leave(): void {
    this.#leaving = true
  }
  async drain(server: http.Server, grace: number): Promise<void> {
    this.#leaving = true
    await drain(server, grace, this)
    this.#pace.close()
    this.#overload.close()
    this.#webSockets.close()
  }
  /** The grace is over. */
  cut(): void {
    this.#ending = true
    for (const { call } of this.#active) call.cut(fault('DRAINING'))
  }
  #flush(response: ServerResponse): void {
    this.flushing++
    response.once('close', () => this.flushing--)
  }
  #shed(): Fault | undefined {
    if (this.#ending) return fault('DRAINING')
    return this.#overload.shedding ? fault('OVERLOADED') : undefined
  }
  /** A head nobody should answer in good faith: a plain answer, and the connection ends. */
  #turnAway(
    incoming: IncomingMessage,
    response: ServerResponse,
    snapshot: Snapshot,
    reason: Fault,
  ): void {
    this.#parting.add(incoming.socket)
    const { id } = nobody(incoming, this.#kit)
    const { body, headers } = plainRefusal(reason, { id })
    response.writeHead(reason.status, {
      ...(headers as Record<string, string>),
      connection: 'close',
      'content-length': body.length,
      'x-request-id': id,
      'x-tollgate-version': String(snapshot.version),
    })
    lastWords(response, body)
    this.#resources.metrics.route('none').end(reason.status, 0, 0, 0, body.length)
    this.#resources.log.info({ id, status: reason.status, code: reason.code }, 'request')
  }
  /** The pipeline threw, or what it left behind cannot be delivered. */
  #stumble(delivery: Delivery, reason: Fault): void {
    this.#report(delivery.call, reason)
    void delivery.settle(reason)
  }
  /** What the client must not read stands in the log. */
  #report({ id, route }: Call, reason: Fault): void {
    if (reason.expose) return
    const { stack } = (reason.cause instanceof Error ? reason.cause : reason) as { stack?: string }
    this.#resources.log.error({ id, route: route.name, code: reason.code, stack }, reason.message)
  }
  #armPings(delivery: Delivery, every: number, inbound: Inbound): void {
    const asked = inbound.headers.accept?.includes('text/event-stream')
      ? Promise.resolve(true)
      : inbound.json().then(asksForStream, () => false)
    void asked.then(yes => {
      if (yes && !delivery.call.over) delivery.startPings(every)
    })
  }
  /** One line and the numbers of a finished exchange. */
  #tell({ call, inbound }: Opened, outcome: Outcome, started: number, headAt: number): void {
    const { log, metrics } = this.#resources
    const now = performance.now()
    const ms = now - started
    const own = (headAt || now) - Math.max(started, inbound.arrivedAt) - call.waited
    const added = Math.max(0, own)
    metrics.route(call.route.name).end(outcome.status, ms, added, inbound.received, outcome.bytes)
    for (const reason of call.finish(outcome))
      log.error({ id: call.id, code: reason.code }, `onEnd: ${reason.message}`)
    log.info(
      {
        id: call.id,
        request_id: call.requestId === call.id ? undefined : call.requestId,
        trace: call.traceId,
        route: call.route.name,
        method: inbound.method,
        path: inbound.path,
        status: outcome.status,
        end: outcome.end,
        ms: round(ms),
        added: round(added),
        bytes: outcome.bytes,
        attempts: call.attempts,
        upstream: call.target?.upstream,
        target: call.target?.name,
        code: outcome.fault?.code,
      },
      'request',
    )
  }
}

const offersUpgrade = ({ upgrade, connection }: Inbound['headers']): boolean =>
  upgrade !== undefined && /\bupgrade\b/i.test(connection ?? '')
const round = (ms: number): number => Math.round(ms * 100) / 100
const asksForStream = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && (body as { stream?: unknown }).stream === true
