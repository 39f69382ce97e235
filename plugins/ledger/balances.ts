/** What the balance of an account is, as far as this process knows: what the store said, less what was charged since. Asks
 *  the store beside the traffic, never in its way. */
import type { Row } from '../../engine/plugin.ts'
import { nanosOf } from './statements.ts'

/** ms for which the store's word is good: then it is asked again, as others may have charged or credited. */
const FRESH = 1_000

interface Known {
  /** Undefined until the store has said it once. */
  balance: bigint | undefined
  /** Nanos of our share that no charge was decided for: free, or held. */
  ours: bigint
  /** Changes of our share that the store may or may not have seen yet. */
  moving: number
  /** Counts them: an answer that was under way meanwhile is no answer. */
  moves: number
  askedAt: number
}
/** The wallet's `outside`: its balance less our share. A settlement takes from both, so it is the same before and after,
 *  and it does not matter which of our settlements the store has seen. */
export type AskOutside = (wallet: number) => Promise<Row | undefined>

export class Balances {
  readonly #known = new Map<number, Known>()
  readonly #ask: AskOutside
  readonly #now: () => number

  constructor(ask: AskOutside, now: () => number = () => performance.now()) {
    this.#ask = ask
    this.#now = now
  }
  /** What is left of a wallet when all that was decided is charged; undefined: not known yet. */
  of(wallet: number): bigint | undefined {
    const known = this.#known.get(wallet)
    if (known && this.#now() - known.askedAt > FRESH) void this.#refresh(wallet, known)
    return known?.balance
  }
  /** Decided, be it written already or not. Below zero: less than was decided before. */
  charged(wallet: number, amount: bigint): void {
    const known = this.#of(wallet)
    known.ours -= amount
    if (known.balance !== undefined) known.balance -= amount
    this.#drop(wallet, known)
  }
  /** Our share begins to change. What it returns takes how that came out: by how much, and what lies outside since. */
  moving(wallet: number): (by: bigint, outside?: bigint) => void {
    const known = this.#of(wallet)
    known.moving++
    const mine = ++known.moves
    return (by, outside) => {
      known.moving--
      known.ours += by
      const alone = known.moving === 0 && known.moves === mine
      if (outside !== undefined && alone) this.#learn(known, outside)
      known.moves++
      this.#drop(wallet, known)
    }
  }
  /** Nothing of any share is ours any more. */
  forget(): void {
    this.#known.clear()
  }
  #of(wallet: number): Known {
    const found = this.#known.get(wallet)
    if (found) return found
    const made = { balance: undefined, ours: 0n, moving: 0, moves: 0, askedAt: -Infinity }
    this.#known.set(wallet, made)
    return made
  }
  /** Without a share of it there is nothing to follow it by. */
  #drop(wallet: number, known: Known): void {
    const { ours, moving } = known
    if (ours === 0n && moving === 0 && this.#known.get(wallet) === known) this.#known.delete(wallet)
  }
  #learn(known: Known, outside: bigint): void {
    known.balance = outside + known.ours
    known.askedAt = this.#now()
  }
  async #refresh(wallet: number, known: Known): Promise<void> {
    known.askedAt = this.#now()
    const { moves, moving } = known
    const row = moving > 0 ? undefined : await this.#ask(wallet).catch(() => undefined)
    if (row && known.moves === moves) this.#learn(known, nanosOf(row.outside))
  }
}
