/** Calls `onTimeout` on whatever was inactive for longer than its deadline. */
import { type Indexed, IndexedSet } from '../request/indexed-set.ts'

export interface InactivityWatched extends Indexed {
  /** Time of the last activity, by the timer's own coarse clock. */
  activeAt: number
  /** How long it may be inactive, ms. */
  deadline: number
  onTimeout(): void
}

const CHECK_EVERY = 50

/** One timer for all: two timers per request cost more than a check of all requests twenty times a
 *  second. Calls `onTimeout` between 0 and 100 ms after the deadline, never before. */
export class InactivityTimer {
  readonly #watched = new IndexedSet<InactivityWatched>()
  #timer: NodeJS.Timeout | undefined
  /** ms, monotonic, at most one tick old while anything is watched. */
  now = 0

  add(one: InactivityWatched): void {
    if (!this.#timer) {
      this.now = performance.now()
      this.#timer = setInterval(() => this.#check(), CHECK_EVERY)
      this.#timer.unref()
    }
    one.activeAt = this.now
    this.#watched.add(one)
  }
  remove(one: InactivityWatched): void {
    this.#watched.remove(one)
  }
  #check(): void {
    this.now = performance.now()
    for (const one of this.#watched)
      if (this.now - one.activeAt > one.deadline + CHECK_EVERY) one.onTimeout()
    if (this.#watched.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
