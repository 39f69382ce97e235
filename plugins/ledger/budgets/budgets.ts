/** The budgets of a configuration: finds the windows that a call must fit into. */
import { LRUCache } from 'lru-cache'
import type { Database, Host } from '../../../engine/plugin.ts'
import { configuredCurrency } from '../../billing/currency.ts'
import type { Account, Tags } from '../../slots.ts'
import { isCode } from '../faults.ts'
import type { Ledger } from '../ledger.ts'
import { nanosOf } from '../statements.ts'
import { openWindowAs } from './open-window.ts'
import { KINDS, numberOf, type Owner, ownerOf, windowOwner } from './owner.ts'
import { FOLLOW_INTERVAL } from './row-follower.ts'
import { type BudgetRowKey, BudgetRows, type RowSource, type SingleBudget } from './rows.ts'
import { type Budget, type BudgetWindow, budgetsIn, periodOf } from './section.ts'
import { openWindow, WINDOW_USE } from './tables.ts'
import { windowOf } from './window.ts'

type Windows = readonly BudgetWindow[]
type WindowsOfCall = Windows | undefined

const MAX_WINDOWS = 100_000
/** How often a change of a row is read again while windows open. */
const ATTEMPTS = 4

/** Who makes a call, and the tags that it has. */
interface Caller {
  readonly account: Account
  readonly tags: Tags | undefined
}

export interface BudgetStore extends RowSource {
  readonly database: Pick<Database, 'write' | 'read'>
  readonly ledger: Pick<Ledger, 'returnUnused' | 'setTrialFunds'>
  /** Writes may be discarded: then windows are not opened. */
  readonly isTrial?: boolean
}

/** A window to open. `change`: the last change of rows that its budget follows. */
interface Opening {
  readonly budget: Budget
  readonly owner: Owner
  readonly change: number
}

export class Budgets {
  readonly #budgets: readonly Budget[]
  readonly #store: BudgetStore
  /** Of each budget, the last window of each owner, with this configuration's amount. */
  readonly #windows: readonly LRUCache<Owner, BudgetWindow>[]
  readonly #rows: BudgetRows<BudgetWindow>

