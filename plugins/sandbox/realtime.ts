/** The sandbox of realtime sessions: a WebSocket inside the process, without a port. */
import type { WebSocket } from 'ws'
import type { Socket } from '../../engine/plugin.ts'
import { openSocketPair, PAUSE_ABOVE, RESUME_BELOW } from '../sockets/socket-pair.ts'
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
export const openRealtime = ({ model, id, protocols }: RealtimeRequest): Promise<Socket> => {
  const session = new RealtimeSession(model, id, Math.floor(Date.now() / 1_000))
  const offered = /\brealtime\b/.test(protocols) ? ['realtime'] : []
  return openSocketPair(offered, peer => serve(peer, session))
}

const serve = (peer: WebSocket, session: RealtimeSession): void => {
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
