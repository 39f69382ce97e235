/** One attempt to open a WebSocket at a target: the innermost step of the forward ring on a WS route. */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import { errors } from '../errors.ts'
import type { Fault, Headers, Out } from '../plugin.ts'
import { Answer } from '../response/filters.ts'
import { passDown } from '../response/headers.ts'
import type { Source } from '../response/source.ts'
import type { Try } from '../upstream/attempt.ts'
import type { Candidate } from '../upstream/candidate.ts'
import { type Deadlines, joinPath } from '../upstream/upstreams.ts'

const fault = errors({
  INSIDE_SILENT: [500, 'no stage answered for the upstream "%s"', { expose: false }],
  TARGET_UNREACHABLE: [502, 'The upstream %s cannot be reached.', { retryable: true }],
  TARGET_BROKE: [502, 'The upstream %s broke off before it answered.', { retryable: true }],
  TARGET_TIMEOUT: [504, 'The upstream %s did not answer within %d ms.', { retryable: true }],
  TARGET_BUSY: [429, 'The upstream %s takes no more at present.', { retryable: true }],
  TARGET_AWAY: [503, 'The upstream %s is not available at present.', { retryable: true }],
  TARGET_DECLINED: [502, 'The upstream %s opens no WebSocket here: it answered %d.'],
})
const DECLINED: Readonly<Record<number, 'TARGET_BUSY' | 'TARGET_AWAY'>> = {
  429: 'TARGET_BUSY',
  503: 'TARGET_AWAY',
}

/** What both of a relay's sockets keep to. No compression: a bomb inflates before anyone can count it.
 *  ws#2331: with its own limits one connection pins 13.5 MB with tiny fragments. */
export const SOCKET_LIMITS = {
  perMessageDeflate: false,
  maxFragments: 1_024,
  maxBufferedChunks: 32 * 1_024,
  /** ms until a peer that does not answer a close is dropped. */
  closeTimeout: 900,
} as const

/** An upstream's end of a WebSocket, paused until someone relays it; the source of a reply that is no body. */
export class UpstreamSocket implements Source {
  readonly socket: WebSocket
  /** What a cut means once it is relayed. */
  onCut: ((reason: Fault) => void) | undefined

  constructor(socket: WebSocket) {
    this.socket = socket
  }
  start(out: Out): void {
    out.end()
  }
  pause(): void {}
  resume(): void {}
  abort(reason: Fault): void {
    if (this.onCut) this.onCut(reason)
    else this.socket.terminate()
  }
}

/** `payload`: the largest message, bytes. */
export const dialer =
  (payload: number) =>
  async (one: Try, deadlines: Deadlines): Promise<void> => {
    const { exchange, candidate, request } = one
    const { upstream, origin, base } = candidate
    if (origin.address === undefined) throw fault('INSIDE_SILENT', [upstream.name])
    const headers = { ...request.headers, ...upstream.set }
    const url = origin.address + upstream.sign(headers, joinPath(base, request.path))
    const began = performance.now()
    const handshake = new Handshake(url, headers, { name: upstream.name, deadlines, payload })
    origin.busy++
    origin.health.tried(began)
    handshake.socket.on('close', () => origin.busy--)
    exchange.onLeave(reason => handshake.fail(reason))
    const answered = exchange.awaitsSend()
    try {
      const passed = await handshake.done
      origin.health.succeeded()
      one.take(new Answer(101, passed, undefined, new UpstreamSocket(handshake.socket)))
    } catch (thrown) {
      report(candidate, thrown as Fault, exchange.left !== undefined)
      throw thrown
    } finally {
      answered()
      exchange.waited += performance.now() - began
    }
  }

const report = ({ origin, upstream }: Candidate, { status, headers }: Fault, left: boolean) => {
  const now = performance.now()
  if (left) origin.health.abandoned()
  else if (status === 429) origin.health.rest(now + Number(headers?.['retry-after'] ?? 1) * 1_000)
  else origin.health.failed(now, upstream.health)
}

interface HandshakeFacts {
  readonly name: string
  readonly deadlines: Deadlines
  readonly payload: number
}

/** From a connection to an open, paused socket, or to a fault. `done` brings the headers the client may see. */
class Handshake {
  readonly socket: WebSocket
  readonly done: Promise<Headers>
  readonly #facts: HandshakeFacts
  readonly #settled = Promise.withResolvers<Headers>()
  #passed: Headers = {}
  #connected = false
  #timer: NodeJS.Timeout

  constructor(url: string, headers: Headers, facts: HandshakeFacts) {
    this.#facts = facts
    this.done = this.#settled.promise
    const { 'sec-websocket-protocol': offered, ...others } = headers
    this.socket = new WebSocket(url, readProtocols(offered), {
      ...SOCKET_LIMITS,
      maxPayload: facts.payload,
      headers: others,
      agent: false, // a connection that was refused the upgrade must serve nobody else
      finishRequest: request => this.#send(request),
    })
    this.#timer = setTimeout(() => this.#late(), facts.deadlines.connect)
    // Stays: what is wrong later shows in the close code.
    this.socket.on('error', cause => this.fail(this.#named(cause)))
    this.socket.once('upgrade', response => {
      this.#passed = passDown(response.headers)
    })
    this.socket.once('unexpected-response', (_, response) => this.#declined(response))
    this.socket.once('open', () => {
      this.socket.pause()
      clearTimeout(this.#timer)
      this.#settled.resolve(this.#passed)
    })
  }
  fail(reason: Fault): void {
    clearTimeout(this.#timer)
    this.#settled.reject(reason)
    if (this.socket.readyState === WebSocket.CONNECTING) this.socket.terminate()
  }
  #send(request: ClientRequest): void {
    request.once('socket', socket => {
      socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
        this.#connected = true
        clearTimeout(this.#timer)
        this.#timer = setTimeout(() => this.#late(), this.#facts.deadlines.first_byte)
      })
    })
    request.end()
  }
  #late(): void {
    const { name, deadlines } = this.#facts
    if (this.#connected) this.fail(fault('TARGET_TIMEOUT', [name, deadlines.first_byte]))
    else this.fail(fault('TARGET_UNREACHABLE', [name]))
  }
  #declined({ statusCode = 0, headers }: IncomingMessage): void {
    const { name } = this.#facts
    const code = DECLINED[statusCode]
    const wait = Math.min(Number(headers['retry-after']) || 1, LONGEST_REST)
    if (code) this.fail(fault(code, [name], { headers: { 'retry-after': String(wait) } }))
    else this.fail(fault('TARGET_DECLINED', [name, statusCode], { retryable: statusCode >= 500 }))
  }
  #named(cause: Error): Fault {
    const code = this.#connected ? 'TARGET_BROKE' : 'TARGET_UNREACHABLE'
    return fault(code, [this.#facts.name], { cause })
  }
}
/** The longest pause taken from an upstream's word, s. */
const LONGEST_REST = 60

/** The names in `Sec-WebSocket-Protocol`. */
export const readProtocols = (header: string | string[] | undefined): string[] =>
  (Array.isArray(header) ? header.join() : (header ?? ''))
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
