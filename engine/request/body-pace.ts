/** Refuses request bodies slower than the minimum pace. Knows times and counts only. */
import { errors } from '../errors.ts'
import type { Bytes } from '../plugin.ts'
import { type Indexed, IndexedSet } from './indexed-set.ts'

const fault = errors({
  BODY_TOO_SLOW: [408, 'The request body arrived slower than %d bytes a second.'],
})

export interface PacedBody extends Indexed {
  /** When the body was taken (ms, monotonic), later by the time that its reader took. */
  startedAt: number
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
    this.#timer = setInterval(() => this.check(performance.now()), 1_000)
    this.#timer.unref()
  }
  watch(body: PacedBody): void {
    body.startedAt = performance.now()
    this.#bodies.add(body)
  }
  remove(body: PacedBody): void {
    this.#bodies.remove(body)
  }
  /** Yields a chunk. The time until the reader asks for the next one does not count as slowness. */
  async *handToReader(body: PacedBody, chunk: Bytes): AsyncGenerator<Bytes> {
    this.#bodies.remove(body)
    const since = performance.now()
    yield chunk
    body.startedAt += performance.now() - since
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
