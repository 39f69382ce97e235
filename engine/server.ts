/** The listening node:http server: its limits, timeouts and events, and how it drains. */
import { once } from 'node:events'
import type http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Settings } from './config/settings.ts'
import { Gateway } from './gateway.ts'
import { createServer, ServerRequest } from './request/node-http.ts'
import { openFileLimit } from './request/open-file-limit.ts'
import { Overload, type OverloadGuard } from './request/overload.ts'
import type { Resources } from './snapshot/resources.ts'
import type { Snapshot } from './snapshot/snapshot.ts'

export interface GatewayServer {
  readonly http: http.Server
  /** Number of requests and WebSockets in progress. */
  readonly openRequests: number
  listen(port: number, host: string): Promise<AddressInfo>
  /** Number of open connections that `serveConnection` got. */
  readonly connections: number
  /** Serves a connection that another process accepted. */
  serveConnection(socket: Socket): void
  /** Makes every reply from now on end its connection. */
  stopKeepAlive(): void
  /** Stops accepting connections. After `grace` ms it ends and settles open requests. */
  drain(grace: number): Promise<void>
}

/** Calls `current` for every request. The first snapshot limits the listener. */
export const createGatewayServer = (
  current: () => Snapshot,
  resources: Resources,
  overload: OverloadGuard = new Overload(),
): GatewayServer => {
  const gateway = new Gateway(current, resources, overload)
  const server = createHttpServer(gateway, current().settings)
  resources.acceptInside = connection => void server.emit('connection', connection)
  let connections = 0
  let isChecking = false
  let quietUntil = 0
  const refuse = (socket: Socket): void => {
    socket.destroy()
    resources.metrics.count('connections_refused_total', {})
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + REFUSAL_NOTICE
    resources.log.warn({ connections }, 'connections are refused: as many are open as may be')
  }
  return {
    http: server,
    get openRequests() {
      return gateway.openRequests
    },
    async listen(port, host) {
      server.listen({ port, host, backlog: 1_024 })
      await once(server, 'listening')
      return server.address() as AddressInfo
    },
    get connections() {
      return connections
    },
    serveConnection(socket) {
      if (connections >= server.maxConnections) return refuse(socket)
      // Node checks header timeouts from `listening` on, which this server emits without a socket.
      if (!isChecking) isChecking = server.emit('listening')
      connections++
      socket.on('close', () => connections--)
      socket.setNoDelay(true)
      server.emit('connection', socket)
    },
    stopKeepAlive: () => gateway.stopKeepAlive(),
    drain: grace => gateway.drain(server, grace),
  }
}

const createHttpServer = (gateway: Gateway, { limits, timeouts }: Settings): http.Server => {
  const checkEvery = Math.ceil(Math.min(500, timeouts.header / 10)) || 500
  const server = createServer(
    {
      IncomingMessage: ServerRequest,
      maxHeaderSize: limits.header_bytes + limits.url,
      // A head that would be late at the next check is refused at this one.
      headersTimeout: timeouts.header && timeouts.header - checkEvery,
      requestTimeout: 0, // uploads may take long; request/body-pace.ts demands a minimum pace
      keepAliveTimeout: timeouts.keep_alive,
      connectionsCheckingInterval: checkEvery,
      requireHostHeader: false, // Node would respond itself and serve the requests after it
      // Any other offer (h2c) is declined by a response in HTTP/1.1 (RFC 9110 §7.8).
      shouldUpgradeCallback: incoming => incoming.headers.upgrade?.toLowerCase() === 'websocket',
    },
    (incoming, response) => gateway.accept(incoming, response),
  )
  server.maxHeadersCount = 0 // with a limit Node drops headers silently; readHead refuses them
  server.maxConnections = limits.connections || Math.max(16, openFileLimit() / 2 - RESERVED)
  server.on('upgrade', (incoming, socket, head) => gateway.upgrade(incoming, socket, head))
  // `100 Continue` is sent when a stage reads the body; a refusal before that saves the upload.
  server.on('checkContinue', (incoming, response) => gateway.accept(incoming, response, true))
  server.on('checkExpectation', (incoming, response) => gateway.accept(incoming, response))
  server.on('connect', (incoming, socket) => gateway.refuseConnect(incoming, socket))
  server.on('clientError', (error, socket) => gateway.handleMalformed(error, socket as Socket))
  return server
}

/** ms between two lines about refused connections. */
const REFUSAL_NOTICE = 10_000
/** Number of files that the process itself needs: the log, the store, pipes to other processes. */
const RESERVED = 24
