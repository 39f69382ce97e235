/** The name of a window of an account's plan, and its row in `plan_windows`. */
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
