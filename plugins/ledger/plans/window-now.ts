/** The window of an account's plan at an instant: what it has, whether a call has opened it or
 *  not. */
import type { Row } from '../../../engine/plugin.ts'
import { periodOf } from '../budgets/section.ts'
import { type Window, windowOf } from '../budgets/window.ts'
import { nanosOf } from '../statements.ts'
import { countsTokens, type Unit } from '../wallet.ts'
import { followsCalendar } from './names.ts'
import type { Plan } from './section.ts'

export interface PlanUse extends Partial<Window> {
  readonly unit: Unit
  /** In its unit. */
  readonly amount: bigint
  readonly used: bigint
  readonly remaining: bigint
}

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
/** The window of `now`: the one that it bought, or that of the calendar. */
const windowNow = (plan: Plan, stored: Row, now: number): Window =>
  stored.paid === null
    ? windowOf(now, plan.per, plan.zone)
    : { start: Number(stored.start), end: stored.until === null ? undefined : Number(stored.until) }

/** `stored`: of `findPlan`; `now`: ms since 1970. */
export const planUseOf = (plan: Plan | undefined, stored: Row, now: number): PlanUse => {
  if (!plan) return { unit: 'money', amount: 0n, used: 0n, remaining: 0n }
  const window = windowNow(plan, stored, now)
  const isOfPlan = stored.paid !== null || stored.period === periodOf(plan)
  if (stored.start === window.start && isOfPlan)
    return {
      ...window,
      unit: countsTokens(Number(stored.wallet)) ? 'tokens' : 'money',
      amount: nanosOf(stored.amount),
      used: nanosOf(stored.used),
      remaining: nanosOf(stored.balance),
    }
  const amount = amountBefore(plan, stored, now)
  return { ...window, unit: plan.unit, amount, used: 0n, remaining: amount }
}
