/** The open socket of an upstream, as the source of a reply. */
import type { WebSocket } from 'ws'
import type { Fault, Out } from '../plugin.ts'
import type { Source } from '../response/source.ts'
import type { CredentialMask } from '../upstream/credential-mask.ts'

/** Paused until it is relayed; its reply has no body. */
export class UpstreamSocket implements Source {
  readonly socket: WebSocket
  readonly mask: CredentialMask | undefined
  /** Handles a cut once the socket is relayed. */
  onCut: ((reason: Fault) => void) | undefined

  /** `mask`: hides the upstream's credentials in its messages. */
  constructor(socket: WebSocket, mask?: CredentialMask) {
    this.socket = socket
    this.mask = mask
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
