/** Limits failed authentication by network: after many failures lookups are batched and refusals ask the
 *  client to wait. Never called for cached credentials. One per process. */
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

  /** Calls `find` with whether the network is suspected, so that the lookup may be batched. */
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
  /** Counts a failed attempt and returns its refusal. */
  countFailure(address: string): Fault {
    const caller = this.#attempts.of(address)
    if (++caller.failed <= MAX_FAILURES) return refusal('AUTH_UNKNOWN')
    const seconds = this.#attempts.secondsLeft(caller)
    // A retry cannot succeed: the credential is unknown.
    const headers = { 'retry-after': String(seconds), 'x-should-retry': 'false' }
    return refusal('AUTH_GUESSED', [seconds], { headers })
  }
}
