/** Two connected WebSockets inside the process, without a port: the near one answers an exchange
 *  as an upstream's would, the far one is served by a plugin. */
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Socket } from '../../engine/plugin.ts'

/** Returns the near socket, open and paused. `protocols`: those offered; the first is chosen. */
export const openSocketPair = async (
  protocols: readonly string[],
  serve: (far: WebSocket) => void,
): Promise<Socket> => {
  // Loaded at the first socket: few gateways have one.
  const { WebSocket, WebSocketServer } = await import('ws')
  const { createServer } = process.getBuiltinModule('node:http')
  // Messages were limited and unmasked on their way from the client.
  const limits = { maxPayload: 0, perMessageDeflate: false }
  const sockets = new WebSocketServer({ noServer: true, clientTracking: false, ...limits })
  const server = createServer().on('upgrade', (request, connection, head) => {
    sockets.handleUpgrade(request, connection, head, serve)
  })
  const [near, far] = duplexPair()
  server.emit('connection', far)
  const socket = new WebSocket('ws://inside/', [...protocols], {
    createConnection: () => near,
    ...limits,
  })
  socket.once('open', () => socket.pause())
  await once(socket, 'open')
  return socket
}

/** Bytes waiting for the client above which no more are produced, and below which more are. */
export const PAUSE_ABOVE = 64 * 1_024
export const RESUME_BELOW = 16 * 1_024
