/** Upgrades: judges the handshake, runs the pipeline, answers 101 or a plain refusal, keeps the relays alive. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { asFault, errors } from '../errors.ts'
import type { Fault, Headers, Outcome } from '../plugin.ts'
import type { Opened } from '../request/accept-request.ts'
import { Roster } from '../request/indexed-set.ts'
import { ServerResponse, validateHeaderName, validateHeaderValue } from '../request/node-http.ts'
import { leaveSocket } from '../response/lingering-close.ts'
import { Delivery } from '../response/response-writer.ts'
import { readProtocols, SOCKET_LIMITS, UpstreamSocket } from './dial.ts'
import { Relay } from './relay.ts'

const fault = errors({
  UPGRADE_MALFORMED: [400, 'This is no WebSocket handshake: %s.'],
  UPGRADE_VERSION: [
    426,
    'WebSocket version 13 is spoken here.',
    { headers: { 'sec-websocket-version': '13', upgrade: 'websocket' } },
  ],
  CLIENT_GONE: [499, 'The client left.'],
  UPSTREAM_CUT: [502, 'The upstream broke off.'],
})

export interface Upgrade extends Opened {
  readonly incoming: IncomingMessage
  readonly socket: Duplex
  /** What came behind the request before anyone answered it. */
  readonly head: Buffer
  readonly version: string
  readonly idleWrite: number
  /** It is open: from here on time is the peers'. Returns what to call when it is over. */
  begun(): () => void
  /** Told of what went wrong; the log has what the client must not read. */
  stumbled(reason: Fault): void
}

/** ms between two signs of life. */
const BEAT = 20_000

/** All WebSockets of a server. */
export class WebSockets {
  readonly #relays = new Roster<Relay>()
  readonly #timer = setInterval(() => {
    for (const relay of this.#relays) relay.beat()
  }, BEAT).unref()

  /** Resolves when it is over, however it went. */
  async upgrade(given: Upgrade): Promise<Outcome> {
    const { call, compiled, socket } = given
    const stop = watchLeaving(socket, () => call.leave(fault('CLIENT_GONE')))
    try {
      if (given.refusal) throw given.refusal
      judgeHandshake(given)
      await compiled.run(call)
      if (call.durable) await call.writes.commit()
      const { source } = call.need()
      if (!(source instanceof UpstreamSocket)) return await answer(given, each => each.deliver())
      const client = await accept(given, source.socket)
      stop()
      return await this.#relay(given, client, source)
    } catch (thrown) {
      const reason = asFault(thrown)
      given.stumbled(reason)
      return await answer(given, each => void each.settle(reason))
    } finally {
      stop()
    }
  }
  close(): void {
    clearInterval(this.#timer)
  }
  async #relay(given: Upgrade, client: WebSocket, source: UpstreamSocket): Promise<Outcome> {
    const { call, compiled, inbound } = given
    const stages = compiled.stages.flatMap(({ stage }) => (stage.message ? [stage] : []))
    const relay = new Relay({ client, upstream: source.socket, exchange: call, stages })
    source.onCut = reason => relay.cut(reason)
    if (call.left) relay.cut(call.left)
    const over = given.begun()
    this.#relays.add(relay)
    const end = await relay.done
    this.#relays.leave(relay)
    over()
    inbound.received += relay.received
    if (call.durable) await call.writes.commit().catch(thrown => given.stumbled(asFault(thrown)))
    return { ...end, status: 101, attempts: call.attempts, bytes: relay.sent }
  }
}

/** Tells when a client goes while nobody reads from it yet. Takes nothing out: what it says early is for the relay. */
const watchLeaving = (socket: Duplex, leave: () => void): (() => void) => {
  const look = (): void => {
    if (socket.readableLength === 0) socket.read()
  }
  socket.on('error', leave).on('close', leave).on('end', leave).on('readable', look)
  return () => {
    // The listener of errors stays: none of them may end the process.
    socket.off('close', leave).off('end', leave).off('readable', look)
  }
}

// RFC 9110 §5.6.2; RFC 6455 §4.1: sixteen bytes as base64.
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const KEY = /^[+/0-9A-Za-z]{22}==$/

const no = (why: string): Fault => fault('UPGRADE_MALFORMED', [why])

/** What `ws` would let through, or answer by itself in no dialect. */
const judgeHandshake = ({ incoming, inbound, head }: Upgrade): void => {
  const { headers } = inbound
  if (incoming.method !== 'GET') throw no('its method is not GET')
  if (incoming.httpVersion !== '1.1') throw no('it is not HTTP/1.1')
  if (headers['sec-websocket-version'] !== '13') throw fault('UPGRADE_VERSION')
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) throw no('its key is not sixteen bytes')
  const protocols = readProtocols(headers['sec-websocket-protocol'])
  if (!protocols.every(name => NAME.test(name)) || new Set(protocols).size < protocols.length)
    throw no('its subprotocols are no list of different names')
  if (head.length > 0) throw no('something came behind it before it was answered')
}

/** Answers 101 with the subprotocol the upstream chose. The socket comes paused. */
const accept = (given: Upgrade, upstream: WebSocket): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const { incoming, socket, head, call, compiled } = given
    if (!socket.readable || !socket.writable) return reject(fault('CLIENT_GONE'))
    if (upstream.readyState !== upstream.OPEN) return reject(fault('UPSTREAM_CUT'))
    const server = new WebSocketServer({
      ...SOCKET_LIMITS,
      noServer: true,
      clientTracking: false,
      maxPayload: compiled.websocket.payload,
      handleProtocols: () => upstream.protocol || false,
    })
    server.on('headers', lines => lines.push(...linesOf(call.reply.headers, given)))
    server.on('wsClientError', reject)
    server.handleUpgrade(incoming, socket, head, client => {
      client.pause()
      resolve(client)
    })
  })

const linesOf = (headers: Headers, { call, version }: Upgrade): string[] => {
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

/** A plain answer where a socket was asked for; then the connection ends. */
const answer = (given: Upgrade, act: (delivery: Delivery) => void): Promise<Outcome> =>
  new Promise(ended => {
    const { incoming, call, compiled, version, idleWrite, stumbled } = given
    const socket = given.socket as Socket
    const response = new ServerResponse(incoming)
    response.assignSocket(socket)
    response.on('finish', () => {
      response.detachSocket(socket)
      leaveSocket(socket)
    })
    const closing = (): boolean => true
    const streaming = () => () => {}
    const facts = { version, idleWrite, closing, streaming, stumbled, ended }
    act(new Delivery(call, compiled, response, facts))
  })
