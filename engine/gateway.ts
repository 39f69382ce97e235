/** Runs every request of a server through its snapshot, and tells the log and the numbers how it ended. */
import type http from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { asFault, errors } from './errors.ts'
import type { Fault } from './plugin.ts'
import { nobody, type Opened, type OpeningKit, openCall } from './request/accept-request.ts'
import { Pace } from './request/body-pace.ts'
import { createTimedIds } from './request/ids.ts'
import { Roster } from './request/indexed-set.ts'
import { Overload } from './request/overload.ts'
import { type Premises, Visit } from './request/request-lifecycle.ts'
import { RequestOrder } from './request/request-order.ts'
import { type Crowd, drain } from './response/drain.ts'
import { lastWords, Parting, refuseSocket, responseUnderWay } from './response/lingering-close.ts'
import { plainRefusal } from './response/refusal.ts'
import { Delivery } from './response/response-writer.ts'
import type { Resources } from './snapshot/host.ts'
import type { CompiledRoute, Snapshot } from './snapshot/snapshot.ts'
import { WebSockets } from './websocket/upgrade.ts'

const fault = errors({
  OVERLOADED: [
    503,
    'The gateway is overloaded. Retry in a moment.',
    { headers: { 'retry-after': '1' } },
  ],
  CONNECT_REFUSED: [405, 'CONNECT is not served here: this gateway is no tunnel.'],
  DRAINING: [503, 'The gateway is shutting down. Retry.', { headers: { 'retry-after': '1' } }],
})

/** ms between two looks at stages that may be stuck. */
const LOOK = 500
/** How long a body may take before its pace counts, ms. */
const BODY_GRACE = 10_000

export class Gateway implements Crowd, Premises {
  readonly #current: () => Snapshot
  readonly resources: Resources
  readonly #kit: OpeningKit
  readonly #pace: Pace
  readonly #overload = new Overload()
  readonly #active = new Roster<Visit>()
  readonly #parting = new Parting()
  readonly #order = new RequestOrder()
  readonly #webSockets = new WebSockets()
  readonly #stages: NodeJS.Timeout
  /** Replies that have ended and are still on their way to slow readers. */
  flushing = 0
  leaving = false
  /** The grace is over: nothing new begins. */
  #ending = false

