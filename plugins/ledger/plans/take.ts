/** Takes nanos for a call whose account has a plan: from the plan what it covers, and the rest from
 *  the account. */
import type { Ledger, Payer, Shortage } from '../ledger.ts'
import { withPart } from './part.ts'
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
export const isSpent = ({ plan, spentUntil = 0 }: PlanWindow, at: number): boolean =>
  plan.after === 'wallet' && spentUntil > at

/** Takes `amount` nanos from the plan of the payer, if it has one, and from its wallets. The
 *  shortage is `plan` only if the plan lets nothing else pay. */
export const takeInOrder = async (
  ledger: Pick<Ledger, 'take' | 'fundsOf'>,
  payer: Payer,
  amount: bigint,
): Promise<TakeResult> => {
  const { window } = payer.plan ?? {}
  if (!window) return { payer, shortage: await ledger.take(payer, amount) }
  let part = isSpent(window, Date.now()) ? 0n : amount
  for (let remainingAttempts = ATTEMPTS; ; remainingAttempts--) {
    const paying = withPart(payer, part)
    const shortage = await ledger.take(paying, amount)
    if (shortage !== 'plan' || window.plan.after === 'refuse') return { payer: paying, shortage }
    const { available } = await ledger.fundsOf(window.wallet)
    if (available <= 0n) window.spentUntil = Date.now() + SPENT
    const isLast = remainingAttempts === 0 || available <= 0n
    part = isLast ? 0n : available < amount ? available : amount
  }
}
