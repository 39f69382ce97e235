/** The listening node:http server: its limits and deadlines, what its parser refuses, how it drains. */
import { once } from 'node:events'
import type http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Gateway } from './gateway.ts'
import { createServer } from './request/node-http.ts'
import type { Resources } from './snapshot/host.ts'
import type { Snapshot } from './snapshot/snapshot.ts'

export interface GatewayServer {
  readonly http: http.Server
  /** Requests and connections under way. */
  readonly open: number
  listen(port: number, host: string): Promise<AddressInfo>
  /** Connections that were taken and are still there. */
  readonly connections: number
  /** Serves a connection that another process accepted. */
  take(socket: Socket): void
  /** From now on every reply ends its connection. */
  leave(): void
  /** Stops accepting; what is under way may end within the grace (ms), then it is cut with an event and settled. */
  drain(grace: number): Promise<void>
}

/** `current` is asked per request: a reload swaps what it returns. Limits of the listener are those of the first snapshot. */
export const createGatewayServer = (
  current: () => Snapshot,
  resources: Resources,
): GatewayServer => {
  const { limits, timeouts } = current().settings
  const gateway = new Gateway(current, resources)
  const look = Math.ceil(Math.min(500, timeouts.header / 10)) || 500
  const server = createServer(
    {
      maxHeaderSize: limits.header_bytes + limits.url,
      // Whoever would be late at the next look is let go at this one.
      headersTimeout: timeouts.header && timeouts.header - look,
      requestTimeout: 0, // uploads may take long; a minimum pace guards them (body.ts)
      keepAliveTimeout: timeouts.keep_alive,
      connectionsCheckingInterval: look,
      requireHostHeader: false, // Node would answer by itself, and serve what stands behind it
      // Any other offer (h2c) is declined by going on in HTTP/1.1, as RFC 9110 §7.8 has it.
      shouldUpgradeCallback: incoming => incoming.headers.upgrade?.toLowerCase() === 'websocket',
    },
    (incoming, response) => gateway.accept(incoming, response),
  )
  server.maxHeadersCount = 0 // with a number, Node hides what is beyond it; we count and refuse
  server.maxConnections = limits.connections || Math.max(16, openFiles() / 2 - RESERVED)
  let connections = 0
  let tracking = false
  server.on('upgrade', (incoming, socket, head) => gateway.upgrade(incoming, socket, head))
  // A body that is asked about first is asked for when somebody reads it; until then a refusal can save it.
  server.on('checkContinue', (incoming, response) => gateway.accept(incoming, response, true))
  server.on('checkExpectation', (incoming, response) => gateway.accept(incoming, response))
  server.on('connect', (incoming, socket) => gateway.connect(incoming, socket))
  server.on('clientError', (error, socket) => gateway.malformed(error, socket))
  return {
    http: server,
    get open() {
      return gateway.open
    },
    async listen(port, host) {
      server.listen({ port, host, backlog: 1_024 })
      await once(server, 'listening')
      return server.address() as AddressInfo
    },
    get connections() {
      return connections
    },
    take(socket) {
      if (connections >= server.maxConnections) return void socket.destroy()
      // A server that never listens must be told when to begin looking for heads that do not come.
      if (!tracking) tracking = server.emit('listening')
      connections++
      socket.on('close', () => connections--)
      socket.setNoDelay(true)
      server.emit('connection', socket)
    },
    leave: () => gateway.leave(),
    drain: grace => gateway.drain(server, grace),
  }
}

/** Files of this process's own: the log, the store, pipes to other processes. */
const RESERVED = 24
const readOpenFiles = (): number => {
  // Without it the report asks for the names of all peers.
  const report = Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = report.getReport() as {
    userLimits?: { open_files?: { soft?: number | 'unlimited' } }
  }
  const soft = userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : Number.MAX_SAFE_INTEGER
}
/** Every connection may need another one to an upstream. Asked for once: the report is on all that a process has open. */
const openFiles = ((known?: number) => (): number => {
  known ??= readOpenFiles()
  return known
})()
