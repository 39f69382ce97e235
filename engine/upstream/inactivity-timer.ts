/** Calls `onTimeout` on each member that was inactive for longer than its deadline. */
import { type Indexed, IndexedSet } from '../request/indexed-set.ts'

export interface TimedRequest extends Indexed {
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
  readonly #members = new IndexedSet<TimedRequest>()
  #timer: NodeJS.Timeout | undefined
  /** ms, monotonic, at most one tick old while anything is watched. */
  now = 0

  add(member: TimedRequest): void {
    if (!this.#timer) {
      this.now = performance.now()
      this.#timer = setInterval(() => this.#check(), CHECK_EVERY)
      this.#timer.unref()
    }
    member.activeAt = this.now
    this.#members.add(member)
  }
  remove(member: TimedRequest): void {
    this.#members.remove(member)
  }
  #check(): void {
    this.now = performance.now()
    for (const member of this.#members)
      if (this.now - member.activeAt > member.deadline + CHECK_EVERY) member.onTimeout()
    if (this.#members.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
