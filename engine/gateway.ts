/** Takes every request of a server through its snapshot, from head to response. */
import type http from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { asFault, errors } from './errors.ts'
import type { Fault } from './plugin.ts'
import {
  type AcceptContext,
  type AcceptedRequest,
  acceptRequest,
  anonymousCall,
} from './request/accept-request.ts'
import { BodyPace } from './request/body-pace.ts'
import { createTimedIds } from './request/ids.ts'
import { Overload } from './request/overload.ts'
import { ActiveRequests, RequestLifecycle } from './request/request-lifecycle.ts'
import { RequestOrder } from './request/request-order.ts'
import { drain } from './response/drain.ts'
import {
  ClosingConnections,
  endAndClose,
  openResponse,
  refuseSocket,
} from './response/lingering-close.ts'
import { plainRefusal } from './response/refusal.ts'
import { ResponseWriter } from './response/response-writer.ts'
import type { Resources } from './snapshot/resources.ts'
import type { Snapshot } from './snapshot/snapshot.ts'
import { WebSockets } from './websocket/upgrade.ts'

const fault = errors({
  OVERLOADED: [
    503,
    'The gateway is overloaded. Retry in a moment.',
    { headers: { 'retry-after': '1' } },
  ],
  CONNECT_REFUSED: [405, 'CONNECT is not served here: this gateway is no tunnel.'],
})

/** How long a body may take before its pace counts, ms. */
const BODY_GRACE = 10_000

export class Gateway {
  readonly #current: () => Snapshot
  readonly #requests: ActiveRequests
  readonly #context: AcceptContext
  readonly #overload = new Overload()
  readonly #closing = new ClosingConnections()
  readonly #order = new RequestOrder()
  readonly #webSockets = new WebSockets()

