/** The name of a window of an account's plan, and its row in `plan_windows`. */
import type { Row } from '../../../engine/plugin.ts'
import { windowOf } from '../budgets/window.ts'
import type { Plan } from './section.ts'
import type { PlanWindowRow } from './tables.ts'

/** `start`: ms since 1970. */
export const nameOf = ({ name, per }: Plan, account: number, start: number) =>
  ['plan', name, account, per, start] as const
export const rowOf = (
  { name, per }: Plan,
  account: number,
  start: number,
): Omit<PlanWindowRow, 'wallet'> => ({ account, plan: name, period: per, start })
/** Whether a window of the plan is one of its calendar, which a reload may have changed. The rest
 *  of a window moves only within one calendar. */
export const followsCalendar = ({ per, zone }: Plan, window: Row | undefined): boolean => {
  if (!window) return true
  const start = Number(window.start)
  return window.period === per && windowOf(start, per, zone).start === start
}
