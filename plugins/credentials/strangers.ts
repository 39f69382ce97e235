/** Counts the credentials that are not known, by the address they came from: who tries many is told to wait, and is looked up
 *  behind the others. Never asked about a caller who is known. One per process. */
import type { Fault } from '../../engine/plugin.ts'
import { FailedAttempts, TRUSTED } from './failed-attempts.ts'
import { refusal } from './faults.ts'

/** Failed attempts of a network in a window until its client is told so. A program with a mistyped key
 *  gets this far before it is refused in another way. */
const ANSWERED = 300

export class Strangers {
  readonly #attempts: FailedAttempts

  constructor(now?: () => number) {
    this.#attempts = new FailedAttempts(now)
  }

  /** Looks up what was presented from there; `find` is told whether that may wait. */
  async look<T>(address: string, find: (suspected: boolean) => Promise<T>): Promise<T> {
    const caller = this.#attempts.of(address)
    const suspected = caller.failed + caller.open >= TRUSTED
    caller.open++
    try {
      return await find(suspected)
    } finally {
      caller.open--
    }
  }
  /** One more that is not known: what to tell it. */
  refuse(address: string): Fault {
    const caller = this.#attempts.of(address)
    if (++caller.failed <= ANSWERED) return refusal('AUTH_UNKNOWN')
    const seconds = this.#attempts.secondsLeft(caller)
    // It was looked up: it will not be known later either.
    const headers = { 'retry-after': String(seconds), 'x-should-retry': 'false' }
    return refusal('AUTH_GUESSED', [seconds], { headers })
  }
}