  constructor(budgets: readonly Budget[], store: BudgetStore) {
    this.#budgets = budgets
    this.#store = store
    const size = { maxSize: MAX_WINDOWS, sizeCalculation: () => 1 }
    this.#windows = budgets.map(() => new LRUCache(size))
    this.#rows = new BudgetRows(store, key => this.#forget(key))
  }
  /** Reads changes of rows, so that calls need not. */
  follow(): Promise<void> {
    return this.#rows.follower.follow()
  }
  /** The windows of a call that begins at `at`, ms since 1970; undefined: it has none. A promise
   *  only if the store is asked. */
  windowsOf(account: Account, at: number, tags?: Tags): WindowsOfCall | Promise<WindowsOfCall> {
    const caller = { account, tags }
    const refreshed = this.#rows.follower.refresh()
    return refreshed ? refreshed.then(() => this.#find(caller, at)) : this.#find(caller, at)
  }
  #find(caller: Caller, at: number, attempt = 0): WindowsOfCall | Promise<WindowsOfCall> {
    if (this.#budgets.length === 0 && this.#rows.isEmpty) return undefined
    const windows: BudgetWindow[] = []
    let mustOpen = false
    for (const [index, budget] of this.#budgets.entries()) {
      const owner = this.#ownerOf(budget, caller)
      if (owner === undefined) continue
      const window = this.#windows[index]?.get(owner)
      if (window && isIn(window, at)) windows.push(window)
      else mustOpen = true
    }
    for (const { window } of this.#singles(caller)) {
      if (window && isIn(window, at)) windows.push(window)
      else mustOpen = true
    }
    return mustOpen ? this.#open(caller, at, attempt) : windows
  }
  /** The window may have got the amount of a row: a budget of `budgets:` opens it again. */
  #forget({ kind, owner, name }: BudgetRowKey): void {
    const index = this.#budgets.findIndex(budget => budget.of === kind && budget.name === name)
    this.#windows[index]?.delete(owner)
  }
  /** Undefined: the budget does not apply to the call. */
  #ownerOf({ of, name }: Budget, { account, tags }: Caller): Owner | undefined {
    const owner = ownerOf(of, account, tags)
    if (typeof of === 'object' || typeof owner !== 'number' || this.#rows.isEmpty) return owner
    return this.#rows.of(of, owner).some(({ budget }) => budget.name === name) ? undefined : owner
  }
  #singles({ account }: Caller): readonly SingleBudget<BudgetWindow>[] {
    if (this.#rows.isEmpty) return []
    return KINDS.flatMap(kind => {
      const owner = numberOf(kind, account)
      return owner === undefined ? [] : this.#rows.of(kind, owner)
    })
  }
  async #open(caller: Caller, at: number, attempt: number): Promise<WindowsOfCall> {
    try {
      return await this.#openAll(caller, at)
    } catch (error) {
      if (!isCode(error, 'BUDGET_OUTDATED') || attempt === ATTEMPTS) throw error
      await this.#rows.follower.check()
      return this.#find(caller, at, attempt + 1)
    }
  }
  #openAll(caller: Caller, at: number): Promise<Windows> {
    const { change } = this.#rows
    const opening = this.#budgets.flatMap((budget, index) => {
      const owner = this.#ownerOf(budget, caller)
      if (owner === undefined) return []
      const windows = this.#windows[index]
      const opened = this.#openOne({ budget, owner, change }, at, windows?.get(owner))
      opened.then(
        window => change === this.#rows.change && windows?.set(owner, window),
        () => {},
      )
      return [opened]
    })
    const singles = this.#singles(caller).map(async single => {
      const { budget, owner, window } = single
      single.window = await this.#openOne({ budget, owner, change }, at, window)
      return single.window
    })
    return Promise.all([...opening, ...singles])
  }
  async #openOne(
    { budget, owner, change }: Opening,
    at: number,
    known: BudgetWindow | undefined,
  ): Promise<BudgetWindow> {
    const window = windowOf(at, budget.per, budget.zone)
    if (known?.start === window.start) return known
    const { name, unit } = budget
    const period = periodOf(budget)
    const row = {
      ...windowOwner(budget.of, owner),
      budget: name,
      period,
      start: window.start,
    }
    const { database, ledger } = this.#store
    const wallet = await openWindowAs(
      database,
      [name, row.kind, row.owner, period, window.start],
      async wallet => {
        // A lease under an earlier configuration may be more than the amount is now.
        await ledger.returnUnused(wallet)
        return openWindow({ ...row, wallet }, budget, change)
      },
      unit,
    )
    if (this.#store.isTrial) await this.#findTrialFunds(wallet, budget.amount)
    return { ...window, wallet, budget, owner }
  }
  async #findTrialFunds(wallet: number, amount: bigint): Promise<void> {
    const { database, ledger } = this.#store
    const [row] = await database.read(WINDOW_USE, [wallet])
    const total = amount - nanosOf(row?.used)
    if (row && nanosOf(row.balance) === total) return // the window is as it would be opened
    ledger.setTrialFunds(wallet, { available: total - nanosOf(row?.reserved), total })
  }
}
const isIn = ({ start, end = Infinity }: BudgetWindow, at: number): boolean =>
  at >= start && at < end

/** The budgets of this configuration, and the job of this process that follows their rows. */
export const sharedBudgets = (host: Host, ledger: Ledger): Budgets => {
  const { database, log } = host
  const budgets = host.share('budgets', host.config.hash, () => {
    const currency = configuredCurrency(host)
    const { isTrial } = host.config
    return new Budgets(budgetsIn(host), { database, log, ledger, currency, isTrial })
  })
  host.job('budgets', FOLLOW_INTERVAL, () => budgets.follow(), { each: true }).wake()
  return budgets
}
