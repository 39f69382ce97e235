/** Upgrades to WebSockets: handshake, pipeline, 101 or a plain response, liveness. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { asFault, errors } from '../errors.ts'
import type { Fault, Headers } from '../plugin.ts'
import { IndexedSet } from '../request/indexed-set.ts'
import { ServerResponse, validateHeaderName, validateHeaderValue } from '../request/node-http.ts'
import type { RequestLifecycle } from '../request/request-lifecycle.ts'
import { lingeringClose } from '../response/lingering-close.ts'
import { ResponseWriter } from '../response/response-writer.ts'
import { readProtocols, SOCKET_LIMITS } from './dial.ts'
import { Relay } from './relay.ts'
import { UpstreamSocket } from './upstream-socket.ts'

const fault = errors({
  UPGRADE_MALFORMED: [400, 'Invalid WebSocket handshake: %s.'],
  UPGRADE_VERSION: [
    426,
    'Only WebSocket version 13 is supported.',
    { headers: { 'sec-websocket-version': '13', upgrade: 'websocket' } },
  ],
  CLIENT_GONE: [499, 'The client left.'],
  UPSTREAM_CUT: [502, 'The upstream broke off.'],
})

export interface Upgrade {
  readonly lifecycle: RequestLifecycle
  readonly incoming: IncomingMessage
  readonly socket: Duplex
  /** Bytes that came behind the request before it was answered. */
  readonly head: Buffer
}

/** ms between two checks of the peers of a relay. */
const CHECK_EVERY = 20_000

/** All WebSockets of a server. */
export class WebSockets {
  readonly #relays = new IndexedSet<Relay>()
  readonly #timer = setInterval(() => {
    for (const relay of this.#relays) relay.checkPeers()
  }, CHECK_EVERY).unref()

  /** Resolves when the request has ended: relayed, answered or refused. */
  async upgrade(request: Upgrade): Promise<void> {
    const { lifecycle, socket } = request
    const { call } = lifecycle
    const stop = onClientLeave(socket, () => call.abandon(fault('CLIENT_GONE')))
    try {
      if (lifecycle.acceptedRequest.refusal) throw lifecycle.acceptedRequest.refusal
      checkHandshake(request)
      await lifecycle.compiledRoute.run(call)
      if (call.durable) await call.writes.commit()
      const { source } = call.requireReply()
      if (!(source instanceof UpstreamSocket))
        return await respond(request, writer => writer.deliver())
      const client = await accept(request, source.socket)
      stop()
      await this.#relay(lifecycle, client, source)
    } catch (error) {
      const reason = asFault(error)
      lifecycle.logFault(reason)
      await respond(request, writer => void writer.commitAndRefuse(reason))
    } finally {
      stop()
    }
  }
  close(): void {
    clearInterval(this.#timer)
  }
  async #relay(
    lifecycle: RequestLifecycle,
    client: WebSocket,
    source: UpstreamSocket,
  ): Promise<void> {
    const { call, compiledRoute, request: inbound } = lifecycle.acceptedRequest
    const stages = compiledRoute.stages.flatMap(({ stage }) => (stage.message ? [stage] : []))
    const { socket: upstream, mask } = source
    const relay = new Relay({ client, upstream, mask, exchange: call, stages })
    source.onCut = reason => relay.cut(reason)
    if (call.abandonReason) relay.cut(call.abandonReason)
    lifecycle.endStages()
    const openedAt = performance.now()
    const closeStream = lifecycle.openStream('websocket')
    this.#relays.add(relay)
    const end = await relay.done
    this.#relays.remove(relay)
    closeStream()
    const { bytesUp, bytesDown: bytes } = relay
    inbound.body.byteCount += bytesUp
    call.progress.firstByteAt = relay.firstSentAt
    if (call.durable) await call.writes.commit().catch(error => lifecycle.logFault(asFault(error)))
    lifecycle.end({ ...end, status: 101, bytes }, openedAt)
  }
}

/** Calls `onLeave` when the client leaves before the relay. Consumes nothing. */
const onClientLeave = (socket: Duplex, onLeave: () => void): (() => void) => {
  const detectEnd = (): void => {
    if (socket.readableLength === 0) socket.read()
  }
  socket.on('error', onLeave).on('close', onLeave).on('end', onLeave).on('readable', detectEnd)
  return () => {
    // The error listener stays: an unhandled error would end the process.
    socket.off('close', onLeave).off('end', onLeave).off('readable', detectEnd)
  }
}

// RFC 9110 §5.6.2; RFC 6455 §4.1: sixteen bytes as base64.
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const KEY = /^[+/0-9A-Za-z]{22}==$/

const refusal = (why: string): Fault => fault('UPGRADE_MALFORMED', [why])

/** Refuses handshakes that `ws` would accept, or refuse in no dialect. Throws a fault. */
const checkHandshake = ({ incoming, lifecycle, head }: Upgrade): void => {
  const { headers } = lifecycle.acceptedRequest.request
  if (incoming.method !== 'GET') throw refusal('its method is not GET')
  if (incoming.httpVersion !== '1.1') throw refusal('it is not HTTP/1.1')
  if (headers['sec-websocket-version'] !== '13') throw fault('UPGRADE_VERSION')
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) throw refusal('its key is not sixteen bytes')
  const protocols = readProtocols(headers['sec-websocket-protocol'])
  if (!protocols.every(name => NAME.test(name)) || new Set(protocols).size < protocols.length)
    throw refusal('its subprotocols are not a list of different names')
  if (head.length > 0) throw refusal('bytes came behind it before the response')
}

/** Responds 101 with the subprotocol that the upstream chose. The returned socket is paused. */
const accept = (request: Upgrade, upstream: WebSocket): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const { incoming, socket, head, lifecycle } = request
    if (!socket.readable || !socket.writable) return reject(fault('CLIENT_GONE'))
    if (upstream.readyState !== upstream.OPEN) return reject(fault('UPSTREAM_CUT'))
    const server = new WebSocketServer({
      ...SOCKET_LIMITS,
      noServer: true,
      clientTracking: false,
      maxPayload: lifecycle.compiledRoute.websocket.payload,
      handleProtocols: () => upstream.protocol || false,
    })
    server.on('headers', lines =>
      lines.push(...responseLines(lifecycle.call.reply.headers, lifecycle)),
    )
    server.on('wsClientError', reject)
    server.handleUpgrade(incoming, socket, head, client => {
      client.pause()
      resolve(client)
    })
  })

const responseLines = (headers: Headers, { call, version }: RequestLifecycle): string[] => {
  const lines: string[] = []
  for (const [name, value] of Object.entries(headers))
    if (!name.startsWith('sec-websocket-'))
      for (const each of [value].flat()) {
        validateHeaderName(name)
        validateHeaderValue(name, each)
        lines.push(`${name}: ${each}`)
      }
  if (call.requestId !== call.id) lines.push(`x-tollgate-request: ${call.id}`)
  return [...lines, `x-request-id: ${call.requestId}`, `x-tollgate-version: ${version}`]
}

/** Responds in plain HTTP, closes the connection, resolves when the request has ended. */
const respond = (
  { lifecycle, incoming, socket }: Upgrade,
  write: (writer: ResponseWriter) => void,
): Promise<void> =>
  new Promise(resolve => {
    const response = new ServerResponse(incoming)
    response.assignSocket(socket as Socket)
    response.on('finish', () => {
      response.detachSocket(socket as Socket)
      lingeringClose(socket)
    })
    lifecycle.call.onEnd(() => resolve())
    write(new ResponseWriter(lifecycle, response))
  })