  constructor(current: () => Snapshot, resources: Resources) {
    this.#current = current
    this.resources = resources
    this.#pace = new Pace(current().settings.timeouts.body_rate, BODY_GRACE)
    this.#stages = setInterval(() => this.#checkStages(), LOOK).unref()
    this.#kit = { store: resources.database, pace: this.#pace, makeId: createTimedIds() }
  }
  /** Requests and connections under way. */
  get open(): number {
    return this.#active.size
  }
  /** `asks`: the client waits to be told to send its body. */
  accept(incoming: IncomingMessage, response: ServerResponse, asks = false): void {
    // Without a socket it stands behind another response on its connection.
    if (response.socket !== null) return this.#accept(incoming, response, asks)
    const { socket, method } = incoming
    this.#order.take(socket, method, response, () => this.#accept(incoming, response, asks))
  }
  #accept(incoming: IncomingMessage, response: ServerResponse, asks: boolean): void {
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
    const visit = new Visit(opened, snapshot, this, started, response)
    const delivery = new Delivery(call, compiled, response, visit)
    this.#active.add(visit)
    visit.delivery = delivery
    const refusal = this.#shed(started) ?? opened.refusal
    if (refusal) return delivery.refuse(refusal)
    if (compiled.ping > 0)
      void compiled.streams(call.request).then(yes => {
        if (yes && !call.over) delivery.startPings(compiled.ping)
      })
    void this.#serve(delivery, compiled, visit)
  }
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#behind(incoming, socket, () => this.#upgrade(incoming, socket, head))
  }
  connect(incoming: IncomingMessage, socket: Duplex): void {
    const refusal = () => plainRefusal(fault('CONNECT_REFUSED'), nobody(incoming, this.#kit))
    this.#behind(incoming, socket, () => refuseSocket(socket, refusal()))
  }
  /** What Node writes no response for must not be written into another one. */
  #behind({ method }: IncomingMessage, socket: Duplex, start: () => void): void {
    if (!responseUnderWay(socket)) return start()
    socket.on('error', () => {})
    this.#order.take(socket, method, undefined, start)
  }
  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const started = performance.now()
    const snapshot = this.#current()
    let opened: Opened
    try {
      opened = openCall(incoming, snapshot, 'websocket', this.#kit)
    } catch (thrown) {
      return refuseSocket(socket, plainRefusal(asFault(thrown), nobody(incoming, this.#kit)))
    }
    const refusal = this.#shed(started)
    if (refusal) opened = { ...opened, refusal }
    const visit = new Visit(opened, snapshot, this, started)
    this.#active.add(visit)
    let openAt = 0
    const refuse = (thrown: unknown): void => {
      const reason = asFault(thrown)
      socket.destroy()
      const { status } = reason
      visit.ended({ end: 'refused', status, attempts: 0, bytes: 0, fault: reason }, openAt)
    }
    visit.delivery = { settle: async reason => refuse(reason) }
    const given = {
      ...{ ...opened, incoming, socket, head, version: visit.version, idleWrite: visit.idleWrite },
      begun: () => {
        visit.running = false
        openAt = performance.now()
        return visit.streaming('websocket')
      },
      stumbled: (reason: Fault) => visit.stumbled(reason),
    }
    this.#webSockets.upgrade(given).then(outcome => visit.ended(outcome, openAt), refuse)
  }
  malformed(error: NodeJS.ErrnoException, socket: Duplex): void {
    this.#parting.malformed(error, socket)
  }
  leave(): void {
    this.leaving = true
  }
  async drain(server: http.Server, grace: number): Promise<void> {
    this.leaving = true
    await drain(server, grace, this)
    clearInterval(this.#stages)
    this.#pace.close()
    this.#overload.close()
    this.#webSockets.close()
  }
  /** The grace is over. */
  cut(): void {
    this.#ending = true
    for (const { call } of this.#active) call.cut(fault('DRAINING'))
  }
  depart(visit: Visit): boolean {
    return this.#active.leave(visit)
  }
  flush(response: ServerResponse): void {
    this.flushing++
    response.once('close', () => this.flushing--)
  }
  #checkStages(): void {
    const now = performance.now()
    for (const visit of this.#active) visit.checkStages(now)
  }
  #shed(now: number): Fault | undefined {
    if (this.#ending) return fault('DRAINING')
    return this.#overload.sheds(now) ? fault('OVERLOADED') : undefined
  }
  /** A head nobody should answer in good faith: it is told so in the dialect of the route it was meant for, as far as that
   *  can be guessed, and the connection ends. */
  #turnAway(
    incoming: IncomingMessage,
    response: ServerResponse,
    snapshot: Snapshot,
    reason: Fault,
  ): void {
    this.#parting.add(incoming.socket)
    const call = nobody(incoming, this.#kit)
    const { id } = call
    const meant = snapshot.nearest(roughPath(incoming.url ?? '/'))
    const { status, body, headers } = meant ? meant.fail(reason, call) : plainRefusal(reason, call)
    response.writeHead(status, {
      ...(headers as Record<string, string>),
      connection: 'close',
      'content-length': body.length,
      'x-request-id': id,
      'x-tollgate-version': String(snapshot.version),
    })
    lastWords(response, body)
    this.resources.metrics.route('none').end(status, 0, 0, 0, body.length)
    this.resources.log.info({ id, status, code: reason.code }, 'request')
  }
  /** What the pipeline throws, and what it leaves behind that cannot be delivered, is refused. */
  async #serve(delivery: Delivery, compiled: CompiledRoute, visit: Visit): Promise<void> {
    const { call } = delivery
    try {
      await compiled.run(call)
      visit.running = false
      if (call.durable) await call.writes.commit()
      delivery.deliver()
    } catch (thrown) {
      visit.running = false
      const reason = asFault(thrown)
      visit.stumbled(reason)
      void delivery.settle(reason)
    }
  }
}

/** Of a target that is refused: long enough for every route, and without what may be wrong with the rest. */
const roughPath = (target: string): string =>
  target
    .slice(0, 1_000)
    .replace(/^\w+:\/\/[^/]*/, '')
    .replace(/[?#].*$/s, '')
