/** Plans of accounts as operators and customers see them. */
import type { HostBase, Row } from '../../../../engine/plugin.ts'
import { printMoney } from '../../../billing/money.ts'
import { withAccountNames } from '../../../credentials/statements.ts'
import { printInstant, windowOf } from '../../../ledger/budgets/window.ts'
import { followsCalendar } from '../../../ledger/plans/names.ts'
import { findPlan, LIST_PLANS } from '../../../ledger/plans/rows.ts'
import { type Plan, plansIn } from '../../../ledger/plans/section.ts'
import { nanosOf } from '../../../ledger/statements.ts'
import type { PlanOffer, PlanView } from '../../../views.ts'
import { fault } from '../../faults.ts'
import type { Context } from '../../operation.ts'
import { isoTime } from '../../rows.ts'

const untilOf = ({ until }: Row): number | undefined => (until === null ? undefined : Number(until))
/** Whether calls have the plan. */
export const isActive = (stored: Row, now: number): boolean => now < (untilOf(stored) ?? Infinity)
/** Whether calls have the plan, or a renewal of it is due. */
export const isOwned = (stored: Row, now: number): boolean =>
  isActive(stored, now) || Number(stored.renews) === 1
/** A plan of an account as the log of actions has it. */
export interface PlanFacts extends Record<string, string | boolean | null> {
  readonly plan: string
  readonly expires: string | null
  /** Whether the account bought it. */
  readonly paid: boolean
}
export const factsOf = (stored: Row): PlanFacts => {
  const until = untilOf(stored)
  return {
    plan: String(stored.plan),
    expires: until === undefined ? null : isoTime(until),
    paid: stored.paid !== null,
  }
}
/** Nanos of the next window; undefined: the plan does not renew itself. */
const renewalPriceOf = (plan: Plan | undefined, { renews }: Row): bigint | undefined =>
  Number(renews) === 1 && plan?.renews ? plan.price : undefined
const stateOf = (plan: Plan | undefined, stored: Row, now: number): PlanView['state'] => {
  if (Number(stored.unpaid) === 1) return 'unpaid'
  // The next call, or a job, renews it.
  const willRenew = renewalPriceOf(plan, stored) !== undefined
  if (!isActive(stored, now) && !willRenew) return 'expired'
  return plan ? 'active' : 'unknown'
}
/** The window of `now`: the one that it bought, or that of the calendar. */
const windowNow = (plan: Plan, stored: Row, now: number) =>
  stored.paid === null
    ? windowOf(now, plan.per, plan.zone)
    : { start: Number(stored.start), end: untilOf(stored) }

/** The amount of the window of `now` before a call opens it: with the rest that will move there. */
const amountBefore = (plan: Plan, stored: Row, now: number): bigint => {
  const { amount, rollover, per, zone } = plan
  const { start } = windowOf(now, per, zone)
  if (rollover === undefined || Number(stored.since) >= start) return amount
  if (stored.start !== null && !followsCalendar(plan, stored)) return amount
  const isBefore = stored.start === windowOf(start - 1, per, zone).start
  const rest = isBefore ? nanosOf(stored.balance) : amount
  return amount + (rest < rollover ? rest : rollover)
}

/** The amounts are those of the window of `now`, whether a call has opened it or not. */
export const viewOf = (
  plans: ReadonlyMap<string, Plan>,
  stored: Row,
  account: string,
  now: number,
): PlanView => {
  const name = String(stored.plan)
  const plan = plans.get(name)
  const until = untilOf(stored)
  const state = stateOf(plan, stored, now)
  const window = plan && windowNow(plan, stored, now)
  const isOpened =
    stored.start === window?.start && (stored.paid !== null || stored.period === plan?.per)
  const amount = isOpened ? nanosOf(stored.amount) : plan ? amountBefore(plan, stored, now) : 0n
  const price = renewalPriceOf(plan, stored)
  const money = (nanos: bigint) => printMoney(state === 'active' ? nanos : 0n)
  return {
    account,
    plan: name,
    state,
    since: isoTime(stored.since),
    expires: until === undefined ? null : isoTime(until),
    amount: money(amount),
    used: money(isOpened ? nanosOf(stored.used) : 0n),
    remaining: money(isOpened ? nanosOf(stored.balance) : amount),
    resets:
      state === 'active' && window?.end !== undefined && plan
        ? printInstant(window.end, plan.zone)
        : null,
    renews: price === undefined ? null : printMoney(price),
  }
}
/** The plans that customers can buy. */
export const offersIn = (plans: ReadonlyMap<string, Plan>): readonly PlanOffer[] =>
  [...plans.values()].flatMap(({ name, price, amount, per, zone, models, after, renews }) =>
    price === undefined
      ? []
      : [
          {
            plan: name,
            price: printMoney(price),
            amount: printMoney(amount),
            per,
            zone,
            models: models ? [...models] : null,
            after,
            renew: renews ? ('auto' as const) : ('never' as const),
          },
        ],
  )
export const find = async ({ host, store, now }: Context, id: number, account: string) => {
  const stored = await findPlan(store, id)
  if (!stored) throw fault('PLAN_MISSING', [account])
  return viewOf(plansIn(host), stored, account, now)
}
export const planNamed = (host: HostBase, name: string): Plan => {
  const plans = plansIn(host)
  const plan = plans.get(name)
  if (!plan) throw fault('PLAN_UNKNOWN', [name, [...plans.keys()].join(', ') || 'none'])
  return plan
}

const cellsOf = ({ expires, resets, renews, ...cells }: PlanView) => ({
  ...cells,
  expires: expires ?? 'never',
  resets: resets ?? 'never',
  renews: renews === null ? 'no' : `for ${renews}`,
})
export const print = (plan: PlanView) => ({ rows: [cellsOf(plan)], json: plan })
export const printAll = (plans: readonly PlanView[]) => ({ rows: plans.map(cellsOf), json: plans })
/** As `LIST_PLANS`. */
export const LIST = { name: 'plans: list', text: withAccountNames(LIST_PLANS, 'account') }
