/** The plans of a configuration: finds the window of the plan that pays a call. */
import { LRUCache } from 'lru-cache'
import type { Database, Host, Statement } from '../../../engine/plugin.ts'
import { windowOf } from '../budgets/window.ts'
import { isCode } from '../faults.ts'
import { windowWallet } from '../wallet.ts'
import { ADMISSION_TIMEOUT, writeWithRetry } from '../write-with-retry.ts'
import { assignPlan, FOLLOW_INTERVAL, PlanRows } from './rows.ts'
import { type Plan, type PlanWindow, plansIn } from './section.ts'
import { openPlanWindow, type PlanWindowRow } from './tables.ts'

type WindowOfCall = PlanWindow | undefined

const MAX_WINDOWS = 100_000
/** Numbers to try for a window: two share one with a chance below 1 in 10^9. */
const ATTEMPTS = 4

export class Plans {
  readonly #plans: ReadonlyMap<string, Plan>
  readonly #database: Pick<Database, 'read' | 'write'>
  readonly #rows: PlanRows
  /** The last window of each account. */
  readonly #windows = new LRUCache<number, PlanWindow>({
    maxSize: MAX_WINDOWS,
    sizeCalculation: () => 1,
  })

  constructor(plans: ReadonlyMap<string, Plan>, database: Pick<Database, 'read' | 'write'>) {
    this.#plans = plans
    this.#database = database
    this.#rows = new PlanRows(database)
  }
  /** Reads changes of rows, so that calls need not. While the store is away, the next run does. */
  async follow(): Promise<void> {
    await this.#rows.check().catch(() => {})
  }
  /** The window that pays a call of a model, by its key in `models:`, that begins at `at`, ms since
   *  1970; undefined: only the wallet pays. A promise only if the store is asked. */
  windowOf(account: number, model: string, at: number): WindowOfCall | Promise<WindowOfCall> {
    if (this.#plans.size === 0) return undefined
    const refreshed = this.#rows.refresh()
    return refreshed
      ? refreshed.then(() => this.#find(account, model, at))
      : this.#find(account, model, at)
  }
  #find(account: number, model: string, at: number): WindowOfCall | Promise<WindowOfCall> {
    const row = this.#rows.of(account)
    const plan = row && this.#plans.get(row.plan)
    if (!plan || at >= (row.until ?? Infinity)) return undefined
    if (plan.models && !plan.models.has(model)) return undefined
    const known = this.#windows.get(account)
    if (known?.plan === plan && at >= known.start && at < (known.end ?? Infinity)) return known
    return this.#open(account, plan, at)
  }
  async #open(account: number, plan: Plan, at: number): Promise<PlanWindow> {
    for (let attempt = 0; ; attempt++) {
      const row = windowRowOf(plan, account, at, attempt)
      try {
        const list = openPlanWindow(row, plan.amount)
        await writeWithRetry(this.#database, list, ADMISSION_TIMEOUT)
        const opened = { ...windowOf(at, plan.per, plan.zone), wallet: row.wallet, plan }
        this.#windows.set(account, opened)
        return opened
      } catch (error) {
        if (!isCode(error, 'WALLET_TAKEN') || attempt === ATTEMPTS) throw error
      }
    }
  }
}

/** The window of a plan at an instant. `attempt`: after this many windows had its number. */
const windowRowOf = (
  { name, per, zone }: Plan,
  account: number,
  at: number,
  attempt = 0,
): PlanWindowRow => {
  const { start } = windowOf(at, per, zone)
  const wallet = windowWallet(['plan', name, account, per, start, attempt].join(' '))
  return { wallet, account, plan: name, period: per, start }
}

/** Gives an account a plan from `since`, ms since 1970, with its first window. */
export const beginPlan = (
  plan: Plan,
  account: number,
  since: number,
  until: number | undefined,
): readonly Statement[] => [
  ...assignPlan({ account, plan: plan.name, since, until }),
  ...openPlanWindow(windowRowOf(plan, account, since), plan.amount),
]

/** The plans of this configuration, and the job of this process that follows their rows. */
export const sharedPlans = (host: Host): Plans | undefined => {
  const plans = plansIn(host)
  if (plans.size === 0) return undefined
  const shared = host.share('plans', host.config.hash, () => new Plans(plans, host.database))
  host.job('plans', FOLLOW_INTERVAL, () => shared.follow(), { each: true }).wake()
  return shared
}
