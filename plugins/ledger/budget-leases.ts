/** Budget leases: the part of each wallet that this process may spend without asking the store. One
 *  instance per process. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Statement } from '../../engine/plugin.ts'
import { MOST } from '../billing/money.ts'
import { Balances } from './balances.ts'
import { INSUFFICIENT, isCode } from './faults.ts'
import { ELSEWHERE, leaseShare, nanosOf, OUTSIDE, ROOM_IN, returnShare } from './statements.ts'
import { ADMISSION_TIMEOUT, writeUntilKnown, writeWithRetry } from './write-with-retry.ts'

interface Waiting {
  readonly amount: bigint
  settle(taken: boolean): void
  fail(thrown: unknown): void
}
interface Lease {
  /** Leased nanos that no call holds. */
  free: bigint
  /** Calls that wait for more, in order. */
  readonly waiting: Waiting[]
  isFetching: boolean
  /** The wallet granted no more than was needed: unused money is returned at once. */
  contended: boolean
  /** Nanos taken in the current interval and in the previous one: the amount worth keeping. */
  current: bigint
  previous: bigint
}
export interface BudgetLeaseOptions {
  readonly database: Pick<Database, 'write' | 'read'>
  /** The name under which the store knows this process. */
  readonly process: () => Promise<string>
  /** The store has expelled the process of this name. */
  readonly onExpelled: (process: string) => void
  /** ms between two returns of unused leases. */
  readonly interval?: number
}
/** A lease is sized for this many calls like the first waiting one, or for one interval's usage. */
const CALLS_AHEAD = 32n
/** Attempts to get what other processes lease and do not use, and ms between them: they return it
 *  within half a second. */
const RECALL_ATTEMPTS = 20
const PAUSE = 50

export class BudgetLeases {
  readonly #database: BudgetLeaseOptions['database']
  readonly #process: BudgetLeaseOptions['process']
  readonly #onExpelled: BudgetLeaseOptions['onExpelled']
  readonly balances = new Balances(async wallet => {
    const [row] = await this.#database.read(OUTSIDE, [await this.#process(), wallet])
    return row
  })
  readonly #leases = new Map<number, Lease>()
  readonly #timer: NodeJS.Timeout
  /** Returns in progress. */
  readonly #returns = new Set<Promise<void>>()
  /** Counts the names of this process: an operation that began under one is void under the next. */
  generation = 0
  readonly #open = (): boolean => !this.#closed
  #closed = false

