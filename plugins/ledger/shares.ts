/** What this process may spend without asking: its share of each wallet, in memory. One per process. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Statement } from '../../engine/plugin.ts'
import { MOST } from '../billing/money.ts'
import { Balances } from './balances.ts'
import { INSUFFICIENT, isCode } from './faults.ts'
import { ELSEWHERE, leaseShare, nanosOf, OUTSIDE, ROOM_IN, returnShare } from './statements.ts'
import { ADMISSION, writeDecided, writeSurely } from './surely.ts'

interface Waiting {
  readonly amount: bigint
  settle(taken: boolean): void
  fail(thrown: unknown): void
}
interface Share {
  /** Nanos of ours that nothing is held for. */
  free: bigint
  /** Those who wait for more, in turn. */
  readonly waiting: Waiting[]
  asking: boolean
  /** The wallet gave no more than was needed: nothing is kept back from others. */
  tight: boolean
  /** Taken since the last look, and between it and the one before: what is worth keeping. */
  recent: bigint
  before: bigint
}
export interface SharesOptions {
  readonly database: Pick<Database, 'write' | 'read'>
  /** The name under which this process is known to the store. */
  readonly process: () => Promise<string>
  /** The store took the process of this name for dead. */
  readonly lost: (process: string) => void
  /** ms between two looks at what lies here unused. */
  readonly every?: number
}
/** A share is for this many calls like the last ones, or for those of as long as lies between two looks. */
const AHEAD = 32n
/** Tries for what lies unused in other processes, and ms between them: they give it back within half a second. */
const PATIENCE = 20
const PAUSE = 50

export class Shares {
  readonly #database: SharesOptions['database']
  readonly #process: SharesOptions['process']
  readonly #lost: SharesOptions['lost']
  readonly balances = new Balances(async wallet => {
    const [row] = await this.#database.read(OUTSIDE, [await this.#process(), wallet])
    return row
  })
  readonly #shares = new Map<number, Share>()
  readonly #timer: NodeJS.Timeout
  /** Ways back under way. */
  readonly #returns = new Set<Promise<void>>()
  /** Counts the names this process has gone by: what was under way under one is nothing to the next. */
  life = 0
  readonly #open = (): boolean => !this.#closed
  #closed = false

