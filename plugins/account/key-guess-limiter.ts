/** Limits unauthenticated balance lookups by key, so that clients cannot guess keys. Uses bounded
 *  memory. One per process. */
import { LRUCache } from 'lru-cache'
import { type Attempts, FailedAttempts, TOLERATED } from '../credentials/failed-attempts.ts'
import { digestOf } from '../credentials/secret.ts'
import { fault } from './faults.ts'

/** The most cached keys of each kind; the least recently used one is dropped. */
const MAX_KEYS = 10_000

export class KeyGuessLimiter {
  /** Digests of unknown keys. An unknown key never becomes known. */
  readonly #unknownKeys = new LRUCache<string, true>({ max: MAX_KEYS })
  /** Digests of known keys. Their lookups are not limited: behind a proxy all clients have the same
   *  address. */
  readonly #knownKeys = new LRUCache<string, true>({ max: MAX_KEYS })
  readonly #attempts: FailedAttempts

  constructor(now?: () => number) {
    this.#attempts = new FailedAttempts(now)
  }
  /** Calls `find` for a key. After too many unknown keys from this address it throws KEYS_GUESSED
   *  instead. */
  async limit<T>(
    address: string,
    secret: string,
    find: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const digest = digestOf(secret)
    const isKnown = this.#knownKeys.has(digest)
    // Count before the lookup, so that a thousand concurrent lookups are a thousand attempts.
    const attempts = isKnown ? undefined : this.#countAttempt(address)
    if (this.#unknownKeys.get(digest)) return undefined
    const uncount = (): void => {
      if (attempts) attempts.failures--
    }
    const result = await find().catch(error => {
      uncount()
      throw error
    })
    if (result === undefined) {
      this.#knownKeys.delete(digest)
      this.#unknownKeys.set(digest, true)
      return undefined
    }
    uncount()
    this.#knownKeys.set(digest, true)
    return result
  }
  #countAttempt(address: string): Attempts {
    const attempts = this.#attempts.of(address)
    if (attempts.failures >= TOLERATED) {
      const seconds = this.#attempts.secondsLeft(attempts)
      throw fault('KEYS_GUESSED', [seconds], { headers: { 'retry-after': String(seconds) } })
    }
    attempts.failures++
    return attempts
  }
}
