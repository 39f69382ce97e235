/** The refusal of a call that its plan does not cover, and that nothing else may pay. */
import { errors } from '../../../engine/errors.ts'
import type { Fault } from '../../../engine/plugin.ts'
import { printMoney } from '../../billing/money.ts'
import { describeShortage } from '../budgets/refusal.ts'
import { countsTokens } from '../wallet.ts'
import type { Plan, PlanWindow } from './section.ts'

const fault = errors({
  PLAN_EXHAUSTED: [
    429,
    'The plan "%s" of this account does not cover this call, which may %s up to %s: %s of %s is used%s.%s',
  ],
  PLAN_UNPAID: [
    403,
    'The plan "%s" of this account has ended: the balance did not cover its price of %s. Add credit and buy a plan, or cancel this one.',
  ],
  PLAN_RENEWAL: [
    429,
    'The plan "%s" must be renewed for %s, and calls in progress hold that money. Try again in a second.',
  ],
})

/** Other calls hold the money for the next window. */
export const renewalWaits = (plan: Plan): Fault =>
  fault('PLAN_RENEWAL', [plan.name, priceOf(plan)], { headers: { 'retry-after': '1' } })
/** The plan has ended, and nothing else may pay. */
export const planUnpaid = (plan: Plan): Fault =>
  fault('PLAN_UNPAID', [plan.name, priceOf(plan)], { headers: { 'x-should-retry': 'false' } })
const priceOf = ({ price = 0n, currency }: Plan): string => `${printMoney(price)} ${currency}`
export const planExhausted = (
  { plan, wallet, amount = plan.amount, end }: PlanWindow,
  refused: Parameters<typeof describeShortage>[1],
): Fault => {
  const unit = countsTokens(wallet) ? 'tokens' : 'money'
  const { state, headers } = describeShortage({ ...plan, amount, unit, end }, refused)
  const verb = unit === 'tokens' ? 'use' : 'cost'
  return fault('PLAN_EXHAUSTED', [plan.name, verb, ...state], {
    headers: { 'x-tollgate-plan': headers.window, ...headers.others },
  })
}
