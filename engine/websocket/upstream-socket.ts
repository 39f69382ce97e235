/** The open socket of an upstream, as the source of a reply. */
import type { WebSocket } from 'ws'
import type { Fault, Out } from '../plugin.ts'
import type { Source } from '../response/source.ts'

/** Paused until it is relayed; its reply has no body. */
export class UpstreamSocket implements Source {
  readonly socket: WebSocket
  /** Handles a cut once the socket is relayed. */
  onCut: ((reason: Fault) => void) | undefined

  constructor(socket: WebSocket) {
    this.socket = socket
  }
  start(out: Out): void {
    out.end()
  }
  pause(): void {}
  resume(): void {}
  abort(reason: Fault): void {
    if (this.onCut) this.onCut(reason)
    else this.socket.terminate()
  }
}
