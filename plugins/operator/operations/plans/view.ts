/** Plans of accounts as operators see them. */
import type { HostBase, Row } from '../../../../engine/plugin.ts'
import { printMoney } from '../../../billing/money.ts'
import { withAccountNames } from '../../../credentials/statements.ts'
import { printInstant, windowOf } from '../../../ledger/budgets/window.ts'
import { findPlan, LIST_PLANS } from '../../../ledger/plans/rows.ts'
import { type Plan, plansIn } from '../../../ledger/plans/section.ts'
import { nanosOf } from '../../../ledger/statements.ts'
import type { PlanView } from '../../../views.ts'
import { fault } from '../../faults.ts'
import type { Context } from '../../operation.ts'
import { isoTime } from '../../rows.ts'

/** The amounts are those of the window of `now`, whether a call has opened it or not. */
export const viewOf = (
  plans: ReadonlyMap<string, Plan>,
  stored: Row,
  account: string,
  now: number,
): PlanView => {
  const name = String(stored.plan)
  const plan = plans.get(name)
  const until = stored.until === null ? undefined : Number(stored.until)
  const hasEnded = until !== undefined && until <= now
  const window = plan && windowOf(now, plan.per, plan.zone)
  const isOpened = stored.start === window?.start && stored.period === plan?.per
  const amount = isOpened ? nanosOf(stored.amount) : (plan?.amount ?? 0n)
  const isActive = plan !== undefined && !hasEnded
  const money = (nanos: bigint) => printMoney(isActive ? nanos : 0n)
  const resets = isActive && window?.end !== undefined ? printInstant(window.end, plan.zone) : null
  return {
    account,
    plan: name,
    state: isActive ? 'active' : hasEnded ? 'expired' : 'unknown',
    since: isoTime(stored.since),
    expires: until === undefined ? null : isoTime(until),
    amount: money(amount),
    used: money(isOpened ? nanosOf(stored.used) : 0n),
    remaining: money(isOpened ? nanosOf(stored.balance) : amount),
    resets,
  }
}
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

const printed = ({ expires, resets, ...cells }: PlanView) => ({
  ...cells,
  expires: expires ?? 'never',
  resets: resets ?? 'never',
})
export const print = (plan: PlanView) => ({ rows: [printed(plan)], json: plan })
export const printAll = (plans: readonly PlanView[]) => ({ rows: plans.map(printed), json: plans })
/** As `LIST_PLANS`. */
export const LIST = { name: 'plans: list', text: withAccountNames(LIST_PLANS, 'account') }
