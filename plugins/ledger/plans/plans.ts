/** The plans of a configuration: finds the window of the plan that pays a call. */
import { LRUCache } from 'lru-cache'
import type { Fault, Host, Statement } from '../../../engine/plugin.ts'
import { openWindowAs } from '../budgets/open-window.ts'
import { FOLLOW_INTERVAL } from '../budgets/row-follower.ts'
import { WINDOW_USE } from '../budgets/tables.ts'
import { windowOf } from '../budgets/window.ts'
import type { Ledger } from '../ledger.ts'
import { countsTokens } from '../wallet.ts'
import { followsCalendar, nameOf, rowOf, walletFor } from './names.ts'
import { type PlanPurchase, type PlanStore, renewDuePlans, renewPlan } from './purchase.ts'
import { planUnpaid, renewalWaits } from './refusal.ts'
import { type AssignedPlan, assignPlan, type KnownPlan, type PaidWindow, PlanRows } from './rows.ts'
import { type Plan, type PlanWindow, plansIn } from './section.ts'
import { carryRest, hasSource, lastWindow, openPlanWindow, type PlanWindowRow } from './tables.ts'

type WindowOfCall = PlanWindow | undefined

const MAX_WINDOWS = 100_000
/** How often a row is read again after its plan was renewed, here or elsewhere. */
const ATTEMPTS = 3
/** ms between two searches for bought plans whose window has ended. Calls renew theirs at once. */
const RENEWAL_INTERVAL = 1_000

export class Plans {
  readonly #plans: ReadonlyMap<string, Plan>
  readonly #store: PlanStore
  readonly #rows: PlanRows
  readonly #isTrial: boolean
  /** The last window of each account. */
  readonly #windows = new LRUCache<number, PlanWindow>({
    maxSize: MAX_WINDOWS,
    sizeCalculation: () => 1,
  })

  /** Renewals in progress, by account. */
  readonly #renewals = new Map<number, Promise<boolean>>()

  /** `isTrial`: writes are discarded, and only one request follows. */
  constructor(
    plans: ReadonlyMap<string, Plan>,
    database: PlanStore['database'],
    ledger?: PlanStore['ledger'],
    isTrial = false,
  ) {
    this.#plans = plans
    this.#isTrial = isTrial
    this.#store = { database, ...(ledger && { ledger }) }
    this.#rows = new PlanRows(database)
  }
  /** Reads changes of rows, so that calls need not. */
  follow(): Promise<void> {
    return this.#rows.follower.follow()
  }
  /** Renews the bought plans whose window has ended, also of accounts without calls. */
  async renewDue(signal?: AbortSignal): Promise<void> {
    const now = await this.#store.database.now()
    return renewDuePlans(this.#store, this.#plans, now, signal)
  }
  /** The window that pays a call; undefined: only the wallet pays. `model`: a key of `models:`;
   *  `at`: the beginning of the call, ms since 1970. A promise only if the store is asked. Throws
   *  PLAN_UNPAID. */
  windowOf(account: number, model: string, at: number): WindowOfCall | Promise<WindowOfCall> {
    if (this.#plans.size === 0) return undefined
    const refreshed = this.#rows.follower.refresh()
    return refreshed
      ? refreshed.then(() => this.#find(account, model, at))
      : this.#find(account, model, at)
  }
  #find(
    account: number,
    model: string,
    at: number,
    attempt = 0,
  ): WindowOfCall | Promise<WindowOfCall> {
    const row = this.#rows.of(account, at)
    const plan = row && this.#plans.get(row.plan)
    if (!plan || (plan.models && !plan.models.has(model))) return undefined
    if (at < (row.until ?? Infinity))
      return row.paid
        ? this.#paid(account, plan, row, row.paid)
        : this.#assigned(account, plan, row, at)
    if (row.isUnpaid) return balanceOrRefuse(plan, planUnpaid)
    const { price } = plan
    if (!row.renews || !plan.renews || price === undefined) return undefined
    if (attempt === ATTEMPTS) return balanceOrRefuse(plan, renewalWaits)
    const source = row.paid && { source: row.paid.wallet }
    return this.#renew({ account, plan, price, at, ...source }, row.until ?? 0).then(isDone =>
      isDone ? this.#find(account, model, at, attempt + 1) : balanceOrRefuse(plan, renewalWaits),
    )
  }
  #assigned(
    account: number,
    plan: Plan,
    { since }: KnownPlan,
    at: number,
  ): PlanWindow | Promise<PlanWindow> {
    const known = this.#windows.get(account)
    if (known?.plan === plan && at >= known.start && at < (known.end ?? Infinity)) return known
    return this.#open(account, plan, since, at)
  }
  /** Its payment has opened it. */
  #paid(
    account: number,
    plan: Plan,
    { until: end, before }: KnownPlan,
    { wallet, start, amount }: PaidWindow,
  ): PlanWindow {
    const known = this.#windows.get(account)
    const isKnown = known?.plan === plan && known.wallet === wallet && known.amount === amount
    if (isKnown && known.end === end) return known
    const window = { start, end, wallet, plan, amount }
    this.#windows.set(account, window)
    // A renewal has moved the rest; what this process leased of it follows.
    const movesRest = countsTokens(wallet) === (plan.unit === 'tokens')
    if (before?.paid && movesRest && plan.rollover !== undefined)
      void this.#carry(before.paid.wallet, wallet, plan.rollover).catch(() => {})
    return window
  }
  async #carry(source: number, wallet: number, most: bigint): Promise<void> {
    const { database, ledger } = this.#store
    if (!(await hasSource(database, wallet, source))) return
    await ledger?.returnUnused(source)
    await database.write(carryRest(source, wallet, most))
  }
  async #open(account: number, plan: Plan, since: number, at: number): Promise<PlanWindow> {
    const window = windowOf(at, plan.per, plan.zone)
    const row = rowOf(plan, account, window.start)
    const name = nameOf(plan, account, window.start)
    const before = since < window.start ? rowBefore(plan, account, window.start) : undefined
    const isSameCalendar =
      before && followsCalendar(plan, await lastWindow(this.#store.database, row))
    if (isSameCalendar) await this.#store.ledger?.returnUnused(before.wallet)
    const listOf = (wallet: number): readonly Statement[] => [
      ...openPlanWindow({ ...row, wallet }, plan.amount),
      ...(isSameCalendar && plan.rollover !== undefined
        ? [
            // Nothing was used of a window without a call.
            ...openPlanWindow(before, plan.amount),
            ...carryRest(before.wallet, wallet, plan.rollover),
          ]
        : []),
    ]
    const wallet = await openWindowAs(this.#store.database, name, listOf, plan.unit)
    if (this.#isTrial) await this.#findTrialFunds(wallet, plan.amount)
    const opened = { ...window, wallet, plan }
    this.#windows.set(account, opened)
    return opened
  }
  async #findTrialFunds(wallet: number, amount: bigint): Promise<void> {
    const { database, ledger } = this.#store
    const isOpen = (await database.read(WINDOW_USE, [wallet])).length > 0
    if (!isOpen) ledger?.setTrialFunds?.(wallet, { available: amount, total: amount })
  }
  /** Renews a plan that has ended, once for all calls that wait, and reads its row again. */
  #renew(order: PlanPurchase, until: number): Promise<boolean> {
    const { account } = order
    const current = this.#renewals.get(account)
    if (current) return current
    const renewal = renewPlan(this.#store, order, until).then(async isDone => {
      if (isDone) await this.#rows.follower.check()
      return isDone
    })
    const forget = () => this.#renewals.delete(account)
    // Calls of the next second have the same answer.
    const forgetLater = (isDone: boolean) => {
      if (isDone) forget()
      else setTimeout(forget, RENEWAL_INTERVAL).unref()
    }
    void renewal.then(forgetLater, forget)
    this.#renewals.set(account, renewal)
    return renewal
  }
}

