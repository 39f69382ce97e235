/** Reserves money for calls and closes their charges. One per process; knows amounts, not prices. */
import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Database, Log, Membership, Row, Statement } from '../../engine/plugin.ts'
import { BudgetLeases } from './budget-leases.ts'
import { settleCheckpoints } from './crash-settlement.ts'
import { isCode } from './faults.ts'
import { giveAllBack } from './processes.ts'
import { nanosOf, openWallet, ROOM_IN } from './statements.ts'
import { walletOf } from './wallet.ts'
import { ADMISSION_TIMEOUT, BARRIER, writeWithRetry } from './write-with-retry.ts'

/** The account and key that pay. `quota`: nanos the key may spend in all; undefined: no quota. */
export interface Payer {
  readonly account: number
  readonly key: number | undefined
  readonly quota: bigint | undefined
}
/** Who lacks the money. */
export type Shortage = 'account' | 'key'
/** Receives the rows that the list returned; none where the charge was closed already. */
type OnClosed = (rows: readonly (readonly Row[])[]) => void
type Store = Pick<Database, 'write' | 'read'>
interface Closing {
  readonly statements: readonly Statement[]
  readonly done: OnClosed
  /** The write in progress. A second one at the same time would find nothing to do, and could finish first. */
  writing: Promise<void> | undefined
}

/** ms between two attempts to close charges, and ms for which a process that ends goes on trying. */
const RETRY_INTERVAL = 1_000
const SHUTDOWN_TIMEOUT = 10_000
const MAX_KNOWN_KEYS = 100_000

