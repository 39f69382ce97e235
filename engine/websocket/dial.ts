/** One attempt to open a WebSocket: the innermost step of the forward ring. */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { Connector } from '../egress/connector.ts'
import { errors } from '../errors.ts'
import type { Fault, Headers } from '../plugin.ts'
import { FilteredReply } from '../response/filters.ts'
import { responseHeaders } from '../response/headers.ts'
import { pickKey, recordKey, type UpstreamAttempt } from '../upstream/attempt.ts'
import { limitTime } from '../upstream/health.ts'
import { admitKey } from '../upstream/key-admission.ts'
import { signRequest } from '../upstream/sign-request.ts'
import { targetFault } from '../upstream/transport.ts'
import type { Deadlines } from '../upstream/upstreams.ts'
import { UpstreamSocket } from './upstream-socket.ts'

const fault = errors({
  TARGET_BUSY: [429, 'The upstream %s accepts no more connections.', { retryable: true }],
  TARGET_AWAY: [503, 'The upstream %s is not available at present.', { retryable: true }],
  TARGET_DECLINED: [502, 'The upstream %s refused the WebSocket: it answered %d.'],
})
const RETRYABLE_STATUSES: Readonly<Record<number, 'TARGET_BUSY' | 'TARGET_AWAY'>> = {
  429: 'TARGET_BUSY',
  503: 'TARGET_AWAY',
}

/** Limits of both sockets of a relay. No compression: a message inflates before its bytes can be
 *  counted. ws#2331: with the limits of `ws` one connection holds 13.5 MB with tiny fragments. */
export const SOCKET_LIMITS = {
  perMessageDeflate: false,
  maxFragments: 1_024,
  maxBufferedChunks: 32 * 1_024,
  /** ms until a peer that does not answer a close is dropped. */
  closeTimeout: 900,
} as const

/** `payload`: the largest message, bytes. */
export const createDialer =
  (payload: number) =>
  async (attempt: UpstreamAttempt, deadlines: Deadlines): Promise<void> => {
    const { exchange, candidate, request } = attempt
    const { upstream, origin } = candidate
    if (origin.address === undefined) throw targetFault('INSIDE_SILENT', [upstream.name])
    const headers = { ...request.headers, ...upstream.set }
    pickKey(attempt)
    await admitKey(attempt)
    const startedAt = attempt.sentAt
    const url = origin.address + (await signRequest(attempt, headers))
    const connector = await origin.pool?.connector
    const { name } = upstream
    const handshake = new Handshake(url, headers, { name, deadlines, payload, connector })
    origin.busy++
    origin.health.recordAttempt(startedAt)
    handshake.socket.on('close', () => origin.busy--)
    const underWay = { waiting: true, abort: (reason: Fault) => handshake.fail(reason) }
    exchange.awaitAttempt(underWay)
    try {
      const headers = await handshake.done
      origin.health.recordSuccess(performance.now())
      recordKey(attempt, 101)
      attempt.setReply(
        new FilteredReply(
          101,
          headers,
          undefined,
          new UpstreamSocket(handshake.socket, upstream.mask),
        ),
      )
    } catch (error) {
      recordFailure(attempt, error as Fault, exchange.abandonReason !== undefined)
      throw error
    } finally {
      underWay.waiting = false
      exchange.progress.waitedMs += performance.now() - startedAt
    }
  }

const recordFailure = (
  attempt: UpstreamAttempt,
  { status, headers, refusesKey }: Fault,
  wasAbandoned: boolean,
): void => {
  const { origin, upstream } = attempt.candidate
  const now = performance.now()
  if (status === 429 && !wasAbandoned) {
    recordKey(attempt, status, headers)
    return void origin.health.recordResponse(status, headers, now, upstream.health)
  }
  attempt.key?.health.recordAbandoned()
  if (wasAbandoned || refusesKey) origin.health.recordAbandoned()
  else origin.health.recordFailure(now, upstream.health)
}

interface HandshakeOptions {
  readonly name: string
  readonly deadlines: Deadlines
  readonly payload: number
  /** Opens the connection in place of `node:net`: by a proxy, or with own certificates. */
  readonly connector: Connector | undefined
}

/** Opens a socket to the upstream and pauses it. `done`: headers for the client. */
class Handshake {
  readonly socket: WebSocket
  readonly done: Promise<Headers>
  readonly #options: HandshakeOptions
  readonly #headers = Promise.withResolvers<Headers>()
  #responseHeaders: Headers = {}
  #connected = false
  #timer: NodeJS.Timeout

  constructor(url: string, headers: Headers, options: HandshakeOptions) {
    this.#options = options
    this.done = this.#headers.promise
    const { 'sec-websocket-protocol': offeredProtocols, ...others } = headers
    this.socket = new WebSocket(url, readProtocols(offeredProtocols), {
      ...SOCKET_LIMITS,
      maxPayload: options.payload,
      headers: others,
      // A connection whose upgrade was refused must not be used again.
      ...(options.connector?.socketOptions ?? { agent: false }),
      finishRequest: request => this.#send(request),
    })
    this.#timer = setTimeout(() => this.#onTimeout(), options.deadlines.connect)
    // Stays registered: later errors show in the close code.
    this.socket.on('error', cause => this.fail(this.#connectionFault(cause)))
    this.socket.once('upgrade', response => {
      this.#responseHeaders = responseHeaders(response.headers)
    })
    this.socket.once('unexpected-response', (_, response) => this.#onDeclined(response))
    this.socket.once('open', () => {
      this.socket.pause()
      clearTimeout(this.#timer)
      this.#headers.resolve(this.#responseHeaders)
    })
  }
  fail(reason: Fault): void {
    clearTimeout(this.#timer)
    this.#headers.reject(reason)
    if (this.socket.readyState === WebSocket.CONNECTING) this.socket.terminate()
  }
  #send(request: ClientRequest): void {
    request.once('socket', socket => {
      const onConnected = (): void => {
        this.#connected = true
        clearTimeout(this.#timer)
        this.#timer = setTimeout(() => this.#onTimeout(), this.#options.deadlines.first_byte)
      }
      if (this.#options.connector) onConnected()
      else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', onConnected)
    })
    request.end()
  }
  #onTimeout(): void {
    const { name, deadlines } = this.#options
    const code = this.#connected ? 'TARGET_TIMEOUT' : 'TARGET_UNREACHABLE'
    this.fail(targetFault(code, [name, deadlines.first_byte], { retryable: true }))
  }
  #onDeclined({ statusCode = 0, headers }: IncomingMessage): void {
    const { name } = this.#options
    const code = RETRYABLE_STATUSES[statusCode]
    const wait = String(limitTime(headers) / 1_000)
    if (code) return this.fail(fault(code, [name], { headers: { 'retry-after': wait } }))
    const refusesKey = statusCode === 401
    const traits = { retryable: refusesKey || statusCode >= 500, refusesKey }
    this.fail(fault('TARGET_DECLINED', [name, statusCode], traits))
  }
  #connectionFault(cause: Error): Fault {
    const code = this.#connected ? 'TARGET_BROKE' : 'TARGET_UNREACHABLE'
    return targetFault(code, [this.#options.name], { cause, retryable: true })
  }
}

/** The names in `Sec-WebSocket-Protocol`. */
export const readProtocols = (header: string | string[] | undefined): string[] =>
  (Array.isArray(header) ? header.join() : (header ?? ''))
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
