/** TLS of the listener: wraps the connections that a worker gets, and takes a new certificate
 *  without ending those that are open. */
import type { Socket } from 'node:net'
import { createServer, type Server } from 'node:tls'
import type { Settings } from '../../config/settings.ts'

export interface TlsListener {
  /** Takes the certificate of a version that goes live; new connections get it. */
  update(settings: Pick<Settings, 'tls' | 'timeouts'>): void
  accept(socket: Socket): void
}

/** `serve`: takes connections without TLS, and those whose handshake is complete. */
export const createTlsListener = (serve: (socket: Socket) => void): TlsListener => {
  let server: Server | undefined
  return {
    update({ tls, timeouts }) {
      if (!tls) server = undefined
      else if (server) server.setSecureContext(tls)
      else server = createTlsServer(tls, timeouts.header, serve)
    },
    accept(socket) {
      if (server) server.emit('connection', socket)
      else serve(socket)
    },
  }
}

const createTlsServer = (
  tls: NonNullable<Settings['tls']>,
  handshakeTimeout: number,
  serve: (socket: Socket) => void,
): Server => {
  const options = { ...tls, ALPNProtocols: ['http/1.1'], allowHalfOpen: true }
  return (
    createServer({ ...options, ...(handshakeTimeout > 0 && { handshakeTimeout }) }, serve)
      // A scanner, plain HTTP, or a client that refuses the certificate: none can read a response.
      .on('tlsClientError', (_, socket) => socket.destroy())
  )
}
