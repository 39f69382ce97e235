/** Counts failed credentials by network and minute, to slow down guessing in memory that strangers cannot
 *  make grow. One per process and purpose. */
import { LRUCache } from 'lru-cache'
import { networkOf } from './network.ts'

const WINDOW = 60_000
/** Networks: the one that was counted longest ago goes. */
const MAX_NETWORKS = 10_000
/** Failed attempts of a network in a window that are ordinary mistakes. */
export const TOLERATED = 30

export interface Attempts {
  readonly since: number
  failed: number
  /** Being looked up: a thousand at once are a thousand attempts. */
  running: number
}

export class FailedAttempts {
  readonly #networks = new LRUCache<string, Attempts>({ max: MAX_NETWORKS })
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }
  /** Those of the address's network in this window. */
  of(address: string): Attempts {
    const network = networkOf(address)
    const now = this.#now()
    const known = this.#networks.get(network)
    if (known && now - known.since < WINDOW) return known
    const attempts = { since: now, failed: 0, running: 0 }
    this.#networks.set(network, attempts)
    return attempts
  }
  /** Seconds until the window ends. */
  secondsLeft({ since }: Attempts): number {
    return Math.ceil((since + WINDOW - this.#now()) / 1_000)
  }
}
