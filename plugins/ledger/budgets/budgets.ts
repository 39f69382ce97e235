/** The budgets of a configuration: finds the windows that a call must fit into. */
import { LRUCache } from 'lru-cache'
import type { Database, Host } from '../../../engine/plugin.ts'
import { configuredCurrency } from '../../billing/currency.ts'
import type { Account } from '../../slots.ts'
import { isCode } from '../faults.ts'
import type { Ledger } from '../ledger.ts'
import { openWindowAs } from './open-window.ts'
import { FOLLOW_INTERVAL } from './row-follower.ts'
import { type BudgetRowKey, BudgetRows, type RowSource, type SingleBudget } from './rows.ts'
import { type Budget, type BudgetWindow, budgetsIn, KINDS, type OwnerKind } from './section.ts'
import { openWindow } from './tables.ts'
import { windowOf } from './window.ts'

type Windows = readonly BudgetWindow[]
type WindowsOfCall = Windows | undefined

const MAX_WINDOWS = 100_000
/** How often a change of a row is read again while windows open. */
const ATTEMPTS = 4

const OWNERS: Readonly<Record<OwnerKind, (account: Account) => number | undefined>> = {
  account: ({ id }) => id,
  key: ({ key }) => key?.id,
  member: ({ member }) => member?.id,
}

export interface BudgetStore extends RowSource {
  readonly database: Pick<Database, 'write' | 'read'>
  readonly ledger: Pick<Ledger, 'returnUnused'>
}

/** A window to open. `change`: the last change of rows that its budget follows. */
interface Opening {
  readonly budget: Budget
  readonly owner: number
  readonly change: number
}

export class Budgets {
  readonly #budgets: readonly Budget[]
  readonly #store: BudgetStore
  /** Of each budget, the last window of each owner, with this configuration's amount. */
  readonly #windows: readonly LRUCache<number, BudgetWindow>[]
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
  windowsOf(account: Account, at: number): WindowsOfCall | Promise<WindowsOfCall> {
    const refreshed = this.#rows.follower.refresh()
    return refreshed ? refreshed.then(() => this.#find(account, at)) : this.#find(account, at)
  }
  #find(account: Account, at: number, attempt = 0): WindowsOfCall | Promise<WindowsOfCall> {
    if (this.#budgets.length === 0 && this.#rows.isEmpty) return undefined
    const windows: BudgetWindow[] = []
    let mustOpen = false
    for (const [index, budget] of this.#budgets.entries()) {
      const owner = this.#ownerOf(budget, account)
      if (owner === undefined) continue
      const window = this.#windows[index]?.get(owner)
      if (window && isIn(window, at)) windows.push(window)
      else mustOpen = true
    }
    for (const { window } of this.#singles(account)) {
      if (window && isIn(window, at)) windows.push(window)
      else mustOpen = true
    }
    return mustOpen ? this.#open(account, at, attempt) : windows
  }
  /** The window may have got the amount of a row: a budget of `budgets:` opens it again. */
  #forget({ kind, owner, name }: BudgetRowKey): void {
    const index = this.#budgets.findIndex(budget => budget.of === kind && budget.name === name)
    this.#windows[index]?.delete(owner)
  }
  /** Undefined: the budget does not apply to the call. */
  #ownerOf({ of, name }: Budget, account: Account): number | undefined {
    const owner = OWNERS[of](account)
    if (owner === undefined || this.#rows.isEmpty) return owner
    return this.#rows.of(of, owner).some(({ budget }) => budget.name === name) ? undefined : owner
  }
  #singles(account: Account): readonly SingleBudget<BudgetWindow>[] {
    if (this.#rows.isEmpty) return []
    return KINDS.flatMap(kind => {
      const owner = OWNERS[kind](account)
      return owner === undefined ? [] : this.#rows.of(kind, owner)
    })
  }
  async #open(account: Account, at: number, attempt: number): Promise<WindowsOfCall> {
    try {
      return await this.#openAll(account, at)
    } catch (error) {
      if (!isCode(error, 'BUDGET_OUTDATED') || attempt === ATTEMPTS) throw error
      await this.#rows.follower.check()
      return this.#find(account, at, attempt + 1)
    }
  }
  #openAll(account: Account, at: number): Promise<Windows> {
    const { change } = this.#rows
    const opening = this.#budgets.flatMap((budget, index) => {
      const owner = this.#ownerOf(budget, account)
      if (owner === undefined) return []
      const windows = this.#windows[index]
      const opened = this.#openOne({ budget, owner, change }, at, windows?.get(owner))
      opened.then(
        window => change === this.#rows.change && windows?.set(owner, window),
        () => {},
      )
      return [opened]
    })
    const singles = this.#singles(account).map(async single => {
      const { budget, window } = single
      const owner = OWNERS[budget.of](account) ?? 0
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
    const { name, of, per } = budget
    const row = { budget: name, kind: of, owner, period: per, start: window.start }
    const { database, ledger } = this.#store
    const wallet = await openWindowAs(
      database,
      [name, of, owner, per, window.start],
      async wallet => {
        // A lease under an earlier configuration may be more than the amount is now.
        await ledger.returnUnused(wallet)
        return openWindow({ ...row, wallet }, budget, change)
      },
    )
    return { ...window, wallet, budget }
  }
}
const isIn = ({ start, end = Infinity }: BudgetWindow, at: number): boolean =>
  at >= start && at < end

/** The budgets of this configuration, and the job of this process that follows their rows. */
export const sharedBudgets = (host: Host, ledger: Ledger): Budgets => {
  const { database, log } = host
  const budgets = host.share('budgets', host.config.hash, () => {
    const currency = configuredCurrency(host)
    return new Budgets(budgetsIn(host), { database, log, ledger, currency })
  })
  host.job('budgets', FOLLOW_INTERVAL, () => budgets.follow(), { each: true }).wake()
  return budgets
}
