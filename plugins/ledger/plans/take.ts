/** Takes nanos for a call whose account has a plan: from the plan what it covers, in nanos or
 *  tokens, and the rest from the account. */
import { inUnitOf } from '../budgets/tokens.ts'
import type { Ledger, Payer, Shortage } from '../ledger.ts'
import { countsTokens } from '../wallet.ts'
import { withShare } from './part.ts'
import type { PlanWindow } from './section.ts'

/** Attempts to take a part, since other calls may take it at the same time. */
const ATTEMPTS = 3
/** ms after a plan had nothing left in which calls do not ask it. */
const SPENT = 1_000

/** `payer`: with the part that the plan pays, taken or short. */
export interface TakeResult {
  readonly payer: Payer
  readonly shortage: Shortage | undefined
}
/** Whether the plan had nothing left a moment ago. */
const isSpent = ({ plan, spentUntil = 0 }: PlanWindow, at: number): boolean =>
  plan.after === 'wallet' && spentUntil > at

/** The need of a call of its plan. */
interface PlanNeeds {
  readonly at: number
  /** Nanos. */
  readonly cost: bigint
  /** Called if the plan counts tokens. */
  tokensHeld(): bigint
}
/** Adds a plan to what pays a call. A plan in tokens pays no call whose price counts no token, such
 *  as a price for each call or image. */
export const withPlan = (
  payer: Payer,
  window: PlanWindow,
  { at, cost, tokensHeld }: PlanNeeds,
): Payer => {
  const amount = isSpent(window, at) ? 0n : cost
  if (!countsTokens(window.wallet)) return { ...payer, plan: { window, amount } }
  const tokens = tokensHeld()
  const inPlan = isSpent(window, at) ? 0n : tokens
  return tokens === 0n ? payer : { ...payer, tokens, plan: { window, amount, tokens: inPlan } }
}
/** Takes `amount` nanos, and the tokens of the payer, from the plan of the payer, if it has one,
 *  and from its wallets. The shortage is `plan` only if the plan lets nothing else pay. */
export const takeInOrder = async (
  ledger: Pick<Ledger, 'take' | 'fundsOf'>,
  payer: Payer,
  amount: bigint,
): Promise<TakeResult> => {
  const { window } = payer.plan ?? {}
  if (!window) return { payer, shortage: await ledger.take(payer, amount) }
  const need = inUnitOf(window, amount, payer.tokens)
  let part = isSpent(window, Date.now()) ? 0n : need
  for (let remainingAttempts = ATTEMPTS; ; remainingAttempts--) {
    const paying = withShare(payer, part, { amount, need })
    const shortage = await ledger.take(paying, amount)
    if (shortage !== 'plan' || window.plan.after === 'refuse') return { payer: paying, shortage }
    const { available } = await ledger.fundsOf(window.wallet)
    if (available <= 0n) window.spentUntil = Date.now() + SPENT
    const isLast = remainingAttempts === 0 || available <= 0n
    part = isLast ? 0n : available < need ? available : need
  }
}
