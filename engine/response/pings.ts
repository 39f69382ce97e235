/** Keep-alive of a stream of events: when a ping is due, and whether one fits here.
 *  A tick follows every half interval, so that a stream is silent for one interval at most, and a
 *  chunk costs no look at the clock. */
import type { Bytes } from '../plugin.ts'

/** `every`: ms of silence; `event`: what is sent then, in the client's dialect. */
export interface PingRule {
  readonly every: number
  readonly event: Bytes
}
export const PING_COMMENT: Bytes = Buffer.from(': ping\n\n')

export class Pings {
  /** The last four bytes of the stream; LF LF before the first one. */
  #ending = 0x0a0a
  /** Ticks since the last chunk, without the first one. */
  #quietTicks = -1
  readonly #timer: NodeJS.Timeout

  constructor({ every, event }: PingRule, send: (event: Bytes) => void) {
    this.#timer = setInterval(() => {
      this.#quietTicks++
      if (this.#quietTicks % 2 === 1 && this.#isBetweenEvents()) send(event)
    }, every / 2)
  }
  observe(chunk: Bytes): void {
    this.#quietTicks = -1
    for (let at = Math.max(0, chunk.length - 4); at < chunk.length; at++)
      this.#ending = (this.#ending << 8) | (chunk[at] ?? 0)
  }
  stop(): void {
    clearInterval(this.#timer)
  }
  /** Whether a blank line ends the bytes: LF LF, CR LF CR LF, LF CR LF or CR CR. */
  #isBetweenEvents(): boolean {
    const ending = this.#ending
    const lastTwo = ending & 0xffff
    return lastTwo === 0x0a0a || lastTwo === 0x0d0d || (ending & 0xffffff) === 0x0a0d0a
  }
}
