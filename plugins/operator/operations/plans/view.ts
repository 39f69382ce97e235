/** Plans of accounts as operators and customers see them. */
import type { HostBase, Row } from '../../../../engine/plugin.ts'
import { printMoney } from '../../../billing/money.ts'
import { withAccountNames } from '../../../credentials/statements.ts'
import { printIn } from '../../../ledger/budgets/tokens.ts'
import { printInstant } from '../../../ledger/budgets/window.ts'
import { findPlan, LIST_PLANS } from '../../../ledger/plans/rows.ts'
import { type Plan, plansIn } from '../../../ledger/plans/section.ts'
import { planUseOf } from '../../../ledger/plans/window-now.ts'
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
  const { unit, amount, used, remaining, end } = planUseOf(plan, stored, now)
  const price = renewalPriceOf(plan, stored)
  const printed = (limit: bigint) => printIn(unit, state === 'active' ? limit : 0n)
  return {
    account,
    plan: name,
    state,
    since: isoTime(stored.since),
    expires: until === undefined ? null : isoTime(until),
    amount: printed(amount),
    used: printed(used),
    remaining: printed(remaining),
    unit,
    resets: state === 'active' && end !== undefined && plan ? printInstant(end, plan.zone) : null,
    renews: price === undefined ? null : printMoney(price),
  }
}
/** The plans that customers can buy. */
export const offersIn = (plans: ReadonlyMap<string, Plan>): readonly PlanOffer[] =>
  [...plans.values()].flatMap(({ name, price, amount, unit, per, zone, models, after, renews }) =>
    price === undefined
      ? []
      : [
          {
            plan: name,
            price: printMoney(price),
            amount: printIn(unit, amount),
            unit,
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

const cellsOf = ({ expires, resets, renews, unit, ...cells }: PlanView, currency: string) => {
  const name = unit === 'tokens' ? unit : currency
  return {
    ...cells,
    amount: `${cells.amount} ${name}`,
    used: `${cells.used} ${name}`,
    remaining: `${cells.remaining} ${name}`,
    expires: expires ?? 'never',
    resets: resets ?? 'never',
    renews: renews === null ? 'no' : `for ${renews} ${currency}`,
  }
}
export const print = (plan: PlanView, currency: string) => ({
  rows: [cellsOf(plan, currency)],
  json: plan,
})
export const printAll = (plans: readonly PlanView[], currency: string) => ({
  rows: plans.map(plan => cellsOf(plan, currency)),
  json: plans,
})
/** As `LIST_PLANS`. */
export const LIST = { name: 'plans: list', text: withAccountNames(LIST_PLANS, 'account') }
