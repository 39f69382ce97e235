/** Budget leases: the part of each wallet that this process may spend without a query. One instance
 *  per process. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Statement } from '../../engine/plugin.ts'
import { MAX_AMOUNT } from '../billing/money.ts'
import { Balances } from './balances.ts'
import { INSUFFICIENT, isCode } from './faults.ts'
import { grantLease, nanosOf, OUTSIDE, ROOM_IN, returnLease, UNUSED_LEASES } from './statements.ts'
import {
  ADMISSION_TIMEOUT,
  writeUntilKnown,
  writeWhileAway,
  writeWithRetry,
} from './write-with-retry.ts'

/** Nanos. */
export interface Funds {
  readonly available: bigint
  readonly total: bigint
}
interface WaitingCall {
  readonly amount: bigint
  resolve(isTaken: boolean): void
  reject(error: unknown): void
}
interface Lease {
  /** Leased nanos that no call holds. */
  free: bigint
  /** Calls that wait for more, in order. */
  readonly waiting: WaitingCall[]
  isFetching: boolean
  /** Whether the wallet granted only the minimum: then unused money returns at once. */
  isContended: boolean
  /** Nanos taken in the current interval and in the previous one. */
  current: bigint
  previous: bigint
}
export interface BudgetLeaseOptions {
  readonly database: Pick<Database, 'write' | 'read'>
  /** The name under which the store knows this process. */
  readonly process: () => Promise<string>
  /** Reports that the store has expelled the process of this name. */
  readonly onExpelled: (process: string) => void
  /** ms between two returns of unused leases. */
  readonly interval?: number
}
/** A lease is sized for this many calls like the first waiting one, or for one interval's usage. */
const CALLS_AHEAD = 32n
/** Attempts to lease money that other processes lease and do not use, and ms between them. Those
 *  return it within half a second. */
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
  /** Of wallets that the discarded writes of a trial would have changed. */
  readonly trialFunds = new Map<number, Funds>()
  readonly #isOpen = (): boolean => !this.#closed
  #closed = false

  constructor({ database, process, onExpelled, interval = 250 }: BudgetLeaseOptions) {
    this.#database = database
    this.#process = process
    this.#onExpelled = onExpelled
    this.#timer = setInterval(() => this.#returnIdle(), interval)
    this.#timer.unref()
  }
  /** Takes `amount` nanos if the lease covers them. */
  takeNow(wallet: number, amount: bigint): boolean {
    const lease = this.#leaseOf(wallet)
    if (lease.waiting.length > 0 || lease.free < amount) return false
    lease.current += amount
    lease.free -= amount
    return true
  }
  /** Takes `amount` nanos, and leases more if needed. False: the wallet cannot cover them. */
  take(wallet: number, amount: bigint): boolean | Promise<boolean> {
    if (this.takeNow(wallet, amount)) return true
    // No wallet holds that much, and a multiple of it would overflow a column.
    if (amount > MAX_AMOUNT) return false
    const lease = this.#leaseOf(wallet)
    lease.current += amount
    return new Promise((resolve, reject) => {
      lease.waiting.push({ amount, resolve, reject })
      if (!lease.isFetching) void this.#fetchForWaiting(wallet, lease)
    })
  }
  /** Returns nanos that a call took and did not spend. */
  give(wallet: number, amount: bigint): void {
    if (amount <= 0n) return
    const lease = this.#leaseOf(wallet)
    lease.free += amount
    this.#serveWaiting(lease)
    if (lease.isContended && lease.waiting.length === 0 && lease.free > 0n)
      this.#returnFree(wallet, lease)
  }
  /** Returns leased nanos that no call holds. */
  async returnUnused(wallet: number): Promise<void> {
    const lease = this.#leases.get(wallet)
    if (lease) await this.#returnFree(wallet, lease)
  }
  /** Resolves when the returns in progress have ended, or after a second: until then the store does
   *  not have what is no longer free here. */
  async awaitReturns(): Promise<void> {
    if (this.#returns.size === 0) return
    const timeout = pause(RECALL_ATTEMPTS * PAUSE, undefined, { ref: false })
    await Promise.race([Promise.all(this.#returns), timeout])
  }
  /** Leased nanos that no call holds. */
  free(wallet: number): bigint {
    return this.#leases.get(wallet)?.free ?? 0n
  }
  /** Whether the wallet granted only the minimum. */
  isContended(wallet: number): boolean {
    return this.#leases.get(wallet)?.isContended ?? false
  }
  /** Voids all leases, after the store has expelled this process. */
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
    const existing = this.#leases.get(wallet)
    if (existing) return existing
    const lease = {
      free: 0n,
      waiting: [],
      isFetching: false,
      isContended: false,
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
      first.resolve(true)
    }
  }
  /** Sends one lease request at a time for each wallet, for all waiting calls. */
  async #fetchForWaiting(wallet: number, lease: Lease): Promise<void> {
    lease.isFetching = true
    try {
      for (this.#serveWaiting(lease); lease.waiting.length > 0; this.#serveWaiting(lease))
        await this.#fetch(wallet, lease)
    } catch (error) {
      for (const one of lease.waiting.splice(0)) one.reject(error)
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
    // Refuse all waiting calls that need at least as much: the result would be the same.
    const refusedCalls = lease.waiting.filter(({ amount }) => amount >= first)
    for (const one of refusedCalls) lease.waiting.splice(lease.waiting.indexOf(one), 1)
    for (const one of refusedCalls) one.resolve(false)
  }
  /** False: neither the wallet nor the unused leases of other processes cover it. */
  async #lease(wallet: number, lease: Lease, first: bigint, expectedUse: bigint): Promise<boolean> {
    for (let remainingAttempts = RECALL_ATTEMPTS; ; remainingAttempts--) {
      const process = await this.#process()
      const [least, preferredAmount] = [first - lease.free, expectedUse - lease.free]
      if (least <= 0n) return true
      try {
        const grantedAmount = await this.#grant(
          process,
          wallet,
          least,
          preferredAmount > MAX_AMOUNT ? MAX_AMOUNT : preferredAmount,
        )
        lease.free += grantedAmount
        lease.isContended = grantedAmount <= least
        return grantedAmount >= least
      } catch (error) {
        if (isCode(error, 'LEASE_GONE') && remainingAttempts > 0) {
          this.#onExpelled(process)
          continue
        }
        if (!isCode(error, INSUFFICIENT)) throw error
      }
      lease.isContended = true
      if (lease.free >= (lease.waiting[0]?.amount ?? 0n)) return true
      const values = [process, process, wallet]
      const [elsewhere] = await this.#database.read(UNUSED_LEASES, values)
      if (remainingAttempts === 0 || nanosOf(elsewhere?.room) < least) return false
      // Return our free money first: two processes that wait for each other's would both fail.
      const timeout = pause(RECALL_ATTEMPTS * PAUSE, undefined, { ref: false })
      await Promise.race([this.#returnFree(wallet, lease), timeout])
      await pause(PAUSE)
    }
  }
  async #grant(
    process: string,
    wallet: number,
    least: bigint,
    preferredAmount: bigint,
  ): Promise<bigint> {
    const endChange = this.balances.beginLeaseChange(wallet)
    const list = grantLease(process, wallet, least, preferredAmount)
    try {
      const rows = await writeWithRetry(this.#database, list, ADMISSION_TIMEOUT)
      const [row, own] = [rows[0]?.[0], rows.at(-1)?.[0]]
      // The store of a trial discards writes: the amount that the wallet could grant counts.
      const grantedAmount = row ? nanosOf(row.granted) : await this.#trialGrant(wallet, least)
      endChange(grantedAmount, own && nanosOf(row?.balance) - nanosOf(own.amount))
      return grantedAmount
    } catch (error) {
      if (isCode(error, 'STORE_UNKNOWN')) void this.#resolveUnknown(wallet, list, endChange)
      else endChange(0n)
      throw error
    }
  }
  /** Finds out whether the store granted an unconfirmed lease, and keeps it for the next call. */
  async #resolveUnknown(
    wallet: number,
    list: readonly Statement[],
    endChange: (by: bigint) => void,
  ): Promise<void> {
    const generation = this.generation
    const rows = await writeWhileAway(this.#database, list, this.#isOpen).catch(() => [])
    const grantedAmount = nanosOf(rows[0]?.[0]?.granted)
    endChange(grantedAmount)
    if (generation === this.generation) this.give(wallet, grantedAmount)
  }
  async #trialGrant(wallet: number, least: bigint): Promise<bigint> {
    const funds = this.trialFunds.get(wallet)
    const [row] = funds ? [] : await this.#database.read(ROOM_IN, [wallet])
    return (funds?.available ?? nanosOf(row?.room)) >= least ? least : 0n
  }
  /** Resolves when the free amount is returned, or its return has failed. */
  #returnFree(wallet: number, lease: Lease): Promise<void> | undefined {
    const amount = lease.free
    if (amount <= 0n) return undefined
    lease.free = 0n
    const generation = this.generation
    const endChange = this.balances.beginLeaseChange(wallet)
    const returnWrite = this.#writeReturn(wallet, amount)
      .then(() => endChange(-amount))
      .catch(error => {
        endChange(0n)
        // LEASE_GONE: reaping has returned the lease. After other errors it returns later.
        if (!isCode(error, 'LEASE_GONE') && generation === this.generation)
          this.#leaseOf(wallet).free += amount
      })
      .finally(() => this.#returns.delete(returnWrite))
    this.#returns.add(returnWrite)
    return returnWrite
  }
  async #writeReturn(wallet: number, amount: bigint): Promise<void> {
    // No call may spend the amount until the result is known.
    const list = returnLease(await this.#process(), wallet, amount)
    await writeUntilKnown(this.#database, list, this.#isOpen)
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
