/** Limits failed authentication by network: after many failures lookups are batched, and refusals
 *  ask the client to wait. Cached credentials bypass it. One per process. */
import type { Fault } from '../../engine/plugin.ts'
import { FailedAttempts, TOLERATED } from './failed-attempts.ts'
import { refusal } from './faults.ts'

/** Failed attempts of a network in a window before refusals turn into 429. */
const MAX_FAILURES = 300

export class FailedAuthLimiter {
  readonly #attempts: FailedAttempts

  constructor(now?: () => number) {
    this.#attempts = new FailedAttempts(now)
  }

  /** Calls `find`; `isSuspect` tells it to batch the lookup, since many attempts of the network
   *  failed. */
  async lookUp<T>(address: string, find: (isSuspect: boolean) => Promise<T>): Promise<T> {
    const attempts = this.#attempts.of(address)
    const isSuspect = attempts.failures + attempts.running >= TOLERATED
    attempts.running++
    try {
      return await find(isSuspect)
    } finally {
      attempts.running--
    }
  }
  /** Counts a failed attempt and returns its refusal. */
  countFailure(address: string): Fault {
    const attempts = this.#attempts.of(address)
    if (++attempts.failures <= MAX_FAILURES) return refusal('AUTH_UNKNOWN')
    const seconds = this.#attempts.secondsLeft(attempts)
    // A retry cannot succeed: the credential is unknown.
    const headers = { 'retry-after': String(seconds), 'x-should-retry': 'false' }
    return refusal('AUTH_GUESSED', [seconds], { headers })
  }
}
