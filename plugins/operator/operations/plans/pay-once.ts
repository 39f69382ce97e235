/** Payments that become credit or pay for a plan, once by their reference. */
import { isCode } from '../../../../engine/kit.ts'
import { printMoney } from '../../../billing/money.ts'
import { creditPayment, isKnownPayment, type Payment } from '../../../ledger/payments/payments.ts'
import { fault } from '../../faults.ts'
import type { Context } from '../../operation.ts'
import { type PlanPayment, planOfPayment } from './grants.ts'

/** How often the plan of the account is read again after another change. */
const ATTEMPTS = 3
/** Credits a payment once, and gives the plan that it pays for. `plan`: the one that this report
 *  gave; null: the money is credit, or was credited before. Throws PLAN_CHANGED. */
export const payOnce = async (
  context: Context,
  payment: Payment,
  order: PlanPayment | undefined,
): Promise<{ readonly repeated: boolean; readonly plan: string | null }> => {
  const { store } = context
  const { account, amount: nanos, reference } = payment
  for (let remainingAttempts = ATTEMPTS; ; ) {
    const isNew = order && !(await isKnownPayment(store, reference))
    const paid = isNew ? await planOfPayment(context, order) : undefined
    const change = {
      object: `account ${account}`,
      before: paid?.before ?? null,
      after: { credited: printMoney(nanos), reference, ...paid?.after },
    }
    try {
      const repeated = await creditPayment(store, payment, list =>
        store.change([...list, ...(paid?.list ?? [])], change),
      )
      return { repeated, plan: repeated ? null : (paid?.after.plan ?? null) }
    } catch (error) {
      if (!isCode(error, 'PLAN_CHANGED')) throw error
      if (--remainingAttempts === 0) throw fault('PLAN_CHANGED')
    }
  }
}
