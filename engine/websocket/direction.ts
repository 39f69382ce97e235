/** One way between two WebSockets: through the stages, as fast as the receiver takes it. */
import { WebSocket } from 'ws'
import type { Exchange, Message, Stage } from '../plugin.ts'

/** Bytes that wait for a slow peer before the other one is paused, and when it is resumed. */
const HIGH = 64 * 1_024
const LOW = 16 * 1_024
export interface RelayParts {
  readonly client: WebSocket
  readonly upstream: WebSocket
  readonly exchange: Exchange
  readonly stages: readonly Stage[]
}
export class Direction {
  bytes = 0
  /** Whether the receiving peer showed a sign of life since the last beat. */
  moved = true
  readonly #from: WebSocket
  readonly #to: WebSocket
  readonly #first: (message: Message) => void
  readonly #name: Message['from']
  readonly #passages: readonly Passage[]
  #holds = 0
  #full = false
  #closing: (() => void) | undefined

  constructor(name: Message['from'], parts: RelayParts, failed: (thrown: unknown) => void) {
    const [from, to] =
      name === 'client' ? [parts.client, parts.upstream] : [parts.upstream, parts.client]
    this.#from = from
    this.#to = to
    this.#name = name
    // As an onion: what a client says passes the first stage first, what an upstream says the last.
    const stages = name === 'client' ? parts.stages.toReversed() : parts.stages
    const hold = (held: boolean): void => this.#hold(held)
    let next = (message: Message): void => this.#send(message.payload, !message.text)
    const passages: Passage[] = []
    for (const stage of stages) {
      const passage = new Passage(stage, parts.exchange, { next, hold, failed })
      next = message => passage.take(message)
      passages.push(passage)
    }
    this.#first = next
    this.#passages = passages
  }
  get held(): boolean {
    return this.#holds > 0
  }
  take(payload: Buffer, binary: boolean): void {
    this.bytes += payload.length
    if (this.#closing) return
    if (this.#passages.length === 0) this.#send(payload, binary)
    else this.#first({ from: this.#name, text: !binary, payload })
  }
  /** Closes the receiving end behind everything that is still on its way there. */
  close(act: () => void): void {
    this.#closing ??= act
    this.#settle()
  }
  #send(payload: Uint8Array, binary: boolean): void {
    if (this.#to.readyState !== WebSocket.OPEN) return
    this.#to.send(payload, { binary }, this.#sent)
    if (this.#full || this.#to.bufferedAmount <= HIGH) return
    this.#full = true
    this.#hold(true)
  }
  readonly #sent = (): void => {
    this.moved = true
    if (this.#full && this.#to.bufferedAmount <= LOW) {
      this.#full = false
      this.#hold(false)
    }
    if (this.#closing) this.#settle()
  }
  #hold(held: boolean): void {
    this.#holds += held ? 1 : -1
    if (held && this.#holds === 1) this.#from.pause()
    if (held || this.#holds > 0) return
    this.#from.resume()
    if (this.#closing) this.#settle()
  }
  #settle(): void {
    const busy = this.#passages.some(passage => passage.busy)
    if (busy || (this.#to.readyState === WebSocket.OPEN && this.#to.bufferedAmount > 0)) return
    this.#closing?.()
  }
}

interface PassageEnds {
  next(message: Message): void
  /** Pauses and resumes the socket the messages come from. */
  hold(held: boolean): void
  failed(thrown: unknown): void
}

/** One stage's place in it: messages in order, and a promise holds the next one back. */
class Passage {
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
