/** The plan that pays a quoted call, with what is left of it in the store. */
import type { HostBase } from '../../../engine/plugin.ts'
import { nameOfUnit, printIn } from '../budgets/tokens.ts'
import { printInstant } from '../budgets/window.ts'
import { findPlan } from '../plans/rows.ts'
import { type Plan, plansIn } from '../plans/section.ts'
import { type PlanUse, planUseOf } from '../plans/window-now.ts'
import type { QuotedBudget, QuotedCost } from './quote-budgets.ts'

/** `part`: the balance pays the rest; `balance`: it pays the call; `limits`: the plan covers a
 *  part, to which the output is limited. */
type Effect = 'pays' | 'part' | 'balance' | 'limits' | 'refuses'
export type QuotedPlan = Omit<QuotedBudget, 'owner' | 'effect'> & { readonly effect: Effect }

/** `entry`: the key of the model in `models:`; `at`: ms since 1970. Null: the account has no plan
 *  that pays the call. */
export const quotePlan = async (
  host: HostBase,
  { account, entry, at }: { readonly account: number; readonly entry: string; readonly at: number },
  cost: QuotedCost,
): Promise<QuotedPlan | null> => {
  const plans = plansIn(host)
  const stored = plans.size === 0 ? undefined : await findPlan(host.database, account)
  const plan = stored && plans.get(String(stored.plan))
  if (!plan || (plan.models && !plan.models.has(entry))) return null
  // A plan that has ended pays nothing until it is renewed.
  if (stored.until !== null && Number(stored.until) <= at) return null
  const use = planUseOf(plan, stored, at)
  if (use.unit === 'tokens' && cost.planTokens === 0n) return null
  const { unit, amount, used, end } = use
  return {
    name: plan.name,
    used: printIn(unit, used),
    amount: printIn(unit, amount),
    unit,
    resets: end === undefined ? null : printInstant(end, plan.zone),
    effect: effectOf(plan, use, cost),
  }
}
const effectOf = (
  { after }: Plan,
  { unit, remaining }: PlanUse,
  { nanos, planTokens, coversPart }: QuotedCost,
): Effect => {
  if (remaining >= (unit === 'tokens' ? planTokens : nanos)) return 'pays'
  if (after === 'wallet') return remaining > 0n ? 'part' : 'balance'
  return remaining > 0n && coversPart(remaining, unit) ? 'limits' : 'refuses'
}

const EFFECTS: Readonly<Record<Effect, string>> = {
  pays: 'pays the call',
  part: 'covers a part of the call, and the balance the rest',
  balance: 'has nothing left, and the balance pays the call',
  limits: 'covers a part, to which it limits the output',
  refuses: 'refuses the call',
}
/** A line such as `plan pro pays the call: 20 of 1000 tokens used until …`; none without a plan. */
export const describePlan = (plan: QuotedPlan | null, currency: string): string => {
  if (!plan) return ''
  const { name, used, amount, unit, resets, effect } = plan
  const until = resets === null ? '' : ` until ${resets}`
  return `plan ${name} ${EFFECTS[effect]}: ${used} of ${amount} ${nameOfUnit(unit, currency)} used${until}\n`
}
