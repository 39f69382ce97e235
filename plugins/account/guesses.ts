/** Who may ask for a key's balance without any other credential: whoever holds the key, not whoever tries many. Bounds what
 *  strangers cost and learn, in memory that they cannot make grow. One per process. */
import { LRUCache } from 'lru-cache'
import { networkOf } from '../credentials/network.ts'
import { digestOf } from '../credentials/secret.ts'
import { fault } from './faults.ts'

/** Keys that are not known, from one address in so many ms. */
const MOST = 30
const WINDOW = 60_000
/** Keys remembered as not known, as known, and addresses that tried: the oldest goes. */
const REMEMBERED = 10_000

interface Tries {
  count: number
  readonly since: number
}

export class Guesses {
  /** By digest. A key is not made after it was guessed, and a revoked one does not come back. */
  readonly #wrong = new LRUCache<string, true>({ max: REMEMBERED })
  /** Those pass also from an address that others guess from: behind a proxy all have the same. */
  readonly #right = new LRUCache<string, true>({ max: REMEMBERED })
  readonly #tries = new LRUCache<string, Tries>({ max: REMEMBERED })
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }
  /** What `find` has for a key. Throws KEYS_GUESSED without asking it, where too many from this address were not known. */
  async look<T>(
    address: string,
    secret: string,
    find: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const digest = digestOf(secret)
    const known = this.#right.has(digest)
    // Counted before it is looked up: a thousand at once are a thousand tries.
    const tries = known ? undefined : this.#try(networkOf(address))
    if (this.#wrong.get(digest)) return undefined
    const takeBack = (): void => {
      if (tries) tries.count--
    }
    const found = await find().catch(thrown => {
      takeBack()
      throw thrown
    })
    if (found === undefined) {
      this.#right.delete(digest)
      this.#wrong.set(digest, true)
      return undefined
    }
    takeBack()
    this.#right.set(digest, true)
    return found
  }
  #try(network: string): Tries {
    const now = this.#now()
    let tries = this.#tries.get(network)
    if (!tries || now - tries.since >= WINDOW) {
      tries = { count: 0, since: now }
      this.#tries.set(network, tries)
    }
    if (tries.count >= MOST) {
      const seconds = Math.ceil((tries.since + WINDOW - now) / 1_000)
      throw fault('KEYS_GUESSED', [seconds], { headers: { 'retry-after': String(seconds) } })
    }
    tries.count++
    return tries
  }
}
