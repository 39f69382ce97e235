/** Notices silence: what is under way and when it was last heard of. */
import { Roster, type Seated } from '../request/indexed-set.ts'

export interface Watched extends Seated {
  /** By the vigil's own coarse clock. */
  heardAt: number
  /** How long it may be silent, ms. */
  patience: number
  silent(): void
}

const EVERY = 50

/** One timer for all: two per request, set and cleared, cost more than looking at everyone twenty times a second.
 *  Silence is noticed between 0 and 100 ms after patience ends, never before. */
export class Vigil {
  readonly #watched = new Roster<Watched>()
  #timer: NodeJS.Timeout | undefined
  /** ms, monotonic, at most one tick old while anything is watched. */
  now = 0

  add(one: Watched): void {
    if (!this.#timer) {
      this.now = performance.now()
      this.#timer = setInterval(() => this.#look(), EVERY)
      this.#timer.unref()
    }
    one.heardAt = this.now
    this.#watched.add(one)
  }
  leave(one: Watched): void {
    this.#watched.leave(one)
  }
  #look(): void {
    this.now = performance.now()
    for (const one of this.#watched) if (this.now - one.heardAt > one.patience + EVERY) one.silent()
    if (this.#watched.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
