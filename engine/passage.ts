/** One stage's place in one direction of a WebSocket: messages in order, and a promise holds the next one back. */
import type { Exchange, Message, Stage } from './plugin.ts'

export interface PassageEnds {
  next(message: Message): void
  /** Pauses and resumes the socket the messages come from. */
  hold(held: boolean): void
  failed(thrown: unknown): void
}

export class Passage {
  readonly #stage: Stage
  readonly #exchange: Exchange
  readonly #ends: PassageEnds
  readonly #queue: Message[] = []
  #busy = false

  constructor(stage: Stage, exchange: Exchange, ends: PassageEnds) {
    this.#stage = stage
    this.#exchange = exchange
    this.#ends = ends
  }
  get busy(): boolean {
    return this.#busy
  }
  /** What one read brought may go on arriving while the socket is paused already. */
  take(message: Message): void {
    if (this.#busy) this.#queue.push(message)
    else this.#run(message)
  }
  #run(message: Message): void {
    try {
      const waits = this.#stage.message?.(message, this.#ends.next, this.#exchange)
      if (waits) this.#wait(waits)
    } catch (thrown) {
      this.#ends.failed(thrown)
    }
  }
  #wait(promise: Promise<void>): void {
    this.#busy = true
    this.#ends.hold(true)
    promise
      .catch(thrown => this.#ends.failed(thrown))
      .finally(() => {
        this.#busy = false
        for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
          this.#run(next)
          if (this.#busy) break
        }
        this.#ends.hold(false)
      })
  }
}
