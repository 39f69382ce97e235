/** The name of a window of an account's plan, and its row in `plan_windows`. */
import type { Row } from '../../../engine/plugin.ts'
import { walletOfWindow } from '../budgets/open-window.ts'
import { periodOf } from '../budgets/section.ts'
import { windowOf } from '../budgets/window.ts'
import type { Plan } from './section.ts'
import type { PlanWindowRow } from './tables.ts'

/** `start`: ms since 1970. */
export const nameOf = (plan: Plan, account: number, start: number) =>
  ['plan', plan.name, account, periodOf(plan), start] as const
/** The wallet of the window, unless another window has its number. */
export const walletFor = (plan: Plan, account: number, start: number): number =>
  walletOfWindow(nameOf(plan, account, start), 0, plan.unit)
export const rowOf = (
  plan: Plan,
  account: number,
  start: number,
): Omit<PlanWindowRow, 'wallet'> => ({ account, plan: plan.name, period: periodOf(plan), start })
/** Whether a window of the plan is one of its calendar and unit, which a reload may have changed.
 *  The rest of a window moves only within one calendar and unit. */
export const followsCalendar = (plan: Plan, window: Row | undefined): boolean => {
  if (!window) return true
  const { per, zone } = plan
  const start = Number(window.start)
  return window.period === periodOf(plan) && windowOf(start, per, zone).start === start
}