/** The window before one that begins at `start`. Undefined: nothing of it moves. */
const rowBefore = (plan: Plan, account: number, start: number): PlanWindowRow | undefined => {
  if (plan.rollover === undefined || plan.per === 'life') return undefined
  const before = windowOf(start - 1, plan.per, plan.zone)
  const wallet = walletFor(plan, account, before.start)
  return { ...rowOf(plan, account, before.start), wallet }
}

/** A call whose plan does not pay for it: the balance pays, unless the plan has `after: refuse`.
 *  Throws `error`. */
const balanceOrRefuse = (plan: Plan, error: (plan: Plan) => Fault): undefined => {
  if (plan.after === 'refuse') throw error(plan)
}

/** Gives an account a plan from `since`, ms since 1970, with its first window. `expected`: as of
 *  `assignPlan`. */
export const beginPlan = (
  plan: Plan,
  { account, since, until }: Omit<AssignedPlan, 'plan'>,
  expected?: number,
): readonly Statement[] => {
  const window = windowOf(since, plan.per, plan.zone)
  const wallet = walletFor(plan, account, window.start)
  const row = { ...rowOf(plan, account, window.start), wallet }
  return [
    ...assignPlan({ account, plan: plan.name, since, until }, expected),
    ...openPlanWindow(row, plan.amount),
  ]
}

/** The plans of this configuration, the job of this process that follows their rows, and the job of
 *  one process that renews those of accounts without calls. */
export const sharedPlans = (host: Host, ledger: Ledger): Plans | undefined => {
  const plans = plansIn(host)
  if (plans.size === 0) return undefined
  const shared = host.share(
    'plans',
    host.config.hash,
    () => new Plans(plans, host.database, ledger, host.config.isTrial),
  )
  host.job('plans', FOLLOW_INTERVAL, () => shared.follow(), { each: true }).wake()
  if ([...plans.values()].some(({ price }) => price !== undefined))
    host.job('plan renewals', RENEWAL_INTERVAL, signal => shared.renewDue(signal))
  return shared
}
