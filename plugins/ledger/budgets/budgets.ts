/** The budgets of a configuration: finds the windows that a call must fit into. */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Database, Host } from '../../../engine/plugin.ts'
import type { Account } from '../../slots.ts'
import { isCode } from '../faults.ts'
import type { Ledger } from '../ledger.ts'
import { ADMISSION_TIMEOUT, writeWithRetry } from '../write-with-retry.ts'
import { type Budget, type BudgetWindow, budgetsIn, type OwnerKind } from './section.ts'
import { openWindow } from './tables.ts'
import { windowOf } from './window.ts'

type Windows = readonly BudgetWindow[]

const MAX_WINDOWS = 100_000
/** Numbers to try for a window: two share one with a chance below 1 in 10^9. */
const ATTEMPTS = 4

const OWNERS: Readonly<Record<OwnerKind, (account: Account) => number | undefined>> = {
  account: ({ id }) => id,
  key: ({ key }) => key?.id,
  member: ({ member }) => member?.id,
}

export class Budgets {
  readonly #budgets: readonly Budget[]
  readonly #database: Pick<Database, 'write'>
  readonly #ledger: Pick<Ledger, 'returnUnused'>
  /** Of each budget, the last window of each owner, with this configuration's amount. */
  readonly #windows: readonly LRUCache<number, BudgetWindow>[]

  constructor(
    budgets: readonly Budget[],
    database: Pick<Database, 'write'>,
    ledger: Pick<Ledger, 'returnUnused'>,
  ) {
    this.#budgets = budgets
    this.#database = database
    this.#ledger = ledger
    const size = { maxSize: MAX_WINDOWS, sizeCalculation: () => 1 }
    this.#windows = budgets.map(() => new LRUCache(size))
  }
  get isEmpty(): boolean {
    return this.#budgets.length === 0
  }
  /** The windows of a call that begins at `at`, ms since 1970. A promise only if the store has to
   *  open one. */
  windowsOf(account: Account, at: number): Windows | Promise<Windows> {
    const windows: BudgetWindow[] = []
    for (let index = 0; index < this.#budgets.length; index++) {
      const budget = this.#budgets[index]
      const owner = budget && OWNERS[budget.of](account)
      if (owner === undefined) continue
      const window = this.#windows[index]?.get(owner)
      if (!window || at < window.start || at >= (window.end ?? Infinity))
        return this.#open(account, at)
      windows.push(window)
    }
    return windows
  }
  #open(account: Account, at: number): Promise<Windows> {
    const opening = this.#budgets.flatMap((budget, index) => {
      const owner = OWNERS[budget.of](account)
      return owner === undefined ? [] : [this.#openOne(budget, index, owner, at)]
    })
    return Promise.all(opening)
  }
  async #openOne(budget: Budget, index: number, owner: number, at: number): Promise<BudgetWindow> {
    const known = this.#windows[index]?.get(owner)
    const window = windowOf(at, budget.per, budget.zone)
    if (known?.start === window.start) return known
    const { name, of, per } = budget
    const row = { budget: name, kind: of, owner, period: per, start: window.start }
    for (let attempt = 0; ; attempt++) {
      const wallet = walletNumber([name, of, owner, per, window.start, attempt].join(' '))
      try {
        // A lease under an earlier configuration may be more than the amount is now.
        await this.#ledger.returnUnused(wallet)
        const list = openWindow({ ...row, wallet }, budget)
        await writeWithRetry(this.#database, list, ADMISSION_TIMEOUT)
        const opened: BudgetWindow = { ...window, wallet, budget }
        this.#windows[index]?.set(owner, opened)
        return opened
      } catch (error) {
        if (!isCode(error, 'WALLET_TAKEN') || attempt === ATTEMPTS) throw error
      }
    }
  }
}
/** Undefined: the configuration has none. */
export const sharedBudgets = (host: Host, ledger: Ledger): Budgets | undefined => {
  const create = () => new Budgets(budgetsIn(host), host.database, ledger)
  const budgets = host.share('budgets', host.config.hash, create)
  return budgets.isEmpty ? undefined : budgets
}
/** An odd number below zero, by 50 bits of a digest: no process has to ask for the next one. */
const walletNumber = (text: string): number => {
  const bytes = createHash('sha256').update(text).digest()
  return -(2 * Number(bytes.readBigUInt64BE() >> 14n) + 1)
}
