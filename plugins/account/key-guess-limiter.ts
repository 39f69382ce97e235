/** Who may ask for a key's balance without any other credential: whoever holds the key, not whoever tries many. Bounds what
 *  strangers cost and learn, in memory that they cannot make grow. One per process. */
import { LRUCache } from 'lru-cache'
import { type Attempts, FailedAttempts, TOLERATED } from '../credentials/failed-attempts.ts'
import { digestOf } from '../credentials/secret.ts'
import { fault } from './faults.ts'

/** Keys remembered as unknown, and as known: the oldest goes. */
const MAX_KEYS = 10_000

export class KeyGuessLimiter {
  /** By digest. A key is not made after it was guessed, and a revoked one does not come back. */
  readonly #unknownKeys = new LRUCache<string, true>({ max: MAX_KEYS })
  /** Those pass also from an address that others guess from: behind a proxy all have the same. */
  readonly #knownKeys = new LRUCache<string, true>({ max: MAX_KEYS })
  readonly #attempts: FailedAttempts

  constructor(now?: () => number) {
    this.#attempts = new FailedAttempts(now)
  }
  /** What `find` has for a key. Throws KEYS_GUESSED without asking it, where too many from this address were not known. */
  async limit<T>(
    address: string,
    secret: string,
    find: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const digest = digestOf(secret)
    const known = this.#knownKeys.has(digest)
    // Counted before it is looked up: a thousand at once are a thousand tries.
    const tries = known ? undefined : this.#countAttempt(address)
    if (this.#unknownKeys.get(digest)) return undefined
    const uncount = (): void => {
      if (tries) tries.failed--
    }
    const found = await find().catch(thrown => {
      uncount()
      throw thrown
    })
    if (found === undefined) {
      this.#knownKeys.delete(digest)
      this.#unknownKeys.set(digest, true)
      return undefined
    }
    uncount()
    this.#knownKeys.set(digest, true)
    return found
  }
  #countAttempt(address: string): Attempts {
    const tries = this.#attempts.of(address)
    if (tries.failed >= TOLERATED) {
      const seconds = this.#attempts.secondsLeft(tries)
      throw fault('KEYS_GUESSED', [seconds], { headers: { 'retry-after': String(seconds) } })
    }
    tries.failed++
    return tries
  }
}
