/** Counts the credentials that are not known, by the address they came from: who tries many is told to wait, and is looked up
 *  behind the others. Never asked about a caller who is known. One per process. */
import type { Fault } from '../../engine/plugin.ts'
import { FailedAttempts, TOLERATED } from './failed-attempts.ts'
import { refusal } from './faults.ts'

/** Failed attempts of a network in a window until its client is told so. A program with a mistyped key
 *  gets this far before it is refused in another way. */
const MAX_FAILURES = 300

export class FailedAuthLimiter {
  readonly #attempts: FailedAttempts

  constructor(now?: () => number) {
    this.#attempts = new FailedAttempts(now)
  }

  /** Looks up what was presented from there; `find` is told whether that may wait. */
  async lookUp<T>(address: string, find: (suspected: boolean) => Promise<T>): Promise<T> {
    const caller = this.#attempts.of(address)
    const suspected = caller.failed + caller.running >= TOLERATED
    caller.running++
    try {
      return await find(suspected)
    } finally {
      caller.running--
    }
  }
  /** One more that is not known: what to tell it. */
  countFailure(address: string): Fault {
    const caller = this.#attempts.of(address)
    if (++caller.failed <= MAX_FAILURES) return refusal('AUTH_UNKNOWN')
    const seconds = this.#attempts.secondsLeft(caller)
    // It was looked up: it will not be known later either.
    const headers = { 'retry-after': String(seconds), 'x-should-retry': 'false' }
    return refusal('AUTH_GUESSED', [seconds], { headers })
  }
}
