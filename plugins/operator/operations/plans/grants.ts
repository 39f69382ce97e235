/** Plans that codes and payments give to an account, in the transaction that uses them up. */
import { amountIn, DURATIONS } from '../../../../engine/kit.ts'
import type { Row, Statement } from '../../../../engine/plugin.ts'
import { windowOf } from '../../../ledger/budgets/window.ts'
import { beginPlan } from '../../../ledger/plans/plans.ts'
import { changeOf, extendPlan, findPlan } from '../../../ledger/plans/rows.ts'
import { plansIn } from '../../../ledger/plans/section.ts'
import { addCredit } from '../../../ledger/statements.ts'
import { ANY_PLAN } from '../../arguments.ts'
import { fault } from '../../faults.ts'
import { EXPIRES } from '../../key-settings.ts'
import type { Context } from '../../operation.ts'
import { isoTime } from '../../rows.ts'
import { factsOf, isOwned, type PlanFacts, planNamed } from './view.ts'

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
  const owned = stored && isOwned(stored, now)
  const canExtend = owned && stored.plan === name && stored.paid === null && stored.until !== null
  if (owned && !(canExtend && lasts !== undefined)) throw fault('PLAN_OWNED', [String(stored.plan)])
  const start = canExtend ? Number(stored.until) : now
  const until = lasts === undefined ? undefined : start + amountIn(lasts, DURATIONS)
  return canExtend
    ? extendPlan(account, until, Number(stored.change))
    : beginPlan(plan, { account, since: now, until }, changeOf(stored))
}

/** Arguments of a payment that pays for a plan. */
export const PAID_PLAN = { plan: ANY_PLAN, expires: EXPIRES } as const
export interface PlanPayment {
  readonly account: number
  readonly plan: string
  /** Nanos that were paid. */
  readonly amount: bigint
  /** ms since 1970; undefined: with the window of now. */
  readonly until: number | undefined
  readonly note: string
}
interface PaidPlan {
  readonly list: readonly Statement[]
  /** As the log of actions has them. */
  readonly before: PlanFacts | null
  readonly after: Pick<PlanFacts, 'plan' | 'expires'>
}
/** The payment pays for the plan: a debit takes what the credit before it adds. The plan that the
 *  account has goes on until the later end, and renews itself as before. Undefined: the payment
 *  gives nothing and stays credit, since there is no such plan, its end has passed, or the account
 *  has the plan for as long anyway. The list rejects with PLAN_CHANGED. */
export const planOfPayment = async (
  { host, store, now }: Context,
  { account, plan: name, amount, until, note }: PlanPayment,
): Promise<PaidPlan | undefined> => {
  const plan = plansIn(host).get(name)
  const end = until ?? (plan && windowOf(now, plan.per, plan.zone).end)
  if (!plan || (end !== undefined && end <= now)) return undefined
  const stored = await findPlan(store, account)
  const goesOn = stored?.plan === name && isOwned(stored, now)
  if (goesOn && isWithin(end, stored)) return undefined
  const debit = { account, kind: 'debit', amount: -amount, at: now } as const
  return {
    list: [
      addCredit({ ...debit, note: `plan ${name}: ${note}` }),
      ...(goesOn
        ? extendPlan(account, end, Number(stored.change))
        : beginPlan(plan, { account, since: now, until: end }, changeOf(stored))),
    ],
    before: stored ? factsOf(stored) : null,
    after: { plan: name, expires: end === undefined ? null : isoTime(end) },
  }
}
/** Whether the plan lasts until this end anyway. */
const isWithin = (end: number | undefined, { until }: Row): boolean =>
  until === null || (end !== undefined && end <= Number(until))
