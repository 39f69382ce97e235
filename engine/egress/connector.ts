/** Opens connections to one address of the operator over undici: through a proxy, with certificates
 *  of its own, or for HTTP/2. */
import type { ClientRequestArgs } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { afterRead, endpointOf, UNASKED } from '../http-client/connect.ts'

/** How an address is connected to, if that differs from a plain connection. */
export interface ConnectionOptions {
  /** `http://user:password@host:port`: each connection is a tunnel through it. */
  readonly proxy?: string | undefined
  /** PEM texts: trusted authorities, and the certificate of the gateway with its key. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined
  /** Offers HTTP/2; without TLS it is taken for granted. */
  readonly http2?: boolean | undefined
}
export interface Connector {
  connect(callback: buildConnector.Callback): void
  /** For the request of a WebSocket: never HTTP/2. */
  readonly socketOptions: ClientRequestArgs
  /** Closes the idle connections to the proxy. */
  close(): void
}

/** `timeout`: ms for the tunnel, and for each connection. Loads undici: 100 ms and 30 MiB. */
export const openConnector = async (
  address: URL,
  { proxy, tls, http2 = false }: ConnectionOptions,
  timeout: number,
): Promise<Connector> => {
  const { buildConnector, Pool } = await import('undici')
  const { host: hostname, port, secure } = endpointOf(address)
  const { protocol, host } = address
  const target = { hostname, host, protocol, port: String(port) }
  const named = isIP(hostname) ? target : { ...target, servername: hostname }
  const build = (isHttp2: boolean): buildConnector.connector => {
    const offers = { allowH2: isHttp2, preferH2: isHttp2, useH2c: isHttp2 }
    return buildConnector({ ...tls, ...offers, timeout })
  }
  const speaksFirst = (socket: Socket): boolean =>
    http2 && (!secure || ('alpnProtocol' in socket && socket.alpnProtocol === 'h2'))
  const guarded =
    (connect: buildConnector.connector): buildConnector.connector =>
    (options, callback) =>
      connect(options, refuseEarlyBytes(speaksFirst, callback))
  const [any, http1] = [guarded(build(http2)), guarded(build(false))]
  if (proxy === undefined)
    return {
      connect: callback => any(named, callback),
      socketOptions: socketOptionsOf(callback => http1(named, callback)),
      close() {},
    }
  const tunnels = new Pool(new URL(proxy).origin, { connect: { timeout }, headersTimeout: timeout })
  const path = `${address.hostname}:${port}`
  const headers = { host: path, ...proxyCredential(new URL(proxy)) }
  const openTunnel = async (): Promise<Socket> => {
    const { statusCode, socket } = await tunnels.connect({ path, headers })
    if (statusCode === 200) return socket as Socket
    socket.on('error', () => {}).destroy()
    throw new Error(`the proxy answered ${statusCode}`)
  }
  const through =
    (connect: buildConnector.connector): Connector['connect'] =>
    callback =>
      void openTunnel().then(
        httpSocket => {
          if (secure) connect({ ...named, httpSocket }, callback)
          else refuseEarlyBytes(speaksFirst, callback)(null, httpSocket)
        },
        // Without the code of undici, by which it would try for ever.
        cause => callback(new Error('there is no tunnel through the proxy', { cause }), null),
      )
  const close = (): void => void tunnels.destroy()
  return { connect: through(any), socketOptions: socketOptionsOf(through(http1)), close }
}

/** Bytes before the first request of HTTP/1.1 would be taken as its answer; a server of HTTP/2
 *  sends its settings first. */
const refuseEarlyBytes =
  (speaksFirst: (socket: Socket) => boolean, callback: buildConnector.Callback) =>
  (...[error, socket]: Parameters<buildConnector.Callback>): void => {
    if (error) return callback(error, null)
    if (!socket || speaksFirst(socket)) return callback(null, socket as Socket)
    socket.read(0)
    afterRead(() => {
      if (socket.readableLength === 0 && !socket.destroyed) return callback(null, socket)
      socket.on('error', () => {}).destroy()
      callback(new Error(UNASKED), null)
    })
  }

/** Node calls `createConnection` with a callback for the connected socket. */
const socketOptionsOf = (connect: Connector['connect']): ClientRequestArgs => ({
  createConnection: (_, callback) => void connect(callback as buildConnector.Callback),
})

const proxyCredential = ({ username, password }: URL): Readonly<Record<string, string>> => {
  if (username === '') return {}
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` }
}
