/** Counts failed credentials by network and minute, in bounded memory. One per process and
 *  purpose. */
import { LRUCache } from 'lru-cache'
import { networkOf } from './network.ts'

const WINDOW = 60_000
/** The most networks; the least recently used one is dropped. */
const MAX_NETWORKS = 10_000
/** Failed attempts of a network in a window that count as ordinary mistakes. */
export const TOLERATED = 30

export interface Attempts {
  readonly since: number
  failures: number
  /** Lookups in progress. Each counts as an attempt. */
  running: number
}

export class FailedAttempts {
  readonly #networks = new LRUCache<string, Attempts>({ max: MAX_NETWORKS })
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }
  /** The attempts of the address's network in this window. */
  of(address: string): Attempts {
    return this.by(networkOf(address))
  }
  /** The attempts of anything else with a name. */
  by(network: string): Attempts {
    const now = this.#now()
    const current = this.#networks.get(network)
    if (current && now - current.since < WINDOW) return current
    const attempts = { since: now, failures: 0, running: 0 }
    this.#networks.set(network, attempts)
    return attempts
  }
  /** Seconds until the window ends. */
  secondsLeft({ since }: Attempts): number {
    return Math.ceil((since + WINDOW - this.#now()) / 1_000)
  }
}
