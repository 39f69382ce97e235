/** The end of one streamed answer: waits for an upstream that keeps the connection open after it,
 *  and sends an error in place of an end that does not come.
 *
 *     open ──▶ paused        an event that may be the last; `resume` if data follows
 *     open, paused ──▶ ended the last event, or no data for 5 s after a pause
 *     ended ──▶ open         `resume`: another answer follows in the same stream
 *     every state ──▶ closed `complete`: the client gets the end; `break`: it gets an error
 */
import { asFault } from '../../../engine/errors.ts'
import type { Bytes, Fault, Out } from '../../../engine/plugin.ts'
import type { ResponseListener } from './response-listener.ts'
import type { SseEvent } from './sse.ts'

/** ms that the upstream may keep the connection open. */
const WAIT_MS = { paused: 5_000, ended: 1_000 }
/** A client that leaves pays for the prompt, which the upstream has read. */
const CLIENT_LEFT = 499

export class StreamEnd {
  readonly #listener: ResponseListener
  state: 'open' | 'paused' | 'ended' | 'closed' = 'open'
  /** Whether content of the answer, or its finish reason, has come. */
  hasContent = false
  #hasSent = false
  #timer: NodeJS.Timeout | undefined

  constructor(listener: ResponseListener) {
    this.#listener = listener
  }
  send(bytes: Bytes, out: Out): void {
    this.#hasSent = true
    out.write(bytes)
  }
  /** The upstream should close the connection now. */
  reach(state: keyof typeof WAIT_MS): void {
    clearTimeout(this.#timer)
    this.state = state
    this.#timer = setTimeout(() => {
      if (this.state === 'paused') this.state = 'ended'
      this.#listener.onLinger()
    }, WAIT_MS[state])
  }
  /** Data follows. The wait goes on until the next `reach`. */
  resume(): void {
    this.state = 'open'
  }
  /** `tailOf`: returns the last bytes; throws if the answer cannot be encoded. */
  complete(out: Out, tailOf: () => Bytes | undefined): void {
    this.#close()
    if (!this.hasContent) this.#listener.onUnanswered()
    let tail: Bytes | undefined
    try {
      tail = tailOf()
    } catch (cause) {
      return this.break(asFault(cause), out)
    }
    out.end(tail)
  }
  /** Before anything was sent, the fault can still become an error response. `last`: the last event
   *  that was sent. */
  break(reason: Fault, out: Out, last?: SseEvent): void {
    this.#close()
    if (!this.#hasSent) return out.fail(reason)
    if (!this.hasContent && reason.status !== CLIENT_LEFT) this.#listener.onUnanswered()
    this.#listener.onBroken(reason)
    out.end(this.#listener.encodeFailure(reason, last), reason)
  }
  #close(): void {
    clearTimeout(this.#timer)
    this.state = 'closed'
  }
}
