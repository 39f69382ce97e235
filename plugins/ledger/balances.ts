/** Local balances: the store's balance less the charges since. A background read refreshes them, so
 *  that no call waits for one. */
import type { Row } from '../../engine/plugin.ts'
import { nanosOf } from './statements.ts'

/** ms after which a balance is read again: other processes may have changed it. */
const MAX_AGE = 1_000

interface LocalBalance {
  /** Nanos. Undefined until the first read. */
  balance: bigint | undefined
  /** Nanos of this process's lease that are free or held. */
  unchargedLease: bigint
  /** Lease changes whose result is still unknown. */
  pendingChanges: number
  /** Counts starts and ends of lease changes: a read that overlaps with one is discarded. */
  changeCount: number
  readAt: number
}
/** Reads the wallet's `outside`: its balance less the lease of this process. A settlement reduces
 *  both, so that the difference does not depend on which settlements the store has. */
export type ReadOutside = (wallet: number) => Promise<Row | undefined>

export class Balances {
  readonly #entries = new Map<number, LocalBalance>()
  readonly #readOutside: ReadOutside
  readonly #now: () => number

  constructor(readOutside: ReadOutside, now: () => number = () => performance.now()) {
    this.#readOutside = readOutside
    this.#now = now
  }
  /** The balance of a wallet after all charges of this process; undefined: unknown. */
  of(wallet: number): bigint | undefined {
    const entry = this.#entries.get(wallet)
    if (entry && this.#now() - entry.readAt > MAX_AGE) void this.#refresh(wallet, entry)
    return entry?.balance
  }
  /** Counts a charge before it is written. Negative: a correction. */
  recordCharge(wallet: number, amount: bigint): void {
    const entry = this.#of(wallet)
    entry.unchargedLease -= amount
    if (entry.balance !== undefined) entry.balance -= amount
    this.#drop(wallet, entry)
  }
  /** Begins a change of the lease. The caller ends it with the returned function: `by` is the
   *  change in nanos, `outside` the new one where known. */
  beginLeaseChange(wallet: number): (by: bigint, outside?: bigint) => void {
    const entry = this.#of(wallet)
    entry.pendingChanges++
    const ownChange = ++entry.changeCount
    return (by, outside) => {
      entry.pendingChanges--
      entry.unchargedLease += by
      const isOnlyChange = entry.pendingChanges === 0 && entry.changeCount === ownChange
      if (outside !== undefined && isOnlyChange) this.#setBalance(entry, outside)
      entry.changeCount++
      this.#drop(wallet, entry)
    }
  }
  /** Forgets all balances: every lease is void. */
  forget(): void {
    this.#entries.clear()
  }
  #of(wallet: number): LocalBalance {
    const existing = this.#entries.get(wallet)
    if (existing) return existing
    const entry = {
      balance: undefined,
      unchargedLease: 0n,
      pendingChanges: 0,
      changeCount: 0,
      readAt: -Infinity,
    }
    this.#entries.set(wallet, entry)
    return entry
  }
  /** Deletes the entry of a wallet without a lease: its balance can no longer be tracked. */
  #drop(wallet: number, entry: LocalBalance): void {
    const { unchargedLease, pendingChanges } = entry
    if (unchargedLease === 0n && pendingChanges === 0 && this.#entries.get(wallet) === entry)
      this.#entries.delete(wallet)
  }
  #setBalance(entry: LocalBalance, outside: bigint): void {
    entry.balance = outside + entry.unchargedLease
    entry.readAt = this.#now()
  }
  async #refresh(wallet: number, entry: LocalBalance): Promise<void> {
    entry.readAt = this.#now()
    const { changeCount, pendingChanges } = entry
    const row =
      pendingChanges > 0 ? undefined : await this.#readOutside(wallet).catch(() => undefined)
    if (row && entry.changeCount === changeCount) this.#setBalance(entry, nanosOf(row.outside))
  }
}