  constructor(current: () => Snapshot, resources: Resources) {
    this.#current = current
    this.#requests = new ActiveRequests(resources)
    const pace = new BodyPace(current().settings.timeouts.body_rate, BODY_GRACE)
    this.#context = { store: resources.database, pace, makeId: createTimedIds() }
  }
  /** Requests and WebSockets under way. */
  get open(): number {
    return this.#requests.size
  }
  /** `expectsContinue`: the client sends its body after `100 Continue` only. */
  accept(incoming: IncomingMessage, response: ServerResponse, expectsContinue = false): void {
    // A response without a socket is behind another one on its connection.
    if (response.socket !== null) return this.#accept(incoming, response, expectsContinue)
    const { socket, method } = incoming
    const start = (): void => this.#accept(incoming, response, expectsContinue)
    this.#order.take(socket, method, response, start)
  }
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#startInOrder(incoming, socket, () => this.#upgrade(incoming, socket, head))
  }
  connect(incoming: IncomingMessage, socket: Duplex): void {
    this.#startInOrder(incoming, socket, () => {
      const call = anonymousCall(incoming, this.#context)
      refuseSocket(socket, plainRefusal(fault('CONNECT_REFUSED'), call))
    })
  }
  #accept(incoming: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    // Bytes behind a refusal that ends its connection are no request.
    if (this.#closing.has(incoming.socket)) return
    const started = performance.now()
    const snapshot = this.#current()
    let accepted: AcceptedRequest
    try {
      accepted = acceptRequest(incoming, snapshot, 'http', this.#context)
    } catch (thrown) {
      return this.#refuseHead(incoming, response, snapshot, asFault(thrown))
    }
    if (expectsContinue) accepted.request.body.onFirstRead = () => response.writeContinue()
    const lifecycle = new RequestLifecycle(accepted, snapshot, this.#requests, started, response)
    const writer = new ResponseWriter(lifecycle, response)
    lifecycle.refuser = writer
    const refusal = this.#shed(started) ?? accepted.refusal
    if (refusal) return writer.refuse(refusal)
    const { call, compiledRoute: compiled } = accepted
    if (compiled.ping > 0)
      void compiled.streams(call.request).then(yes => {
        if (yes && !call.ended) writer.startPings(compiled.ping)
      })
    void run(writer, lifecycle)
  }
  /** Node writes no response for an upgrade or CONNECT: waits for the one being written. */
  #startInOrder({ method }: IncomingMessage, socket: Duplex, start: () => void): void {
    if (!openResponse(socket)) return start()
    socket.on('error', () => {})
    this.#order.take(socket, method, undefined, start)
  }
  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const started = performance.now()
    const snapshot = this.#current()
    let accepted: AcceptedRequest
    try {
      accepted = acceptRequest(incoming, snapshot, 'websocket', this.#context)
    } catch (thrown) {
      const call = anonymousCall(incoming, this.#context)
      return refuseSocket(socket, plainRefusal(asFault(thrown), call))
    }
    const refusal = this.#shed(started)
    if (refusal) accepted = { ...accepted, refusal }
    const lifecycle = new RequestLifecycle(accepted, snapshot, this.#requests, started)
    const commitAndRefuse = async (reason: Fault): Promise<void> => {
      socket.destroy()
      const { status } = reason
      lifecycle.end({ end: 'refused', status, attempts: 0, bytes: 0, fault: reason }, 0)
    }
    lifecycle.refuser = { commitAndRefuse }
    this.#webSockets
      .upgrade({ lifecycle, incoming, socket, head })
      .catch(thrown => commitAndRefuse(asFault(thrown)))
  }
  malformed(error: NodeJS.ErrnoException, socket: Duplex): void {
    this.#closing.refuseMalformed(error, socket)
  }
  /** From now on every reply ends its connection. */
  leave(): void {
    this.#requests.drain()
  }
  /** `grace`: ms. */
  async drain(server: http.Server, grace: number): Promise<void> {
    this.#requests.drain()
    await drain(server, grace, this.#requests)
    this.#requests.close()
    this.#context.pace.close()
    this.#overload.close()
    this.#webSockets.close()
  }
  #shed(now: number): Fault | undefined {
    return (
      this.#requests.refusal ?? (this.#overload.shouldShed(now) ? fault('OVERLOADED') : undefined)
    )
  }
  /** Refuses a request for its head, in the nearest route's dialect; ends the connection. */
  #refuseHead(
    incoming: IncomingMessage,
    response: ServerResponse,
    snapshot: Snapshot,
    reason: Fault,
  ): void {
    this.#closing.add(incoming.socket)
    const call = anonymousCall(incoming, this.#context)
    const { id } = call
    const nearest = snapshot.nearest(roughPath(incoming.url ?? '/'))
    const { status, body, headers } = nearest
      ? nearest.fail(reason, call)
      : plainRefusal(reason, call)
    response.writeHead(status, {
      ...(headers as Record<string, string>),
      connection: 'close',
      'content-length': body.length,
      'x-request-id': id,
      'x-tollgate-version': String(snapshot.version),
    })
    endAndClose(response, body)
    const { metrics, log } = this.#requests.resources
    metrics.route('none').end(status, 0, 0, 0, body.length)
    log.info({ id, status, code: reason.code }, 'request')
  }
}

/** Runs the pipeline, then delivers its reply, or refuses what it threw. */
const run = async (writer: ResponseWriter, lifecycle: RequestLifecycle): Promise<void> => {
  const { call, compiledRoute: compiled } = lifecycle
  try {
    await compiled.run(call)
    lifecycle.endStages()
    if (call.durable) await call.writes.commit()
    writer.deliver()
  } catch (thrown) {
    lifecycle.endStages()
    const reason = asFault(thrown)
    lifecycle.logFault(reason)
    void writer.commitAndRefuse(reason)
  }
}

/** The path of a refused target: without scheme, host and query, long enough for every route. */
const roughPath = (target: string): string =>
  target
    .slice(0, 1_000)
    .replace(/^\w+:\/\/[^/]*/, '')
    .replace(/[?#].*$/s, '')
