/** Passes messages from one WebSocket to the other, through the stages. */
import { WebSocket } from 'ws'
import type { Exchange, Message, Stage } from '../plugin.ts'
import type { CredentialMask } from '../upstream/credential-mask.ts'

/** Queued bytes above which the sender is paused, and below which it is resumed. */
const PAUSE_ABOVE = 64 * 1_024
const RESUME_BELOW = 16 * 1_024
export interface RelayParts {
  readonly client: WebSocket
  readonly upstream: WebSocket
  /** Hides the upstream's credentials in its messages. */
  readonly mask?: CredentialMask | undefined
  readonly exchange: Exchange
  readonly stages: readonly Stage[]
}
export class Direction {
  bytes = 0
  /** When the first message was sent on (ms, monotonic); 0 before. */
  firstSentAt = 0
  /** Whether the receiver took bytes since the last check. */
  hasProgress = true
  readonly #from: WebSocket
  readonly #to: WebSocket
  readonly #first: (message: Message) => void
  readonly #name: Message['from']
  readonly #mask: CredentialMask | undefined
  readonly #queues: readonly StageQueue[]
  #holdCount = 0
  #isFull = false
  #closeAction: (() => void) | undefined

  constructor(name: Message['from'], parts: RelayParts, onFailure: (error: unknown) => void) {
    const [from, to] =
      name === 'client' ? [parts.client, parts.upstream] : [parts.upstream, parts.client]
    this.#from = from
    this.#to = to
    this.#name = name
    this.#mask = name === 'upstream' ? parts.mask : undefined
    // A client's message passes the first stage first, an upstream's the last.
    const stages = name === 'client' ? parts.stages.toReversed() : parts.stages
    const hold = (isPaused: boolean): void => this.#hold(isPaused)
    let next = (message: Message): void => this.#send(message.payload, !message.text)
    const queues: StageQueue[] = []
    for (const stage of stages) {
      const queue = new StageQueue(stage, parts.exchange, { next, hold, onFailure })
      next = message => queue.accept(message)
      queues.push(queue)
    }
    this.#first = next
    this.#queues = queues
  }
  get isHeld(): boolean {
    return this.#holdCount > 0
  }
  accept(received: Buffer, binary: boolean): void {
    this.bytes += received.length
    if (this.#closeAction) return
    const payload = this.#mask && !binary ? this.#mask.hideInPassing(received) : received
    if (this.#queues.length === 0) this.#send(payload, binary)
    else this.#first({ from: this.#name, text: !binary, payload })
  }
  /** Closes the receiver once everything sent to it has been written. */
  close(act: () => void): void {
    this.#closeAction ??= act
    this.#closeIfDrained()
  }
  #send(payload: Uint8Array, binary: boolean): void {
    if (this.#to.readyState !== WebSocket.OPEN) return
    this.firstSentAt ||= performance.now()
    this.#to.send(payload, { binary }, this.#onSent)
    if (this.#isFull || this.#to.bufferedAmount <= PAUSE_ABOVE) return
    this.#isFull = true
    this.#hold(true)
  }
  readonly #onSent = (): void => {
    this.hasProgress = true
    if (this.#isFull && this.#to.bufferedAmount <= RESUME_BELOW) {
      this.#isFull = false
      this.#hold(false)
    }
    if (this.#closeAction) this.#closeIfDrained()
  }
  #hold(paused: boolean): void {
    this.#holdCount += paused ? 1 : -1
    if (paused && this.#holdCount === 1) this.#from.pause()
    if (paused || this.#holdCount > 0) return
    this.#from.resume()
    if (this.#closeAction) this.#closeIfDrained()
  }
  #closeIfDrained(): void {
    const busy = this.#queues.some(queue => queue.busy)
    if (busy || (this.#to.readyState === WebSocket.OPEN && this.#to.bufferedAmount > 0)) return
    this.#closeAction?.()
  }
}

interface QueueEnds {
  next(message: Message): void
  /** Pauses and resumes the socket the messages come from. */
  hold(paused: boolean): void
  onFailure(error: unknown): void
}

/** Runs one stage on messages in order; a promise holds the next message back. */
class StageQueue {
  readonly #stage: Stage
  readonly #exchange: Exchange
  readonly #ends: QueueEnds
  readonly #queue: Message[] = []
  #busy = false

  constructor(stage: Stage, exchange: Exchange, ends: QueueEnds) {
    this.#stage = stage
    this.#exchange = exchange
    this.#ends = ends
  }
  get busy(): boolean {
    return this.#busy
  }
  /** Queues while the stage is busy: messages of one read arrive although the socket is paused. */
  accept(message: Message): void {
    if (this.#busy) this.#queue.push(message)
    else this.#run(message)
  }
  #run(message: Message): void {
    try {
      const promise = this.#stage.message?.(message, this.#ends.next, this.#exchange)
      if (promise) this.#wait(promise)
    } catch (error) {
      this.#ends.onFailure(error)
    }
  }
  #wait(promise: Promise<void>): void {
    this.#busy = true
    this.#ends.hold(true)
    promise
      .catch(error => this.#ends.onFailure(error))
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
