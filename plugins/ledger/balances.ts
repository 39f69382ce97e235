/** Local balances: the store's balance less the charges since. Refreshed in the background, never
 *  while a call waits. */
import type { Row } from '../../engine/plugin.ts'
import { nanosOf } from './statements.ts'

/** ms after which a balance is read again: other processes may have charged or credited. */
const FRESH = 1_000

interface Known {
  /** Nanos. Undefined until it was read once. */
  balance: bigint | undefined
  /** Nanos of this process's lease that are not charged: free, or held. */
  ours: bigint
  /** Lease changes whose result is not known yet. */
  moving: number
  /** Counts lease changes: a read that overlaps with one is discarded. */
  moves: number
  askedAt: number
}
/** Reads the wallet's `outside`: its balance less the lease of this process. A settlement reduces
 *  both, so that the difference does not depend on which settlements are written yet. */
export type AskOutside = (wallet: number) => Promise<Row | undefined>

export class Balances {
  readonly #known = new Map<number, Known>()
  readonly #ask: AskOutside
  readonly #now: () => number

  constructor(ask: AskOutside, now: () => number = () => performance.now()) {
    this.#ask = ask
    this.#now = now
  }
  /** The balance of a wallet after all charges of this process; undefined: not known yet. */
  of(wallet: number): bigint | undefined {
    const known = this.#known.get(wallet)
    if (known && this.#now() - known.askedAt > FRESH) void this.#refresh(wallet, known)
    return known?.balance
  }
  /** Counts a charge before it is written. Negative: a correction. */
  charged(wallet: number, amount: bigint): void {
    const known = this.#of(wallet)
    known.ours -= amount
    if (known.balance !== undefined) known.balance -= amount
    this.#drop(wallet, known)
  }
  /** Begins a change of the lease. Call the returned function with its result: the nanos by which the
   *  lease changed, and the new `outside` where known. */
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
  /** Forgets all balances: every lease is void. */
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
  /** Deletes the entry of a wallet without a lease: its balance can no longer be tracked. */
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
