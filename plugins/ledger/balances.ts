/** Local balances: the store's balance less the charges since. A background read refreshes them, so
 *  that no call waits for one. Those of wallets of which this process leases nothing are read once
 *  a second. */
import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Row } from '../../engine/plugin.ts'
import { nanosOf } from './statements.ts'

/** ms after which a balance is read again: other processes may have changed it. */
const MAX_AGE = 1_000
/** Reads of a balance that lease changes overlap, and the number of balances that are kept. */
const [ATTEMPTS, MAX_READS] = [3, 10_000]

interface LocalBalance {
  /** Nanos. Undefined until the first read. */
  balance: bigint | undefined
  /** Nanos of this process's lease that are free or held. */
  unchargedLease: bigint
  /** Lease changes whose result is still unknown. */
  pendingChanges: number
  /** Called when a lease change ends. */
  readonly waiting: (() => void)[]
  /** Reads of a wallet that may have no lease. */
  pendingReads: number
  /** Counts starts and ends of lease changes: a read that overlaps with one is discarded. */
  changeCount: number
  readAt: number
}
interface RecentRead {
  readonly at: number
  readonly balance: Promise<bigint | undefined>
}
/** Reads the wallet's `outside`: its balance less the lease of this process. A settlement reduces
 *  both, so that the difference does not depend on which settlements the store has. */
export type ReadOutside = (wallet: number) => Promise<Row | undefined>

export class Balances {
  readonly #entries = new Map<number, LocalBalance>()
  /** Of wallets without a lease: no charge of this process changes them. */
  readonly #reads = new LRUCache<number, RecentRead>({ max: MAX_READS })
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
  /** The same where `of` does not know it: reads it, at most once a second. Undefined: the store
   *  does not answer within a second. */
  read(wallet: number): Promise<bigint | undefined> {
    const recent = this.#reads.get(wallet)
    if (recent && this.#now() - recent.at <= MAX_AGE) return recent.balance
    const timeout = pause(MAX_AGE, undefined, { ref: false })
    const balance = Promise.race([this.#readUntilKnown(wallet), timeout])
    this.#reads.set(wallet, { at: this.#now(), balance })
    return balance
  }
  /** Counts a charge before it is written. Negative: a correction. */
  recordCharge(wallet: number, amount: bigint): void {
    const entry = this.#of(wallet)
    if (amount !== 0n) this.#reads.delete(wallet)
    entry.unchargedLease -= amount
    if (entry.balance !== undefined) entry.balance -= amount
    this.#drop(wallet, entry)
  }
  /** Begins a change of the lease. The caller ends it with the returned function: `by` is the
   *  change in nanos, `outside` the new one where known. */
  beginLeaseChange(wallet: number): (by: bigint, outside?: bigint) => void {
    const entry = this.#of(wallet)
    this.#reads.delete(wallet)
    entry.pendingChanges++
    const ownChange = ++entry.changeCount
    return (by, outside) => {
      entry.pendingChanges--
      entry.unchargedLease += by
      const isOnlyChange = entry.pendingChanges === 0 && entry.changeCount === ownChange
      if (outside !== undefined && isOnlyChange) this.#setBalance(entry, outside)
      entry.changeCount++
      for (const resolve of entry.waiting.splice(0)) resolve()
      this.#drop(wallet, entry)
    }
  }
  /** Forgets all balances: every lease is void. */
  forget(): void {
    this.#entries.clear()
    this.#reads.clear()
  }
  #of(wallet: number): LocalBalance {
    const existing = this.#entries.get(wallet)
    if (existing) return existing
    const entry: LocalBalance = {
      balance: undefined,
      unchargedLease: 0n,
      pendingChanges: 0,
      waiting: [],
      pendingReads: 0,
      changeCount: 0,
      readAt: -Infinity,
    }
    this.#entries.set(wallet, entry)
    return entry
  }
  /** Deletes the entry of a wallet without a lease: its balance can no longer be tracked. */
  #drop(wallet: number, entry: LocalBalance): void {
    const { unchargedLease, pendingChanges, pendingReads } = entry
    const isIdle = unchargedLease === 0n && pendingChanges === 0 && pendingReads === 0
    if (isIdle && this.#entries.get(wallet) === entry) this.#entries.delete(wallet)
  }
  async #readUntilKnown(wallet: number): Promise<bigint | undefined> {
    const entry = this.#of(wallet)
    entry.pendingReads++
    for (let attempt = 0; attempt < ATTEMPTS && entry.balance === undefined; attempt++) {
      if (entry.pendingChanges > 0) await new Promise<void>(resolve => entry.waiting.push(resolve))
      await this.#refresh(wallet, entry)
    }
    entry.pendingReads--
    this.#drop(wallet, entry)
    return entry.balance
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
