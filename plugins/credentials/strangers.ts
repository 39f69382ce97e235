/** Counts the credentials that are not known, by the address they came from: who tries many is told to wait, and is looked up
 *  behind the others. Never asked about a caller who is known. One per process. */
import { LRUCache } from 'lru-cache'
import type { Fault } from '../../engine/plugin.ts'
import { refusal } from './faults.ts'
import { networkOf } from './network.ts'

const WINDOW = 60_000
/** Wrong ones of an address in a window until its look-ups go with the crowd … */
const TRUSTED = 30
/** … and until it is told so. A program with a mistyped key gets this far before it is refused in another way. */
const ANSWERED = 300
/** Addresses: the one that was counted longest ago goes. */
const REMEMBERED = 10_000

interface Caller {
  readonly since: number
  wrong: number
  /** Being looked up: a thousand at once are a thousand tries. */
  open: number
}

export class Strangers {
  readonly #callers = new LRUCache<string, Caller>({ max: REMEMBERED })
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Looks up what was presented from there; `find` is told whether that may wait. */
  async look<T>(address: string, find: (suspected: boolean) => Promise<T>): Promise<T> {
    const caller = this.#of(address)
    const suspected = caller.wrong + caller.open >= TRUSTED
    caller.open++
    try {
      return await find(suspected)
    } finally {
      caller.open--
    }
  }
  /** One more that is not known: what to tell it. */
  refuse(address: string): Fault {
    const caller = this.#of(address)
    if (++caller.wrong <= ANSWERED) return refusal('AUTH_UNKNOWN')
    const seconds = Math.ceil((caller.since + WINDOW - this.#now()) / 1_000)
    // It was looked up: it will not be known later either.
    const headers = { 'retry-after': String(seconds), 'x-should-retry': 'false' }
    return refusal('AUTH_GUESSED', [seconds], { headers })
  }
  #of(address: string): Caller {
    const network = networkOf(address)
    const now = this.#now()
    const known = this.#callers.get(network)
    if (known && now - known.since < WINDOW) return known
    const caller = { since: now, wrong: 0, open: 0 }
    this.#callers.set(network, caller)
    return caller
  }
}
