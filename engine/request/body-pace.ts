/** Minimum pace of request bodies under way: slower ones are refused. Knows when, not what. */
import { errors } from '../errors.ts'
import type { Bytes } from '../plugin.ts'
import { Roster, type Seated } from './indexed-set.ts'

const fault = errors({
  BODY_TOO_SLOW: [408, 'The request body arrived slower than %d bytes a second.'],
})

/** A body under way. */
export interface Paced extends Seated {
  /** When it was first asked for, ms, monotonic. */
  begunAt: number
  /** Bytes so far. */
  readonly received: number
  refuse(reason: unknown): void
}

/** Watches bodies under way: one slower than `rate` bytes a second after `graceMs` is a fault. One timer for all. */
export class Pace {
  readonly rate: number
  readonly #graceMs: number
  readonly #bodies = new Roster<Paced>()
  readonly #timer: NodeJS.Timeout
  constructor(rate: number, graceMs: number) {
    this.rate = rate
    this.#graceMs = graceMs
    this.#timer = setInterval(() => this.check(performance.now()), 1_000)
    this.#timer.unref()
  }
  watch(body: Paced): void {
    body.begunAt = performance.now()
    this.#bodies.add(body)
  }
  leave(body: Paced): void {
    this.#bodies.leave(body)
  }
  /** While its reader takes its time, a body is not slow. */
  async *excuse(body: Paced, chunk: Bytes): AsyncGenerator<Bytes> {
    this.#bodies.leave(body)
    const since = performance.now()
    yield chunk
    body.begunAt += performance.now() - since
    this.#bodies.add(body)
  }
  check(now: number): void {
    for (const body of this.#bodies) {
      const lasted = now - body.begunAt
      if (lasted > this.#graceMs && body.received < (this.rate * lasted) / 1_000)
        body.refuse(fault('BODY_TOO_SLOW', [this.rate]))
    }
  }
  close(): void {
    clearInterval(this.#timer)
  }
}
