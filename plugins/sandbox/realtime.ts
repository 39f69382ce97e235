/** The sandbox of realtime sessions: a WebSocket server inside the process, without a port. */
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import type { WebSocket as ServerSocket } from 'ws'
import type { Socket } from '../../engine/plugin.ts'
import { RealtimeSession } from './realtime-session.ts'

export interface RealtimeRequest {
  /** The upstream's name of the model. */
  readonly model: string
  /** The id of the exchange, without its prefix. */
  readonly id: string
  /** The subprotocols that the client offers, as in the header. */
  readonly protocols: string
}

/** Opens a session: a socket connected to it, paused. */
export const openRealtime = async ({ model, id, protocols }: RealtimeRequest): Promise<Socket> => {
  // Loaded at the first session: few gateways have one.
  const { WebSocket, WebSocketServer } = await import('ws')
  const { createServer } = process.getBuiltinModule('node:http')
  const session = new RealtimeSession(model, id, Math.floor(Date.now() / 1_000))
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer().on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, peer => serve(peer, session))
  })
  const [near, far] = duplexPair()
  server.emit('connection', far)
  const offered = /\brealtime\b/.test(protocols) ? ['realtime'] : []
  const socket = new WebSocket('ws://sandbox/', offered, {
    createConnection: () => near,
    perMessageDeflate: false,
  })
  socket.once('open', () => socket.pause())
  await once(socket, 'open')
  return socket
}

/** Bytes waiting for the client above which its events are not read, and below which they are. */
const PAUSE_ABOVE = 64 * 1_024
const RESUME_BELOW = 16 * 1_024

const serve = (peer: ServerSocket, session: RealtimeSession): void => {
  const resumeIfDrained = (): void => {
    if (peer.isPaused && peer.bufferedAmount <= RESUME_BELOW) peer.resume()
  }
  const send = (event: object): void => peer.send(JSON.stringify(event), resumeIfDrained)
  send(session.start())
  peer.on('error', () => peer.terminate())
  peer.on('message', message => {
    const isSending = peer.bufferedAmount > 0
    session.handle(String(message), isSending).forEach(send)
    if (peer.bufferedAmount > PAUSE_ABOVE) peer.pause()
  })
}
