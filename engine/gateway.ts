/** Serves every request of a server with the current snapshot, from its head to its response. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { asFault, errors } from './errors.ts'
import type { Bytes, Fault, Refusal } from './plugin.ts'
import {
  type AcceptContext,
  type AcceptedRequest,
  acceptRequest,
} from './request/accept-request.ts'
import { BodyPace } from './request/body-pace.ts'
import { createTimedIds } from './request/ids.ts'
import type { OverloadGuard } from './request/overload.ts'
import { renderRefusedHead, requestIn } from './request/refused-head.ts'
import { ActiveRequests, RequestLifecycle } from './request/request-lifecycle.ts'
import { RequestOrder } from './request/request-order.ts'
import { drain } from './response/drain.ts'
import {
  ClosingConnections,
  endAndClose,
  openResponse,
  refuseSocket,
} from './response/lingering-close.ts'
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
  CONNECT_REFUSED: [405, 'CONNECT is not served here: this gateway is not a tunnel.'],
})

/** An error of Node's parser. */
type ParserError = NodeJS.ErrnoException & {
  readonly rawPacket?: Uint8Array
  readonly bytesParsed?: number
}

/** ms after which the pace of a body is checked. */
const BODY_GRACE = 10_000

export class Gateway {
  readonly #current: () => Snapshot
  readonly #requests: ActiveRequests
  readonly #context: AcceptContext
  readonly #overload: OverloadGuard
  readonly #closing = new ClosingConnections()
  readonly #order = new RequestOrder()
  readonly #webSockets = new WebSockets()

