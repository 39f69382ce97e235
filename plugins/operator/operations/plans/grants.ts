/** Plans that codes and payments give to an account, in the transaction that uses them up. */
import { amountIn, DURATIONS } from '../../../../engine/kit.ts'
import type { Statement } from '../../../../engine/plugin.ts'
import { windowOf } from '../../../ledger/budgets/window.ts'
import { beginPlan } from '../../../ledger/plans/plans.ts'
import { findPlan } from '../../../ledger/plans/rows.ts'
import { addCredit } from '../../../ledger/statements.ts'
import { ANY_PLAN } from '../../arguments.ts'
import { fault } from '../../faults.ts'
import { EXPIRES } from '../../key-settings.ts'
import type { Context } from '../../operation.ts'
import { isActive, planNamed } from './view.ts'

/** An account without a plan gets it; one that has it with an end has it for longer. Throws
 *  PLAN_OWNED or PLAN_UNKNOWN; the list rejects with PLAN_CHANGED. `lasts`: 30d; undefined: without
 *  an end. */
export const planOfCode = async (
  { host, store, now }: Context,
  account: number,
  name: string,
  lasts: string | undefined,
): Promise<readonly Statement[]> => {
  const plan = planNamed(host, name)
  const stored = await findPlan(store, account)
  const owned = stored && (isActive(stored, now) || Number(stored.renews) === 1)
  const canExtend = owned && stored.plan === name && stored.paid === null && stored.until !== null
  if (owned && !(canExtend && lasts !== undefined)) throw fault('PLAN_OWNED', [String(stored.plan)])
  const start = canExtend ? Number(stored.until) : now
  const until = lasts === undefined ? undefined : start + amountIn(lasts, DURATIONS)
  const change = stored ? Number(stored.change) : -1
  return beginPlan(plan, { account, since: now, until }, change)
}

/** Arguments of a payment that pays for a plan. */
export const PAID_PLAN = { plan: ANY_PLAN, expires: EXPIRES } as const
interface PlanPayment {
  readonly account: number
  readonly plan: string
  /** Nanos that were paid. */
  readonly amount: bigint
  /** ms since 1970; undefined: with the window of now. */
  readonly until: number | undefined
  readonly note: string
}
/** The payment pays for the plan: a debit takes what the credit before it adds. An end that the
 *  same plan has is kept if it is later, since payments may be reported in any order. Throws
 *  PLAN_UNKNOWN or PLAN_EXPIRY. */
export const planOfPayment = async (
  { host, store, now }: Context,
  { account, plan: name, amount, until, note }: PlanPayment,
): Promise<readonly Statement[]> => {
  const plan = planNamed(host, name)
  if (until !== undefined && until <= now) throw fault('PLAN_EXPIRY')
  const stored = await findPlan(store, account)
  const end = until ?? windowOf(now, plan.per, plan.zone).end
  const before = stored?.plan === name && stored.until !== null ? Number(stored.until) : 0
  const debit = { account, kind: 'debit', amount: -amount, at: now } as const
  return [
    addCredit({ ...debit, note: `plan ${name}: ${note}` }),
    ...beginPlan(plan, { account, since: now, until: end && Math.max(end, before) }),
  ]
}
