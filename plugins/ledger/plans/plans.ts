/** The plans of a configuration: finds the window of the plan that pays a call. */
import { LRUCache } from 'lru-cache'
import type { Database, Host, Statement } from '../../../engine/plugin.ts'
import { openWindowAs, walletOfWindow } from '../budgets/open-window.ts'
import { FOLLOW_INTERVAL } from '../budgets/row-follower.ts'
import { type Window, windowOf } from '../budgets/window.ts'
import { assignPlan, PlanRows } from './rows.ts'
import { type Plan, type PlanWindow, plansIn } from './section.ts'
import { openPlanWindow, type PlanWindowRow } from './tables.ts'

type WindowOfCall = PlanWindow | undefined

const MAX_WINDOWS = 100_000

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
  /** Reads changes of rows, so that calls need not. */
  follow(): Promise<void> {
    return this.#rows.follower.follow()
  }
  /** The window that pays a call; undefined: only the wallet pays. `model`: a key of `models:`;
   *  `at`: the beginning of the call, ms since 1970. A promise only if the store is asked. */
  windowOf(account: number, model: string, at: number): WindowOfCall | Promise<WindowOfCall> {
    if (this.#plans.size === 0) return undefined
    const refreshed = this.#rows.follower.refresh()
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
    const window = windowOf(at, plan.per, plan.zone)
    const wallet = await openWindowAs(this.#database, nameOf(plan, account, window), wallet =>
      openPlanWindow(rowOf(plan, account, window, wallet), plan.amount),
    )
    const opened = { ...window, wallet, plan }
    this.#windows.set(account, opened)
    return opened
  }
}

const nameOf = ({ name, per }: Plan, account: number, { start }: Window) =>
  ['plan', name, account, per, start] as const
const rowOf = (
  { name, per }: Plan,
  account: number,
  { start }: Window,
  wallet: number,
): PlanWindowRow => ({ wallet, account, plan: name, period: per, start })

/** Gives an account a plan from `since`, ms since 1970, with its first window. */
export const beginPlan = (
  plan: Plan,
  account: number,
  since: number,
  until: number | undefined,
): readonly Statement[] => {
  const window = windowOf(since, plan.per, plan.zone)
  const row = rowOf(plan, account, window, walletOfWindow(nameOf(plan, account, window)))
  return [
    ...assignPlan({ account, plan: plan.name, since, until }),
    ...openPlanWindow(row, plan.amount),
  ]
}

/** The plans of this configuration, and the job of this process that follows their rows. */
export const sharedPlans = (host: Host): Plans | undefined => {
  const plans = plansIn(host)
  if (plans.size === 0) return undefined
  const shared = host.share('plans', host.config.hash, () => new Plans(plans, host.database))
  host.job('plans', FOLLOW_INTERVAL, () => shared.follow(), { each: true }).wake()
  return shared
}
