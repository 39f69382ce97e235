/** The part of a hold or a charge that a plan pays: it pays first, as much as it holds. */
import type { PlanWindow } from './section.ts'

/** `amount`: nanos of the hold that the window pays. */
export interface PlanPart {
  readonly window: PlanWindow
  readonly amount: bigint
}
interface PlanPayer {
  readonly plan?: PlanPart | undefined
}
/** As `charges` has it. */
export interface HeldPlan {
  readonly wallet: number
  /** Nanos. */
  readonly amount: bigint
}
const smaller = (one: bigint, other: bigint): bigint => (other < one ? other : one)

/** Nanos of a charge that the plan pays, from what it holds. */
export const plannedOf = (charge: bigint, plan: Pick<HeldPlan, 'amount'> | undefined): bigint =>
  plan === undefined ? 0n : smaller(charge, plan.amount)
/** The payer, of whose hold the plan pays this much. */
export const withPart = <Payer extends PlanPayer>(payer: Payer, amount: bigint): Payer =>
  payer.plan ? { ...payer, plan: { ...payer.plan, amount } } : payer
/** The plan of a row of `charges`; undefined: it holds nothing. */
export const heldPlanOf = ({ plan }: PlanPayer): HeldPlan | undefined =>
  plan && plan.amount > 0n ? { wallet: plan.window.wallet, amount: plan.amount } : undefined

/** The same in SQL, of a row of `charges`: 0 for one without a plan, or that is not settled. */
export const plannedInSql = (row: string): string =>
  `CASE WHEN ${row}.amount < coalesce(${row}.plan_held, 0) THEN ${row}.amount ELSE coalesce(${row}.plan_held, 0) END`