  constructor({ database, process, lost, every = 250 }: SharesOptions) {
    this.#database = database
    this.#process = process
    this.#lost = lost
    this.#timer = setInterval(() => this.#lookAround(), every)
    this.#timer.unref()
  }
  /** Takes it, where enough lies here. */
  takeNow(wallet: number, amount: bigint): boolean {
    const share = this.#of(wallet)
    if (share.waiting.length > 0 || share.free < amount) return false
    share.recent += amount
    share.free -= amount
    return true
  }
  /** Takes it now, where enough lies here; else asks the store. False: the wallet cannot cover it. */
  take(wallet: number, amount: bigint): boolean | Promise<boolean> {
    if (this.takeNow(wallet, amount)) return true
    // No wallet holds as much, and no store could be asked for many times of it.
    if (amount > MOST) return false
    const share = this.#of(wallet)
    share.recent += amount
    return new Promise((settle, fail) => {
      share.waiting.push({ amount, settle, fail })
      if (!share.asking) void this.#ask(wallet, share)
    })
  }
  /** Gives back what was taken and not spent. */
  give(wallet: number, amount: bigint): void {
    if (amount <= 0n) return
    const share = this.#of(wallet)
    share.free += amount
    this.#serve(share)
    if (share.tight && share.waiting.length === 0 && share.free > 0n) this.#return(wallet, share)
  }
  /** What lies here that nothing is held for. */
  free(wallet: number): bigint {
    return this.#shares.get(wallet)?.free ?? 0n
  }
  /** The wallet gave no more than was needed. */
  tight(wallet: number): boolean {
    return this.#shares.get(wallet)?.tight ?? false
  }
  /** The store took this process for dead: nothing here is ours any more. */
  forget(): void {
    this.life++
    for (const share of this.#shares.values()) share.free = 0n
    this.balances.forget()
  }
  /** What lies here unused goes back. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#closed = true
    for (const [wallet, share] of this.#shares) this.#return(wallet, share)
    await Promise.all(this.#returns)
  }
  #of(wallet: number): Share {
    const found = this.#shares.get(wallet)
    if (found) return found
    const share = { free: 0n, waiting: [], asking: false, tight: false, recent: 0n, before: 0n }
    this.#shares.set(wallet, share)
    return share
  }
  /** Serves those who wait, in turn, from what lies here. */
  #serve(share: Share): void {
    for (;;) {
      const first = share.waiting[0]
      if (!first || share.free < first.amount) return
      share.free -= first.amount
      share.waiting.shift()
      first.settle(true)
    }
  }
  /** One question at a time for each wallet, for all who wait together. */
  async #ask(wallet: number, share: Share): Promise<void> {
    share.asking = true
    try {
      for (this.#serve(share); share.waiting.length > 0; this.#serve(share))
        await this.#fetch(wallet, share)
    } catch (thrown) {
      for (const one of share.waiting.splice(0)) one.fail(thrown)
    } finally {
      share.asking = false
    }
  }
  async #fetch(wallet: number, share: Share): Promise<void> {
    const first = share.waiting[0]?.amount ?? 0n
    const together = share.waiting.reduce((sum, { amount }) => sum + amount, 0n)
    const calls = first * AHEAD
    const ahead = together + (calls > share.before ? calls : share.before)
    if (await this.#lease(wallet, share, first, ahead)) return
    // Refused for all who waited together and want as much: the answer would be the same.
    const refused = share.waiting.filter(({ amount }) => amount >= first)
    for (const one of refused) share.waiting.splice(share.waiting.indexOf(one), 1)
    for (const one of refused) one.settle(false)
  }
  /** False when the wallet cannot cover it, nor what other processes are about to give back. */
  async #lease(wallet: number, share: Share, first: bigint, ahead: bigint): Promise<boolean> {
    for (let left = PATIENCE; ; left--) {
      const process = await this.#process()
      const [least, wanted] = [first - share.free, ahead - share.free]
      if (least <= 0n) return true
      try {
        const granted = await this.#grant(process, wallet, least, wanted > MOST ? MOST : wanted)
        share.free += granted
        share.tight = granted <= least
        return granted >= least
      } catch (thrown) {
        if (isCode(thrown, 'SHARE_GONE') && left > 0) {
          this.#lost(process)
          continue
        }
        if (!isCode(thrown, INSUFFICIENT)) throw thrown
      }
      share.tight = true
      if (share.free >= (share.waiting[0]?.amount ?? 0n)) return true
      const values = [process, process, wallet]
      const [elsewhere] = await this.#database.read(ELSEWHERE, values)
      if (left === 0 || nanosOf(elsewhere?.room) < least) return false
      // Where each of two waits for what lies with the other, neither would have enough.
      const late = pause(PATIENCE * PAUSE, undefined, { ref: false })
      await Promise.race([this.#return(wallet, share), late])
      await pause(PAUSE)
    }
  }
  async #grant(process: string, wallet: number, least: bigint, wanted: bigint): Promise<bigint> {
    const moved = this.balances.moving(wallet)
    const list = leaseShare(process, wallet, least, wanted)
    try {
      const rows = await writeSurely(this.#database, list, ADMISSION)
      const [row, own] = [rows[0]?.[0], rows.at(-1)?.[0]]
      // A trial's store takes what it is told and forgets it: then what could be given counts.
      const granted = row ? nanosOf(row.granted) : await this.#trial(wallet, least)
      moved(granted, own && nanosOf(row?.balance) - nanosOf(own.amount))
      return granted
    } catch (thrown) {
      if (isCode(thrown, 'STORE_UNKNOWN')) void this.#learn(wallet, list, moved)
      else moved(0n)
      throw thrown
    }
  }
  /** It may have been granted, though nobody waits for it any more: then it lies here for the next. */
  async #learn(
    wallet: number,
    list: readonly Statement[],
    moved: (by: bigint) => void,
  ): Promise<void> {
    const life = this.life
    const rows = await writeDecided(this.#database, list, this.#open).catch(() => [])
    const granted = nanosOf(rows[0]?.[0]?.granted)
    moved(granted)
    if (life === this.life) this.give(wallet, granted)
  }
  async #trial(wallet: number, least: bigint): Promise<bigint> {
    const [row] = await this.#database.read(ROOM_IN, [wallet])
    return nanosOf(row?.room) >= least ? least : 0n
  }
  /** Resolves when it has gone back, or will not. */
  #return(wallet: number, share: Share): Promise<void> | undefined {
    const amount = share.free
    if (amount <= 0n) return undefined
    share.free = 0n
    const life = this.life
    const moved = this.balances.moving(wallet)
    const way = this.#bring(wallet, amount)
      .then(() => moved(-amount))
      .catch(thrown => {
        moved(0n)
        // Gone with a process that was taken for dead; anything else is tried again later.
        if (!isCode(thrown, 'SHARE_GONE') && life === this.life) this.#of(wallet).free += amount
      })
      .finally(() => this.#returns.delete(way))
    this.#returns.add(way)
    return way
  }
  async #bring(wallet: number, amount: bigint): Promise<void> {
    // While it may have gone back it is not ours to spend.
    const list = returnShare(await this.#process(), wallet, amount)
    await writeDecided(this.#database, list, this.#open)
  }
  /** What nobody has needed for a while is somebody else's. */
  #lookAround(): void {
    for (const [wallet, share] of this.#shares) {
      const idle = share.recent === 0n
      share.before = share.recent
      share.recent = 0n
      if (!idle || share.waiting.length > 0) continue
      if (share.free > 0n) this.#return(wallet, share)
      else this.#shares.delete(wallet)
    }
  }
}