  constructor(current: () => Snapshot, resources: Resources, overload: OverloadGuard) {
    this.#overload = overload
    this.#current = current
    this.#requests = new ActiveRequests(resources)
    const pace = new BodyPace(current().settings.timeouts.body_rate, BODY_GRACE)
    this.#context = { store: resources.database, pace, makeId: createTimedIds() }
  }
  /** Number of requests and WebSockets in progress. */
  get openRequests(): number {
    return this.#requests.size
  }
  /** `expectsContinue`: the client sends its body only after `100 Continue`. */
  accept(incoming: IncomingMessage, response: ServerResponse, expectsContinue = false): void {
    // A response without a socket waits for an earlier one on the same connection.
    if (response.socket !== null) return this.#accept(incoming, response, expectsContinue)
    const { socket, method } = incoming
    const start = (): void => this.#accept(incoming, response, expectsContinue)
    this.#order.take(socket, method, response, start)
  }
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#startInOrder(incoming, socket, () => this.#upgrade(incoming, socket, head))
  }
  refuseConnect(incoming: IncomingMessage, socket: Duplex): void {
    const reason = fault('CONNECT_REFUSED')
    this.#startInOrder(incoming, socket, () => this.#refuseSocket(incoming, socket, reason))
  }
  #accept(incoming: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    // Bytes after a refusal that ends its connection are not a request.
    if (this.#closing.has(incoming.socket)) return
    const snapshot = this.#current()
    let arrival: AcceptedRequest
    try {
      arrival = acceptRequest(incoming, snapshot, 'http', this.#context)
    } catch (error) {
      return this.#refuseHead(incoming, response, asFault(error))
    }
    if (expectsContinue) arrival.request.body.onFirstRead = () => response.writeContinue()
    const lifecycle = new RequestLifecycle(arrival, snapshot, this.#requests, response)
    const writer = new ResponseWriter(lifecycle, response)
    lifecycle.refuser = writer
    const refusal = this.#shed(arrival.call.startedAt) ?? arrival.refusal
    if (refusal) return writer.refuse(refusal)
    if (arrival.preflight) return answerPreflight(writer, arrival, arrival.preflight)
    void run(writer, lifecycle)
  }
  /** Node gives no response object for an upgrade or CONNECT; it starts after the open response. */
  #startInOrder({ method }: IncomingMessage, socket: Duplex, start: () => void): void {
    if (!openResponse(socket)) return start()
    socket.on('error', () => {})
    this.#order.take(socket, method, undefined, start)
  }
  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const snapshot = this.#current()
    let arrival: AcceptedRequest
    try {
      arrival = acceptRequest(incoming, snapshot, 'websocket', this.#context)
    } catch (error) {
      return this.#refuseSocket(incoming, socket, asFault(error))
    }
    const refusal = this.#shed(arrival.call.startedAt)
    if (refusal) arrival = { ...arrival, refusal }
    const lifecycle = new RequestLifecycle(arrival, snapshot, this.#requests)
    const commitAndRefuse = async (reason: Fault): Promise<void> => {
      socket.destroy()
      lifecycle.end({ end: 'refused', status: reason.status, bytes: 0, fault: reason }, 0)
    }
    lifecycle.refuser = { commitAndRefuse }
    this.#webSockets
      .upgrade({ lifecycle, incoming, socket, head })
      .catch(error => commitAndRefuse(asFault(error)))
  }
  handleMalformed(error: ParserError, socket: Socket): void {
    const reason = this.#closing.takeMalformed(error, socket)
    if (!reason) return
    const { rawPacket, bytesParsed } = error
    const incoming = openResponse(socket)?.req ?? requestIn(socket, rawPacket, bytesParsed)
    this.#refuseSocket(incoming, socket, reason)
  }
  /** Makes every reply from now on end its connection. */
  stopKeepAlive(): void {
    this.#requests.drain()
  }
  /** Waits up to `grace` ms for open requests, then ends them. */
  async drain(server: Server, grace: number): Promise<void> {
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
  /** Refuses a request because of its head; ends the connection. */
  #refuseHead(incoming: IncomingMessage, response: ServerResponse, reason: Fault): void {
    this.#closing.add(incoming.socket)
    const { status, headers, body } = this.#render(incoming, reason)
    const framing = { connection: 'close', 'content-length': body.length }
    response.writeHead(status, { ...(headers as Record<string, string>), ...framing })
    endAndClose(response, body)
  }
  /** Refuses a request that has no response object. */
  #refuseSocket(incoming: IncomingMessage, socket: Duplex, reason: Fault): void {
    refuseSocket(socket, this.#render(incoming, reason))
  }
  #render(incoming: IncomingMessage, reason: Fault): Refusal {
    const { id, ...refusal } = renderRefusedHead(incoming, this.#current(), this.#context, reason)
    const client = incoming.socket.remoteAddress
    this.#logRefusal(refusal.body, { id, client, status: refusal.status, code: reason.code })
    return refusal
  }
  #logRefusal({ length }: Bytes, fields: { status: number; [name: string]: unknown }): void {
    const { metrics, log } = this.#requests.resources
    metrics.route('none').end(fields.status, 0, 0, 0, length)
    log.info(fields, 'request')
  }
}

/** Answers for the route, without its pipeline: no key, no upstream. */
const answerPreflight = (
  writer: ResponseWriter,
  { call, compiledRoute, request }: AcceptedRequest,
  methods: readonly string[],
): void => {
  try {
    call.answer(204, undefined, compiledRoute.preflight?.(request, methods))
    writer.deliver()
  } catch (error) {
    writer.refuse(asFault(error))
  }
}

/** Runs the pipeline, then delivers its reply, or refuses the request if a stage threw. */
const run = async (writer: ResponseWriter, lifecycle: RequestLifecycle): Promise<void> => {
  const { call, compiledRoute: compiled } = lifecycle
  try {
    await compiled.run(call)
    lifecycle.endStages()
    if (call.durable) await call.writes.commit()
    writer.deliver()
  } catch (error) {
    lifecycle.endStages()
    const reason = asFault(error)
    lifecycle.logFault(reason)
    void writer.commitAndRefuse(reason)
  }
}
