/** Holds money for calls and closes what it holds. One per process; knows amounts, not prices. */
import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Database, Log, Membership, Row, Statement } from '../../engine/plugin.ts'
import { isCode } from './faults.ts'
import { settleNoted } from './noted.ts'
import { giveAllBack } from './processes.ts'
import { Shares } from './shares.ts'
import { nanosOf, openWallet, ROOM_IN } from './statements.ts'
import { ADMISSION, BARRIER, writeSurely } from './surely.ts'
import { walletOf } from './wallet.ts'

/** Who pays. `quota`: what the key may spend in all, nanos; undefined: as much as the account has. */
export interface Payer {
  readonly account: number
  readonly key: number | undefined
  readonly quota: bigint | undefined
}
export type Lack = 'account' | 'key'
/** Told what the list returned; nothing where it was closed already. */
type Done = (rows: readonly (readonly Row[])[]) => void
type Store = Pick<Database, 'write' | 'read'>
interface Closing {
  readonly list: readonly Statement[]
  readonly done: Done
  /** The store is being told. The same list beside itself would be another one: it finds nothing to do, and may say so first. */
  telling: Promise<void> | undefined
}

/** ms until what could not be closed is tried again, and for which a process that ends goes on trying. */
const AGAIN = 1_000
const LAST = 10_000
const MOST_OPENED = 100_000

export class Ledger {
  readonly #database: Store
  readonly #log: Log
  readonly #membership: Membership
  readonly #shares: Shares
  /** Keys whose wallet is known to be there. */
  readonly #opened = new LRUCache<number, true>({ maxSize: MOST_OPENED, sizeCalculation: () => 1 })
  /** What has to be closed and could not be yet. */
  readonly #open = new Map<string, Closing>()
  readonly #timer: NodeJS.Timeout
  /** As it was last heard. */
  #name: string | undefined

