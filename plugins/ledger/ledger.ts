/** Reserves money for calls and closes their charges. One per process; knows amounts, not
 *  prices. */
import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Database, Log, Membership, Row, Statement } from '../../engine/plugin.ts'
import { MAX_AMOUNT, smaller } from '../billing/money.ts'
import { BudgetLeases, type Funds } from './budget-leases.ts'
import type { BudgetWindow } from './budgets/section.ts'
import { settleCheckpoints } from './crash/crash-settlement.ts'
import { releaseProcess } from './crash/processes.ts'
import { isCode } from './faults.ts'
import { type PlanPart, plannedOf } from './plans/part.ts'
import { nanosOf, openWallet, ROOM_IN } from './statements.ts'
import { countsTokens, walletOf } from './wallet.ts'
import { ADMISSION_TIMEOUT, BARRIER, writeWithRetry } from './write-with-retry.ts'

/** The account and key that pay. `quota`: nanos that the key may spend in all; undefined: no
 *  limit. */
export interface Payer {
  readonly account: number
  readonly key: number | undefined
  /** The member who makes the call; undefined: the account itself. */
  readonly member?: number | undefined
  readonly quota: bigint | undefined
  /** The windows of budgets that the call must fit into. */
  readonly budgets?: readonly BudgetWindow[] | undefined
  /** Windows that only count the charge, which may pass their amount. */
  readonly counted?: readonly BudgetWindow[] | undefined
  /** Tokens that go with an amount of nanos to or from each window in tokens; undefined: the call
   *  has no such window. */
  readonly tokens?: bigint | undefined
  /** The plan that pays first, and the part of the hold that it pays; the account has the rest. */
  readonly plan?: PlanPart | undefined
}
/** Amounts that a call could take. `tokens` undefined: nothing that it takes counts tokens. */
export interface Room {
  readonly nanos: bigint
  readonly tokens: bigint | undefined
}
const sumOf = (one: Funds, other: Funds): Funds => ({
  available: one.available + other.available,
  total: one.total + other.total,
})
/** The wallet that cannot cover an amount. */
export type Shortage = 'account' | 'key' | 'plan' | BudgetWindow
/** Receives the rows that the list returned; none if the charge was already closed. */
type OnClosed = (rows: readonly (readonly Row[])[]) => void
type Store = Pick<Database, 'write' | 'read'>
interface Closing {
  statements: readonly Statement[]
  /** Replaces them once the charge is closed already. */
  late: readonly Statement[] | undefined
  readonly onClosed: OnClosed
  /** The write in progress. A second one at the same time would change nothing, and could finish
   *  first. */
  currentWrite: Promise<void> | undefined
}

/** ms between two attempts to close charges, and ms for which an ending process retries. */
const RETRY_INTERVAL = 1_000
const SHUTDOWN_TIMEOUT = 10_000
const MAX_KNOWN_KEYS = 100_000

/** The wallets that a hold reserves. */
const walletsHeld = ({ account, key, quota, budgets = [], plan }: Payer): readonly number[] => {
  const wallets = [walletOf.account(account)]
  if (key !== undefined && quota !== undefined) wallets.push(walletOf.key(key))
  for (const { wallet } of budgets) wallets.push(wallet)
  if (plan) wallets.push(plan.window.wallet)
  return wallets
}
/** The nanos of an amount that a wallet of `walletsHeld` pays, or its tokens, which go with any
 *  amount. */
const partOf = ({ account, plan, tokens }: Payer, wallet: number, amount: bigint): bigint => {
  if (tokens !== undefined && countsTokens(wallet))
    return wallet === plan?.window.wallet ? (plan.tokens ?? 0n) : tokens
  if (plan === undefined) return amount
  if (wallet === plan.window.wallet) return plannedOf(amount, plan)
  return wallet === walletOf.account(account) ? amount - plannedOf(amount, plan) : amount
}
/** The wallets of `walletsHeld` that have nanos. */
const moneyHeld = (payer: Payer): readonly number[] => {
  const wallets = walletsHeld(payer)
  return payer.tokens === undefined ? wallets : wallets.filter(each => !countsTokens(each))
}
/** The windows in tokens that a hold reserves. */
const tokensHeldIn = ({ budgets = [], tokens }: Payer): readonly BudgetWindow[] =>
  tokens === undefined ? [] : budgets.filter(({ wallet }) => countsTokens(wallet))
/** Whether a wallet has no part: the plan pays all that it would, or nothing, or no tokens. */
const isNothing = ({ plan, tokens }: Payer, part: bigint): boolean =>
  part === 0n && (plan !== undefined || tokens !== undefined)