/** The wallets that a hold reserves. */
const walletsHeld = ({ account, key, quota }: Payer): readonly number[] =>
  key === undefined || quota === undefined
    ? [walletOf.account(account)]
    : [walletOf.account(account), walletOf.key(key)]

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
      onExpelled: process => this.#membership.expelled(process),
    })
    membership.listen('ledger', {
      onExpelled: () => this.#leases.forget(),
      beforeReap: process => settleCheckpoints(database, log, Date.now(), process),
      reapStatements: process => giveAllBack(process, Date.now()),
    })
    this.#timer = setInterval(() => void this.#closePending(), RETRY_INTERVAL)
    this.#timer.unref()
  }
  /** The process name on every charge of this process. */
  async process(): Promise<string> {
    this.#processName = await this.#membership.name()
    return this.#processName
  }
  /** The same, where the process is registered already. */
  get processNow(): string | undefined {
    return this.#processName !== undefined && this.#membership.isCurrent(this.#processName)
      ? this.#processName
      : undefined
  }
  /** Whether money held under this name is still reserved for this process. */
  isCurrentProcess(process: string): boolean {
    return this.#membership.isCurrent(process)
  }
  /** The store holds nothing under this name any more: the process registers under another. */
  onExpelled(process: string): void {
    this.#membership.expelled(process)
  }
  /** Takes `amount` nanos for a call from local leases. False: call `take`. */
  takeNow({ account, key, quota }: Payer, amount: bigint): boolean {
    if (key !== undefined && !this.#knownKeys.get(key)) return false
    const wallet = walletOf.account(account)
    if (!this.#leases.takeNow(wallet, amount)) return false
    if (key === undefined || quota === undefined) return true
    if (this.#leases.takeNow(walletOf.key(key), amount)) return true
    this.#leases.give(wallet, amount)
    return false
  }
  /** Takes `amount` nanos for a call. Returns who lacks them, or undefined. */
  async take(payer: Payer, amount: bigint): Promise<Shortage | undefined> {
    const { account, key, quota } = payer
    if (key !== undefined) await this.#openKey(key, quota)
    for (;;) {
      if (!(await this.#leases.take(walletOf.account(account), amount))) return 'account'
      if (key === undefined || quota === undefined) return undefined
      const { generation } = this.#leases
      const taken = await this.#leases.take(walletOf.key(key), amount)
      const isReaped = generation !== this.#leases.generation
      if (taken && !isReaped) return undefined
      // Reaping returned what was taken before it: nothing of that is given back, both are taken again.
      if (!isReaped) this.#leases.give(walletOf.account(account), amount)
      else if (taken) this.#leases.give(walletOf.key(key), amount)
      if (!taken) return 'key'
    }
  }
  /** Whether other processes may wait for what is held: then the store must show the hold. */
  isContended({ account, key, quota }: Payer): boolean {
    if (this.#leases.isContended(walletOf.account(account))) return true
    return key !== undefined && quota !== undefined && this.#leases.isContended(walletOf.key(key))
  }
  /** Nanos that could be taken now: of the account, or of its key where that has less. */
  async available({ account, key, quota }: Payer): Promise<bigint> {
    const wallets = [walletOf.account(account)]
    if (key !== undefined && quota !== undefined) wallets.push(walletOf.key(key))
    const rooms = await Promise.all(wallets.map(wallet => this.#availableIn(wallet)))
    return rooms.reduce((least, room) => (room < least ? room : least))
  }
  /** Returns nanos that a call did not need. `process`: the name under which they were taken; if it
   *  was reaped, they are returned already. */
  give({ account, key, quota }: Payer, amount: bigint, process: string): void {
    if (!this.#membership.isCurrent(process)) return
    this.#leases.give(walletOf.account(account), amount)
    if (key !== undefined && quota !== undefined) this.#leases.give(walletOf.key(key), amount)
  }
  /** Takes nanos out of the lease for good: the books keep them. Call the returned function once it is
   *  known whether they do; if not, the nanos return to the lease. */
  keep(payer: Payer, amount: bigint, process: string): (isKept: boolean) => void {
    const moves = walletsHeld(payer).map(wallet => this.#leases.balances.moving(wallet))
    return isKept => {
      for (const moved of moves) moved(isKept ? -amount : 0n)
      if (!isKept) this.give(payer, amount, process)
    }
  }
  /** Counts a charge in the local balance, before it is written. Negative: a correction. */
  recordCharge({ account, key, quota }: Payer, amount: bigint, process: string): void {
    if (!this.#membership.isCurrent(process)) return
    this.#leases.balances.charged(walletOf.account(account), amount)
    if (key !== undefined && quota !== undefined)
      this.#leases.balances.charged(walletOf.key(key), amount)
  }
  /** The balance in nanos after all charges of this process; undefined: not known yet. Charges and
   *  credits of other processes may be missing for a second. */
  balance(account: number): bigint | undefined {
    return this.#leases.balances.of(walletOf.account(account))
  }
  /** Counts a charge and returns the balance after it: once the lease is used up, the balance is unknown. */
  balanceAfter(payer: Payer, amount: bigint, process: string): bigint | undefined {
    const before = this.balance(payer.account)
    this.recordCharge(payer, amount, process)
    return before === undefined ? undefined : before - amount
  }
  /** Closes a charge whose own group may have failed: retries until the store confirms. */
  ensureClosed(request: string, list: readonly Statement[], done: OnClosed): void {
    this.#pending.set(request, { statements: list, done, writing: undefined })
    void this.#close(request)
  }
  /** Writes all pending charges, for at most SHUTDOWN_TIMEOUT. After that their checkpoints count. */
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
  /** Creates the wallet of a key with its quota. `openWallet` keeps the quota of an existing one. */
  async #openKey(key: number, quota: bigint | undefined): Promise<void> {
    if (this.#knownKeys.get(key)) return
    const list = [openWallet(walletOf.key(key), quota)]
    await writeWithRetry(this.#database, list, ADMISSION_TIMEOUT)
    this.#knownKeys.set(key, true)
  }
  async #availableIn(wallet: number): Promise<bigint> {
    const [row] = await this.#database.read(ROOM_IN, [wallet])
    return nanosOf(row?.room) + this.#leases.free(wallet)
  }
  async #closePending(): Promise<void> {
    await Promise.all([...this.#pending.keys()].map(request => this.#close(request)))
  }
  #close(request: string): Promise<void> {
    const found = this.#pending.get(request)
    if (!found) return Promise.resolve()
    found.writing ??= this.#writeClosing(request, found).finally(() => {
      found.writing = undefined
    })
    return found.writing
  }
  async #writeClosing(request: string, { statements: list, done }: Closing): Promise<void> {
    let rows: Parameters<OnClosed>[0] = []
    try {
      rows = await writeWithRetry(this.#database, list)
    } catch (thrown) {
      // Closed already, or never opened: nothing is held for it any more.
      if (!isCode(thrown, 'CHARGE_CLOSED', 'CHARGE_EXISTS', 'SHARE_GONE')) {
        this.#log.warn({ request, error: thrown }, 'a charge could not be closed yet')
        return
      }
    }
    if (this.#pending.delete(request)) done(rows)
  }
}