  constructor(database: Store, log: Log, membership: Membership) {
    this.#database = database
    this.#log = log
    this.#membership = membership
    this.#shares = new Shares({
      database,
      process: () => this.#membership.name(),
      lost: process => this.#membership.expelled(process),
    })
    membership.listen('ledger', {
      onExpelled: () => this.#shares.forget(),
      beforeReap: process => settleNoted(database, log, Date.now(), process),
      reapStatements: process => giveAllBack(process, Date.now()),
    })
    this.#timer = setInterval(() => void this.#closeOpen(), AGAIN)
    this.#timer.unref()
  }
  /** The name that goes onto every charge of this process. */
  async process(): Promise<string> {
    this.#name = await this.#membership.name()
    return this.#name
  }
  /** The same, where it has one already. */
  get processNow(): string | undefined {
    return this.#name !== undefined && this.#membership.isCurrent(this.#name)
      ? this.#name
      : undefined
  }
  /** Whether what is held under this name is still ours. */
  goesBy(process: string): boolean {
    return this.#membership.isCurrent(process)
  }
  /** The store holds nothing under this name any more: this process begins anew, under another. */
  lost(process: string): void {
    this.#membership.expelled(process)
  }
  /** Takes `amount` for a call where it lies here already. False: `take` it. */
  takeNow({ account, key, quota }: Payer, amount: bigint): boolean {
    if (key !== undefined && !this.#opened.get(key)) return false
    const wallet = walletOf.account(account)
    if (!this.#shares.takeNow(wallet, amount)) return false
    if (key === undefined || quota === undefined) return true
    if (this.#shares.takeNow(walletOf.key(key), amount)) return true
    this.#shares.give(wallet, amount)
    return false
  }
  /** Takes `amount` for a call; undefined when it is taken, else whose money does not cover it. */
  async take(payer: Payer, amount: bigint): Promise<Lack | undefined> {
    const { account, key, quota } = payer
    if (key !== undefined) await this.#openKey(key, quota)
    for (;;) {
      if (!(await this.#shares.take(walletOf.account(account), amount))) return 'account'
      if (key === undefined || quota === undefined) return undefined
      const { life } = this.#shares
      const taken = await this.#shares.take(walletOf.key(key), amount)
      const buried = life !== this.#shares.life
      if (taken && !buried) return undefined
      // What a burial came after went back with it: it is nobody's to give, and both are taken anew.
      if (!buried) this.#shares.give(walletOf.account(account), amount)
      else if (taken) this.#shares.give(walletOf.key(key), amount)
      if (!taken) return 'key'
    }
  }
  /** Whether others may be waiting for what is held: then it must be seen in the store. */
  tight({ account, key, quota }: Payer): boolean {
    if (this.#shares.tight(walletOf.account(account))) return true
    return key !== undefined && quota !== undefined && this.#shares.tight(walletOf.key(key))
  }
  /** What could be taken now, nanos: of the account, and of its key where that has less. */
  async room({ account, key, quota }: Payer): Promise<bigint> {
    const wallets = [walletOf.account(account)]
    if (key !== undefined && quota !== undefined) wallets.push(walletOf.key(key))
    const rooms = await Promise.all(wallets.map(wallet => this.#roomIn(wallet)))
    return rooms.reduce((least, room) => (room < least ? room : least))
  }
  /** What a call did not need after all. `process`: under whose name it was taken; what was taken before a burial went
   *  back with it. */
  give({ account, key, quota }: Payer, amount: bigint, process: string): void {
    if (!this.#membership.isCurrent(process)) return
    this.#shares.give(walletOf.account(account), amount)
    if (key !== undefined && quota !== undefined) this.#shares.give(walletOf.key(key), amount)
  }
  /** What a call is charged was decided, be it written already or not. Below zero: less than was decided before. */
  charged({ account, key, quota }: Payer, amount: bigint, process: string): void {
    if (!this.#membership.isCurrent(process)) return
    this.#shares.balances.charged(walletOf.account(account), amount)
    if (key !== undefined && quota !== undefined)
      this.#shares.balances.charged(walletOf.key(key), amount)
  }
  /** Nanos, when all that this process decided is charged; undefined: not known yet. What others charged or credited may be
   *  missing from it for a second. */
  balance(account: number): bigint | undefined {
    return this.#shares.balances.of(walletOf.account(account))
  }
  /** The balance behind a charge that is decided with it: of a share that it uses up nothing would be known afterwards. */
  leftBehind(payer: Payer, amount: bigint, process: string): bigint | undefined {
    const before = this.balance(payer.account)
    this.charged(payer, amount, process)
    return before === undefined ? undefined : before - amount
  }
  /** Closes a charge whose own group may not have come through: tried until the store has an answer. */
  ensureClosed(request: string, list: readonly Statement[], done: Done): void {
    this.#open.set(request, { list, done, telling: undefined })
    void this.#close(request)
  }
  /** Not before the store was told what all calls have cost; where it stays away, what they had come to counts. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    const until = performance.now() + LAST
    // Behind whatever is under way: what fails of it comes to be closed here.
    await this.#database.write([BARRIER]).catch(() => {})
    for (;;) {
      await this.#closeOpen()
      if (this.#open.size === 0 || performance.now() > until) break
      await pause(AGAIN / 4)
    }
    await this.#shares.close()
  }
  /** With the quota that it has now. Another is set by whoever changes it, and `openWallet` then leaves it alone. */
  async #openKey(key: number, quota: bigint | undefined): Promise<void> {
    if (this.#opened.get(key)) return
    const list = [openWallet(walletOf.key(key), quota)]
    await writeSurely(this.#database, list, ADMISSION)
    this.#opened.set(key, true)
  }
  async #roomIn(wallet: number): Promise<bigint> {
    const [row] = await this.#database.read(ROOM_IN, [wallet])
    return nanosOf(row?.room) + this.#shares.free(wallet)
  }
  async #closeOpen(): Promise<void> {
    await Promise.all([...this.#open.keys()].map(request => this.#close(request)))
  }
  #close(request: string): Promise<void> {
    const found = this.#open.get(request)
    if (!found) return Promise.resolve()
    found.telling ??= this.#tell(request, found).finally(() => {
      found.telling = undefined
    })
    return found.telling
  }
  async #tell(request: string, { list, done }: Closing): Promise<void> {
    let rows: Parameters<Done>[0] = []
    try {
      rows = await writeSurely(this.#database, list)
    } catch (thrown) {
      // Closed already, or never opened: either way nothing is held for it any more.
      if (!isCode(thrown, 'CHARGE_CLOSED', 'CHARGE_EXISTS', 'SHARE_GONE')) {
        this.#log.warn({ request, error: thrown }, 'a charge could not be closed yet')
        return
      }
    }
    if (this.#open.delete(request)) done(rows)
  }
}
