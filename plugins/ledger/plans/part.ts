/** The part of a hold or a charge that a plan pays: it pays first, as much as it holds. A plan in
 *  tokens pays the share of the tokens that it holds. */
import { smaller } from '../../billing/money.ts'
import { countsTokens } from '../wallet.ts'
import type { PlanWindow } from './section.ts'

/** `amount`: nanos of the hold that the window pays; `tokens`: those that it holds for them, if it
 *  counts tokens. */
export interface PlanPart {
  readonly window: PlanWindow
  readonly amount: bigint
  readonly tokens?: bigint | undefined
}
interface PlanPayer {
  readonly plan?: PlanPart | undefined
}
/** As `charges` has it. */
export interface HeldPlan {
  readonly wallet: number
  /** Nanos. */
  readonly amount: bigint
  /** Undefined: its window counts nanos. */
  readonly tokens?: bigint | undefined
}

/** Nanos of a charge that the plan pays, from what it holds. */
export const plannedOf = (charge: bigint, plan: Pick<HeldPlan, 'amount'> | undefined): bigint =>
  plan === undefined ? 0n : smaller(charge, plan.amount)
/** The payer, of whose hold the plan pays this much. */
export const withPart = <Payer extends PlanPayer>(
  payer: Payer,
  amount: bigint,
  tokens?: bigint,
): Payer => (payer.plan ? { ...payer, plan: { ...payer.plan, amount, tokens } } : payer)
/** The need of a call of its plan: all of its tokens, or of its nanos. */
interface PlanNeed {
  /** Nanos. */
  readonly amount: bigint
  /** In the unit of the window. */
  readonly need: bigint
}
/** The payer, whose plan gives `part` of what the call needs of it. Nanos that need no tokens go
 *  with the tokens that the plan holds already. */
export const withShare = <Payer extends PlanPayer>(
  payer: Payer,
  part: bigint,
  { amount, need }: PlanNeed,
): Payer => {
  const { plan } = payer
  if (!plan || !countsTokens(plan.window.wallet)) return withPart(payer, part)
  const pays = need === 0n ? (plan.tokens ?? 0n) > 0n : part === need
  return withPart(payer, pays ? amount : need === 0n ? 0n : (amount * part) / need, part)
}
/** The plan of a row of `charges`; undefined: it holds nothing. */
export const heldPlanOf = ({ plan }: PlanPayer): HeldPlan | undefined => {
  if (!plan || (plan.tokens ?? plan.amount) <= 0n) return undefined
  const { window, amount, tokens } = plan
  return { wallet: window.wallet, amount, ...(tokens !== undefined && { tokens }) }
}

/** The part of a charge that a plan in tokens pays, in nanos and tokens. */
export interface SettledPart {
  readonly amount: bigint
  readonly tokens: bigint
}
/** The plan counts the tokens that it holds, at most, and pays that share of the cost, rounded
 *  down. The account pays no more than it holds. `heldAmount` and `amount`: nanos of the hold and
 *  of the charge; `used`: its tokens. */
export const settledPart = (
  plan: SettledPart,
  { heldAmount, amount, used }: Readonly<Record<'heldAmount' | 'amount' | 'used', bigint>>,
): SettledPart => {
  const tokens = smaller(used, plan.tokens)
  const share = used === tokens ? amount : (amount * tokens) / used
  const least = amount - (heldAmount - plan.amount)
  return { amount: least > share ? least : share, tokens }
}

/** The same in SQL, of a row of `charges`: 0 for one without a plan, or that is not settled. The
 *  settlement of a plan in tokens sets `plan_held` to its part. */
export const plannedInSql = (row: string): string =>
  `CASE WHEN ${row}.amount < coalesce(${row}.plan_held, 0) THEN ${row}.amount ELSE coalesce(${row}.plan_held, 0) END`
