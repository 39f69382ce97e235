/** Opens a socket to an address: TCP, or TLS with HTTP/1.1. */
import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface Endpoint {
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  readonly secure: boolean
}
interface ConnectOptions {
  /** ms within which the connection must be established. */
  readonly timeout: number
  /** Buffer and callback of reads. Without it the socket is read as a stream. */
  readonly onread?: OnReadOpts
  /** TLS session of an earlier connection, to resume. */
  readonly session?: Buffer | undefined
}
/** Calls `done` once: with an error, or with a connected socket. */
export type Connect = (endpoint: Endpoint, options: ConnectOptions, callback: OnConnect) => void
type OnConnect = (...args: [Error, undefined] | [undefined, Socket]) => void

/** ms without traffic until TCP keep-alive probes are sent. */
const PROBE_AFTER = 60_000

export const connect: Connect = (endpoint, { timeout, onread, session }, callback) => {
  const { host, port, secure } = endpoint
  const reading = onread && { onread }
  const socket = secure
    ? connectTls({
        host,
        port,
        // RFC 6066 §3: an address is not a server name.
        servername: isIP(host) ? '' : host,
        ALPNProtocols: ['http/1.1'],
        ...(session && { session }),
        ...reading,
      })
    : connectTcp({ host, port, ...reading })
  socket.setNoDelay(true)
  socket.setKeepAlive(true, PROBE_AFTER)
  const settle = (error: Error | undefined): void => {
    clearTimeout(timer)
    socket.removeListener('error', settle)
    socket.removeListener(ready, onReady)
    if (!error) return callback(undefined, socket)
    socket.on('error', () => {}).destroy()
    callback(error, undefined)
  }
  const onReady = (): void => settle(undefined)
  const ready = secure ? 'secureConnect' : 'connect'
  const onTimeout = (): void =>
    settle(new Error(`no connection to ${host}:${port} in ${timeout} ms`))
  const timer = setTimeout(onTimeout, timeout)
  socket.once('error', settle)
  socket.once(ready, onReady)
}

/** The failure of a connection on which nothing was sent. */
export const UNASKED = 'the upstream answered before it had a request, or closed the connection'
/** Calls back once what has arrived on a socket by now was read. */
export const afterRead = (callback: () => void): void =>
  void setImmediate(() => void setImmediate(callback))

/** The endpoint of an http or https URL. */
export const endpointOf = (url: URL): Endpoint => {
  const secure = url.protocol === 'https:'
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port)
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port, secure }
}
