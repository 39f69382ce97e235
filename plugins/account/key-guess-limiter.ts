/** Limits unauthenticated balance lookups by key, so that keys cannot be guessed. Uses bounded memory.
 *  One per process. */
import { LRUCache } from 'lru-cache'
import { type Attempts, FailedAttempts, TOLERATED } from '../credentials/failed-attempts.ts'
import { digestOf } from '../credentials/secret.ts'
import { fault } from './faults.ts'

/** The most cached keys of each kind; the least recently used one is dropped. */
const MAX_KEYS = 10_000

export class KeyGuessLimiter {
  /** Digests of unknown keys. An unknown key never becomes known. */
  readonly #unknownKeys = new LRUCache<string, true>({ max: MAX_KEYS })
  /** Digests of known keys. They are not limited: behind a proxy all clients have the same address. */
  readonly #knownKeys = new LRUCache<string, true>({ max: MAX_KEYS })
  readonly #attempts: FailedAttempts

  constructor(now?: () => number) {
    this.#attempts = new FailedAttempts(now)
  }
  /** Calls `find` for a key. Throws KEYS_GUESSED instead after too many unknown keys from this address. */
  async limit<T>(
    address: string,
    secret: string,
    find: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const digest = digestOf(secret)
    const known = this.#knownKeys.has(digest)
    // Count before the lookup: a thousand at once are a thousand attempts.
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