  constructor({ database, process, onExpelled: lost, interval = 250 }: BudgetLeaseOptions) {
    this.#database = database
    this.#process = process
    this.#onExpelled = lost
    this.#timer = setInterval(() => this.#returnIdle(), interval)
    this.#timer.unref()
  }
  /** Takes `amount` nanos where the lease covers it. */
  takeNow(wallet: number, amount: bigint): boolean {
    const lease = this.#leaseOf(wallet)
    if (lease.waiting.length > 0 || lease.free < amount) return false
    lease.current += amount
    lease.free -= amount
    return true
  }
  /** Takes `amount` nanos from the lease, else asks the store. False: the wallet cannot cover it. */
  take(wallet: number, amount: bigint): boolean | Promise<boolean> {
    if (this.takeNow(wallet, amount)) return true
    // No wallet holds that much, and a multiple of it would overflow a column.
    if (amount > MOST) return false
    const lease = this.#leaseOf(wallet)
    lease.current += amount
    return new Promise((settle, fail) => {
      lease.waiting.push({ amount, settle, fail })
      if (!lease.isFetching) void this.#fetchForWaiting(wallet, lease)
    })
  }
  /** Returns nanos that were taken and not spent. */
  give(wallet: number, amount: bigint): void {
    if (amount <= 0n) return
    const lease = this.#leaseOf(wallet)
    lease.free += amount
    this.#serveWaiting(lease)
    if (lease.contended && lease.waiting.length === 0 && lease.free > 0n)
      this.#returnFree(wallet, lease)
  }
  /** Leased nanos that no call holds. */
  free(wallet: number): bigint {
    return this.#leases.get(wallet)?.free ?? 0n
  }
  /** Whether the wallet granted no more than was needed. */
  isContended(wallet: number): boolean {
    return this.#leases.get(wallet)?.contended ?? false
  }
  /** The store has expelled this process: all leases are void. */
  forget(): void {
    this.generation++
    for (const lease of this.#leases.values()) lease.free = 0n
    this.balances.forget()
  }
  /** Returns all unused leases. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#closed = true
    for (const [wallet, lease] of this.#leases) this.#returnFree(wallet, lease)
    await Promise.all(this.#returns)
  }
  #leaseOf(wallet: number): Lease {
    const found = this.#leases.get(wallet)
    if (found) return found
    const lease = {
      free: 0n,
      waiting: [],
      isFetching: false,
      contended: false,
      current: 0n,
      previous: 0n,
    }
    this.#leases.set(wallet, lease)
    return lease
  }
  /** Serves waiting calls in order from the lease. */
  #serveWaiting(lease: Lease): void {
    for (;;) {
      const first = lease.waiting[0]
      if (!first || lease.free < first.amount) return
      lease.free -= first.amount
      lease.waiting.shift()
      first.settle(true)
    }
  }
  /** Sends one lease request at a time for each wallet, for all waiting calls. */
  async #fetchForWaiting(wallet: number, lease: Lease): Promise<void> {
    lease.isFetching = true
    try {
      for (this.#serveWaiting(lease); lease.waiting.length > 0; this.#serveWaiting(lease))
        await this.#fetch(wallet, lease)
    } catch (thrown) {
      for (const one of lease.waiting.splice(0)) one.fail(thrown)
    } finally {
      lease.isFetching = false
    }
  }
  async #fetch(wallet: number, lease: Lease): Promise<void> {
    const first = lease.waiting[0]?.amount ?? 0n
    const total = lease.waiting.reduce((sum, { amount }) => sum + amount, 0n)
    const calls = first * CALLS_AHEAD
    const expectedUse = total + (calls > lease.previous ? calls : lease.previous)
    if (await this.#lease(wallet, lease, first, expectedUse)) return
    // Refuse all waiting calls that want at least as much: the result would be the same.
    const refused = lease.waiting.filter(({ amount }) => amount >= first)
    for (const one of refused) lease.waiting.splice(lease.waiting.indexOf(one), 1)
    for (const one of refused) one.settle(false)
  }
  /** False: neither the wallet nor the unused leases of other processes cover it. */
  async #lease(wallet: number, lease: Lease, first: bigint, expectedUse: bigint): Promise<boolean> {
    for (let left = RECALL_ATTEMPTS; ; left--) {
      const process = await this.#process()
      const [least, wanted] = [first - lease.free, expectedUse - lease.free]
      if (least <= 0n) return true
      try {
        const granted = await this.#grant(process, wallet, least, wanted > MOST ? MOST : wanted)
        lease.free += granted
        lease.contended = granted <= least
        return granted >= least
      } catch (thrown) {
        if (isCode(thrown, 'SHARE_GONE') && left > 0) {
          this.#onExpelled(process)
          continue
        }
        if (!isCode(thrown, INSUFFICIENT)) throw thrown
      }
      lease.contended = true
      if (lease.free >= (lease.waiting[0]?.amount ?? 0n)) return true
      const values = [process, process, wallet]
      const [elsewhere] = await this.#database.read(ELSEWHERE, values)
      if (left === 0 || nanosOf(elsewhere?.room) < least) return false
      // Return the own part first: two processes that wait for each other's would both fail.
      const late = pause(RECALL_ATTEMPTS * PAUSE, undefined, { ref: false })
      await Promise.race([this.#returnFree(wallet, lease), late])
      await pause(PAUSE)
    }
  }
  async #grant(process: string, wallet: number, least: bigint, wanted: bigint): Promise<bigint> {
    const moved = this.balances.moving(wallet)
    const list = leaseShare(process, wallet, least, wanted)
    try {
      const rows = await writeWithRetry(this.#database, list, ADMISSION_TIMEOUT)
      const [row, own] = [rows[0]?.[0], rows.at(-1)?.[0]]
      // The store of a trial discards writes: what the wallet could grant counts.
      const granted = row ? nanosOf(row.granted) : await this.#trialGrant(wallet, least)
      moved(granted, own && nanosOf(row?.balance) - nanosOf(own.amount))
      return granted
    } catch (thrown) {
      if (isCode(thrown, 'STORE_UNKNOWN')) void this.#resolveUnknown(wallet, list, moved)
      else moved(0n)
      throw thrown
    }
  }
  /** Finds out whether an unconfirmed lease was granted, and keeps it for the next call. */
  async #resolveUnknown(
    wallet: number,
    list: readonly Statement[],
    moved: (by: bigint) => void,
  ): Promise<void> {
    const generation = this.generation
    const rows = await writeUntilKnown(this.#database, list, this.#open).catch(() => [])
    const granted = nanosOf(rows[0]?.[0]?.granted)
    moved(granted)
    if (generation === this.generation) this.give(wallet, granted)
  }
  async #trialGrant(wallet: number, least: bigint): Promise<bigint> {
    const [row] = await this.#database.read(ROOM_IN, [wallet])
    return nanosOf(row?.room) >= least ? least : 0n
  }
  /** Resolves when the free amount is returned, or its return has failed. */
  #returnFree(wallet: number, lease: Lease): Promise<void> | undefined {
    const amount = lease.free
    if (amount <= 0n) return undefined
    lease.free = 0n
    const generation = this.generation
    const moved = this.balances.moving(wallet)
    const returning = this.#writeReturn(wallet, amount)
      .then(() => moved(-amount))
      .catch(thrown => {
        moved(0n)
        // SHARE_GONE: reaped with the expelled process. After other errors it is returned later.
        if (!isCode(thrown, 'SHARE_GONE') && generation === this.generation)
          this.#leaseOf(wallet).free += amount
      })
      .finally(() => this.#returns.delete(returning))
    this.#returns.add(returning)
    return returning
  }
  async #writeReturn(wallet: number, amount: bigint): Promise<void> {
    // Until the result is known the amount must not be spent.
    const list = returnShare(await this.#process(), wallet, amount)
    await writeUntilKnown(this.#database, list, this.#open)
  }
  /** Returns leases that were not used for one interval. */
  #returnIdle(): void {
    for (const [wallet, lease] of this.#leases) {
      const idle = lease.current === 0n
      lease.previous = lease.current
      lease.current = 0n
      if (!idle || lease.waiting.length > 0) continue
      if (lease.free > 0n) this.#returnFree(wallet, lease)
      else this.#leases.delete(wallet)
    }
  }
}