/** The shortage if a wallet of `walletsHeld` does not cover an amount. */
const shortageOf = ({ account, budgets = [], plan }: Payer, wallet: number): Shortage => {
  if (wallet === plan?.window.wallet) return 'plan'
  const budget = budgets.find(each => each.wallet === wallet)
  return budget ?? (wallet === walletOf.account(account) ? 'account' : 'key')
}

export class Ledger {
  readonly #database: Store
  readonly #log: Log
  readonly #membership: Membership
  readonly #leases: BudgetLeases
  /** Keys whose wallet is known to exist. */
  readonly #knownKeys = new LRUCache<number, true>({
    maxSize: MAX_KNOWN_KEYS,
    sizeCalculation: () => 1,
  })
  /** Charges that could not be closed yet, by request. */
  readonly #pending = new Map<string, Closing>()
  readonly #timer: NodeJS.Timeout
  /** The process name as last reported. */
  #processName: string | undefined

  constructor(database: Store, log: Log, membership: Membership) {
    this.#database = database
    this.#log = log
    this.#membership = membership
    this.#leases = new BudgetLeases({
      database,
      process: () => this.#membership.name(),
      onExpelled: process => this.#membership.reportExpelled(process),
    })
    membership.listen('ledger', {
      onExpelled: () => this.#leases.forget(),
      beforeReap: process => settleCheckpoints(database, log, Date.now(), process),
      reapStatements: process => releaseProcess(process, Date.now()),
    })
    this.#timer = setInterval(() => void this.#closePending(), RETRY_INTERVAL)
    this.#timer.unref()
  }
  /** The process name on every charge of this process. */
  async process(): Promise<string> {
    this.#processName = await this.#membership.name()
    return this.#processName
  }
  /** The process name, if the process is registered. */
  get processNow(): string | undefined {
    return this.#processName !== undefined && this.#membership.isCurrent(this.#processName)
      ? this.#processName
      : undefined
  }
  /** Whether holds under this name are still valid. */
  isCurrentProcess(process: string): boolean {
    return this.#membership.isCurrent(process)
  }
  /** Reports that the store has reaped this name: the process registers under another. */
  onExpelled(process: string): void {
    this.#membership.reportExpelled(process)
  }
  /** Takes `amount` nanos for a call from local leases. False: call `take`. */
  takeNow(payer: Payer, amount: bigint): boolean {
    if (payer.key !== undefined && !this.#knownKeys.get(payer.key)) return false
    const wallets = walletsHeld(payer)
    const short = wallets.findIndex(wallet => {
      const part = partOf(payer, wallet, amount)
      return !(isNothing(payer, part) || this.#leases.takeNow(wallet, part))
    })
    if (short >= 0) this.#giveEach(payer, wallets.slice(0, short), amount)
    return short < 0
  }
  /** Takes `amount` nanos for a call. Returns the shortage, or undefined. */
  async take(payer: Payer, amount: bigint): Promise<Shortage | undefined> {
    if (payer.key !== undefined) await this.#openKey(payer.key, payer.quota)
    for (;;) {
      const result = await this.#takeEach(payer, amount)
      if (result !== 'reaped') return result
    }
  }
  /** Reaping in between has returned what was taken before: then all is to be taken again. */
  async #takeEach(payer: Payer, amount: bigint): Promise<Shortage | 'reaped' | undefined> {
    const wallets: number[] = []
    let { generation } = this.#leases
    for (const wallet of walletsHeld(payer)) {
      const part = partOf(payer, wallet, amount)
      if (isNothing(payer, part)) continue
      let isTaken = false
      try {
        isTaken = await this.#leases.take(wallet, part)
      } catch (error) {
        if (generation === this.#leases.generation) this.#giveEach(payer, wallets, amount)
        throw error
      }
      const isReaped = wallets.length > 0 && generation !== this.#leases.generation
      if (!isReaped && !isTaken) this.#giveEach(payer, wallets, amount)
      else if (isReaped && isTaken) this.#leases.give(wallet, part)
      if (!isTaken) return shortageOf(payer, wallet)
      if (isReaped) return 'reaped'
      generation = this.#leases.generation
      wallets.push(wallet)
    }
    return undefined
  }
  /** Gives `amount` of a hold back to the leases; `keptAmount` of it stays held. */
  #giveEach(payer: Payer, wallets: readonly number[], amount: bigint, keptAmount = 0n): void {
    const { tokens } = payer
    for (const wallet of wallets) {
      const isInTokens = tokens !== undefined && countsTokens(wallet)
      const keptPart = isInTokens ? 0n : partOf(payer, wallet, keptAmount)
      this.#leases.give(wallet, partOf(payer, wallet, keptAmount + amount) - keptPart)
    }
  }
  /** Returns what this process leases of a wallet and no call holds. */
  async returnUnused(wallet: number): Promise<void> {
    await this.#leases.returnUnused(wallet)
  }
  /** For a trial, whose writes are discarded: the funds of a window that it would have opened. */
  setTrialFunds(wallet: number, funds: Funds): void {
    this.#leases.trialFunds.set(wallet, funds)
  }
  /** Whether other processes may wait for the held money: then the hold needs a row. */
  isContended(payer: Payer): boolean {
    return walletsHeld(payer).some(wallet => this.#leases.isContended(wallet))
  }
  /** Nanos that a call could take now: of the account, or of its key if that has less. */
  async available(payer: Payer): Promise<bigint> {
    await this.#leases.awaitReturns()
    return (await this.funds(payer)).available
  }
  /** The same of one wallet. */
  async fundsOf(wallet: number): Promise<Funds> {
    return this.#fundsIn(wallet)
  }
  /** The amount that a call could take now, and `total`: the amount if every other call under way
   *  ended without a charge. */
  async funds(payer: Payer): Promise<Funds> {
    const { plan, ...others } = payer
    const rooms = await Promise.all(moneyHeld(others).map(wallet => this.#fundsIn(wallet)))
    if (plan && !countsTokens(plan.window.wallet)) {
      const [own, planned] = [rooms[0], await this.#fundsIn(plan.window.wallet)]
      rooms[0] = own && plan.window.plan.after === 'wallet' ? sumOf(own, planned) : planned
    }
    return rooms.reduce((one, other) => ({
      available: smaller(one.available, other.available),
      total: smaller(one.total, other.total),
    }))
  }
  /** The amounts that a call could take now. A plan in tokens can pay all of a call, and its
   *  account can: these are two ways. */
  async roomsOf(payer: Payer): Promise<readonly Room[]> {
    const nanos = await this.available(payer)
    const windows = tokensHeldIn(payer).map(({ wallet }) => wallet)
    const tokens = windows.length === 0 ? undefined : await this.#leastOf(windows)
    const own = { nanos, tokens }
    const { window } = payer.plan ?? {}
    if (!window || !countsTokens(window.wallet)) return [own]
    const wallets = moneyHeld(payer).filter(each => each !== walletOf.account(payer.account))
    const { available: inPlan } = await this.#fundsIn(window.wallet)
    const planned = {
      nanos: await this.#leastOf(wallets),
      tokens: tokens === undefined ? inPlan : smaller(inPlan, tokens),
    }
    return window.plan.after === 'refuse' ? [planned] : [planned, own]
  }
  async #leastOf(wallets: readonly number[]): Promise<bigint> {
    const rooms = await Promise.all(wallets.map(wallet => this.#fundsIn(wallet)))
    return rooms.map(({ available }) => available).reduce(smaller, MAX_AMOUNT)
  }
  /** Returns nanos that a call did not need. `process`: the name under which the call took them; if
   *  the store has reaped it, they have returned already. `keptAmount`: nanos that stay with the
   *  call. */
  give(payer: Payer, amount: bigint, process: string, keptAmount = 0n): void {
    if (this.#membership.isCurrent(process))
      this.#giveEach(payer, walletsHeld(payer), amount, keptAmount)
  }
  /** The same of one wallet. */
  giveTo(wallet: number, amount: bigint, process: string): void {
    if (this.#membership.isCurrent(process)) this.#leases.give(wallet, amount)
  }
  /** Takes nanos out of the lease for good: a row of the store holds them. Call the returned
   *  function once it is known whether it does; if not, the nanos return to the lease. */
  keep(payer: Payer, amount: bigint, process: string): (isKept: boolean) => void {
    const moves = walletsHeld(payer).map(wallet => ({
      part: partOf(payer, wallet, amount),
      end: this.#leases.balances.beginLeaseChange(wallet),
    }))
    return isKept => {
      for (const { part, end } of moves) end(isKept ? -part : 0n)
      if (!isKept) this.give(payer, amount, process)
    }
  }
  /** Counts a charge in the local balances, before it is written; `before`: what they count of it
   *  already. */
  recordCharge(payer: Payer, amount: bigint, process: string, before = 0n): void {
    if (!this.#membership.isCurrent(process)) return
    for (const wallet of moneyHeld(payer)) {
      const more = partOf(payer, wallet, amount) - partOf(payer, wallet, before)
      this.#leases.balances.recordCharge(wallet, more)
    }
  }
  /** Counts tokens that leave the leases of this process with a charge; negative: a correction. */
  recordTokens(payer: Payer, tokens: bigint, process: string): void {
    if (tokens === 0n || !this.#membership.isCurrent(process)) return
    for (const { wallet } of tokensHeldIn(payer)) this.#leases.balances.recordCharge(wallet, tokens)
  }
  /** The same of the tokens that the plan pays. */
  recordPlanTokens({ plan }: Payer, tokens: bigint, process: string): void {
    if (plan && tokens !== 0n && this.#membership.isCurrent(process))
      this.#leases.balances.recordCharge(plan.window.wallet, tokens)
  }
  /** The balance in nanos after all charges of this process; undefined: unknown. Charges and
   *  credits of other processes may be missing for a second. */
  balance(account: number): bigint | undefined {
    return this.#leases.balances.of(walletOf.account(account))
  }
  /** The same where this process knows no balance, since it leases nothing of the account. */
  readBalance(account: number): Promise<bigint | undefined> {
    return this.#leases.balances.read(walletOf.account(account))
  }
  /** Counts a charge and returns the balance after it. Reads the balance first, since it is unknown
   *  once the lease is used up. `before`: as of `recordCharge`. */
  balanceAfter(payer: Payer, amount: bigint, process: string, before = 0n): bigint | undefined {
    const balance = this.balance(payer.account)
    this.recordCharge(payer, amount, process, before)
    const wallet = walletOf.account(payer.account)
    const more = partOf(payer, wallet, amount) - partOf(payer, wallet, before)
    return balance === undefined ? undefined : balance - more
  }
  /** Closes a charge whose own write may have failed: retries until the store confirms. `late`:
   *  written if the charge is closed already. */
  ensureClosed(
    request: string,
    list: readonly Statement[],
    onClosed: OnClosed,
    late?: readonly Statement[],
  ): void {
    this.#pending.set(request, { statements: list, late, onClosed, currentWrite: undefined })
    void this.#close(request)
  }
  /** Writes all pending charges, for at most SHUTDOWN_TIMEOUT. Crash settlement closes the
   *  others. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    const until = performance.now() + SHUTDOWN_TIMEOUT
    // Wait for writes in progress: a charge whose write fails becomes pending.
    await this.#database.write([BARRIER]).catch(() => {})
    for (;;) {
      await this.#closePending()
      if (this.#pending.size === 0 || performance.now() > until) break
      await pause(RETRY_INTERVAL / 4)
    }
    await this.#leases.close()
  }
  /** Creates the wallet of a key with its quota. An existing wallet keeps its own. */
  async #openKey(key: number, quota: bigint | undefined): Promise<void> {
    if (this.#knownKeys.get(key)) return
    const list = [openWallet(walletOf.key(key), quota)]
    await writeWithRetry(this.#database, list, ADMISSION_TIMEOUT)
    this.#knownKeys.set(key, true)
  }
  async #fundsIn(wallet: number): Promise<Funds> {
    const trial = this.#leases.trialFunds.get(wallet)
    if (trial) return trial
    const [row] = await this.#database.read(ROOM_IN, [wallet])
    const available = nanosOf(row?.room) + this.#leases.free(wallet)
    return { available, total: nanosOf(row?.total) }
  }
  async #closePending(): Promise<void> {
    await Promise.all([...this.#pending.keys()].map(request => this.#close(request)))
  }
  #close(request: string): Promise<void> {
    const closing = this.#pending.get(request)
    if (!closing) return Promise.resolve()
    closing.currentWrite ??= this.#writeClosing(request, closing).finally(() => {
      closing.currentWrite = undefined
    })
    return closing.currentWrite
  }
  async #writeClosing(request: string, closing: Closing): Promise<void> {
    const { statements: list, late, onClosed } = closing
    let rows: Parameters<OnClosed>[0] = []
    try {
      rows = await writeWithRetry(this.#database, list)
    } catch (error) {
      // The charge is closed, or never had a row: there is no hold.
      if (!isCode(error, 'CHARGE_CLOSED', 'CHARGE_EXISTS', 'LEASE_GONE')) {
        this.#log.warn({ request, error }, 'a charge could not be closed yet')
        return
      }
      if (late && isCode(error, 'CHARGE_CLOSED')) {
        closing.statements = late
        closing.late = undefined
        return this.#writeClosing(request, closing)
      }
    }
    if (this.#pending.delete(request)) onClosed(rows)
  }
}
