/** Refuses request bodies slower than the minimum pace. Knows times and counts only. */
import { errors } from '../errors.ts'
import { type Indexed, IndexedSet } from './indexed-set.ts'

const fault = errors({
  BODY_TOO_SLOW: [408, 'The request body arrived slower than %d bytes a second.'],
})

export interface PacedBody extends Indexed {
  /** When the body was taken (ms, monotonic), later by the time that its reader took. */
  startedAt: number
  /** When its reader got the last chunk (ms, monotonic). */
  handedAt: number
  /** Bytes so far. */
  readonly byteCount: number
  refuse(reason: unknown): void
}

/** Refuses bodies slower than `rate` bytes a second after `graceMs`, with one timer. */
export class BodyPace {
  readonly rate: number
  readonly #graceMs: number
  readonly #bodies = new IndexedSet<PacedBody>()
  readonly #timer: NodeJS.Timeout
  constructor(rate: number, graceMs: number) {
    this.rate = rate
    this.#graceMs = graceMs
    this.#timer = setInterval(() => this.check(performance.now()), 1_000).unref()
  }
  watch(body: PacedBody): void {
    body.startedAt = performance.now()
    this.#bodies.add(body)
  }
  remove(body: PacedBody): void {
    this.#bodies.remove(body)
  }
  /** The reader gets a chunk. The time until `resume` does not count as slowness. */
  pause(body: PacedBody): void {
    this.#bodies.remove(body)
    body.handedAt = performance.now()
  }
  resume(body: PacedBody): void {
    body.startedAt += performance.now() - body.handedAt
    this.#bodies.add(body)
  }
  check(now: number): void {
    for (const body of this.#bodies) {
      const elapsedMs = now - body.startedAt
      if (elapsedMs > this.#graceMs && body.byteCount < (this.rate * elapsedMs) / 1_000)
        body.refuse(fault('BODY_TOO_SLOW', [this.rate]))
    }
  }
  close(): void {
    clearInterval(this.#timer)
  }
}
