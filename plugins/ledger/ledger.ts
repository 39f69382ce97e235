/** Holds money for calls and closes what it holds. One per process; knows amounts, not prices. */
import type { Database, Log, Statement } from '../../engine/plugin.ts'
import { isCode } from './faults.ts'
import { Shares } from './shares.ts'
import { Standing } from './standing.ts'
import { nanosOf, openWallet, ROOM_IN } from './statements.ts'
import { writeSurely } from './surely.ts'
import { walletOf } from './wallet.ts'

/** Who pays. `quota`: what the key may spend in all, nanos; undefined: as much as the account has. */
export interface Payer {
  readonly account: number
  readonly key: number | undefined
  readonly quota: bigint | undefined
}
export type Lack = 'account' | 'key'
type Store = Pick<Database, 'write' | 'read' | 'now'>

/** ms until what could not be closed is tried again. */
const AGAIN = 1_000

export class Ledger {
  readonly #database: Store
  readonly #log: Log
  readonly #standing: Standing
  readonly #shares: Shares
  /** Keys whose wallet is known to be there. */
  readonly #opened = new Map<number, bigint | undefined>()
  /** What has to be closed and could not be yet. */
  readonly #open = new Map<string, { readonly list: readonly Statement[]; done(): void }>()
  readonly #timer: NodeJS.Timeout

  constructor(database: Store, log: Log) {
    this.#database = database
    this.#log = log
    this.#standing = new Standing(database, () => this.#shares.forget())
    this.#shares = new Shares({
      database,
      process: () => this.#standing.name(),
      lost: process => this.#standing.lost(process),
    })
    this.#timer = setInterval(() => void this.#closeOpen(), AGAIN)
    this.#timer.unref()
  }
  /** The name that goes onto every charge of this process. */
  process(): Promise<string> {
    return this.#standing.name()
  }
  /** The store holds nothing under this name any more: this process begins anew, under another. */
  lost(process: string): void {
    this.#standing.lost(process)
  }
  /** Takes `amount` for a call; undefined when it is taken, else whose money does not cover it. */
  async take(payer: Payer, amount: bigint): Promise<Lack | undefined> {
    const { account, key, quota } = payer
    if (key !== undefined) await this.#openKey(key, quota)
    if (!(await this.#shares.take(walletOf.account(account), amount))) return 'account'
    if (key === undefined || quota === undefined) return undefined
    if (await this.#shares.take(walletOf.key(key), amount)) return undefined
    this.#shares.give(walletOf.account(account), amount)
    return 'key'
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
    if (!this.#standing.goesBy(process)) return
    this.#shares.give(walletOf.account(account), amount)
    if (key !== undefined && quota !== undefined) this.#shares.give(walletOf.key(key), amount)
  }
  /** Closes a charge whose own group may not have come through: tried until the store has an answer. */
  ensureClosed(request: string, list: readonly Statement[], done: () => void): void {
    this.#open.set(request, { list, done })
    void this.#close(request)
  }
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#closeOpen()
    await this.#shares.close()
    this.#standing.close()
  }
  async #openKey(key: number, quota: bigint | undefined): Promise<void> {
    if (this.#opened.has(key) && this.#opened.get(key) === quota) return
    await writeSurely(this.#database, [openWallet(walletOf.key(key), quota)])
    this.#opened.set(key, quota)
  }
  async #roomIn(wallet: number): Promise<bigint> {
    const [row] = await this.#database.read(ROOM_IN, [wallet])
    return nanosOf(row?.room) + this.#shares.free(wallet)
  }
  async #closeOpen(): Promise<void> {
    await Promise.all([...this.#open.keys()].map(request => this.#close(request)))
  }
  async #close(request: string): Promise<void> {
    const found = this.#open.get(request)
    if (!found) return
    try {
      await writeSurely(this.#database, found.list)
    } catch (thrown) {
      // Closed already, or never opened: either way nothing is held for it any more.
      if (!isCode(thrown, 'CHARGE_CLOSED')) {
        this.#log.warn({ request, error: thrown }, 'a charge could not be closed yet')
        return
      }
    }
    if (this.#open.delete(request)) found.done()
  }
}
