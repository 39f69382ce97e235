/** A route `WS /v1/responses`: opens a WebSocket whose events are served like requests to the
 *  route `POST` of the same path. */
import type { Exchange, Host, Json, Stage } from '../../../engine/plugin.ts'
import {
  isKeyProtocol,
  removeQueryKey,
  routeCredentialReader,
} from '../../credentials/credential-extraction.ts'
import { openSocketPair } from '../../sockets/socket-pair.ts'
import { ABOUT } from '../about.ts'
import { fault } from '../faults.ts'
import { ResponseSession } from './session.ts'

/** ms; characters. */
export interface SocketLimits {
  readonly lifetime: number
  readonly largest: number
}

export class SocketStage implements Stage {
  readonly answers = true
  readonly #host: Host
  readonly #limits: SocketLimits
  constructor(host: Host, limits: SocketLimits) {
    this.#host = host
    this.#limits = limits
  }
  async handle(exchange: Exchange): Promise<void> {
    const { id, request } = exchange
    const { membership } = this.#host
    const path = pathOf(exchange)
    if (!this.#host.match('POST', path).route) throw fault('SOCKET_PATH', [request.path])
    const headers = this.#headersOf(exchange)
    const offered = protocolsIn(request).filter(each => !isKeyProtocol(each))
    const socket = await openSocketPair(offered, far => {
      new ResponseSession(far, {
        id,
        ...this.#limits,
        leaving: membership.leaving,
        serve: (body, signal) =>
          this.#host.serve({
            method: 'POST',
            path,
            headers,
            body: Buffer.from(body),
            client: request.client,
            signal,
          }),
      })
    })
    exchange.answer(101, socket)
  }
  describe() {
    return ABOUT.socket ?? {}
  }
  explain(): Json {
    return { socket: 'each response.create is served as a POST', ...this.#limits }
  }
  /** Headers of each request: the client's, with the credential that opened the socket. */
  #headersOf(exchange: Exchange): Record<string, string> {
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(exchange.request.headers))
      if (value !== undefined && !OWN_HEADERS.test(name)) headers[name] = value
    const credential = routeCredentialReader(this.#host)(exchange)
    if (credential && protocolsIn(exchange.request).some(isKeyProtocol))
      headers.authorization = `Bearer ${credential}`
    return { ...headers, 'content-type': 'application/json', accept: 'text/event-stream' }
  }
}

/** Headers of the opening request alone: its connection, its handshake, its id and its body. */
const OWN_HEADERS =
  /^(?:connection|upgrade|keep-alive|te|trailer|transfer-encoding|content-.+|sec-websocket-.+|x-request-id|idempotency-key|expect)$/
const protocolsIn = ({ headers }: Exchange['request']): readonly string[] =>
  (headers['sec-websocket-protocol'] ?? '').split(/\s*,\s*/).filter(Boolean)
/** Path and query of each request. */
const pathOf = ({ request }: Exchange): string => {
  const query = String(request.query)
  return query === '' ? request.path : removeQueryKey(`${request.path}?${query}`)
}
