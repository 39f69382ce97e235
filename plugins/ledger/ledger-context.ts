/** The ledger as the calls of a route use it. */
import type { Host } from '../../engine/plugin.ts'
import { sharedBudgets } from './budgets/budgets.ts'
import type { LedgerContext } from './call-charge.ts'
import { insufficientFunds } from './insufficient-funds.ts'
import type { Ledger } from './ledger.ts'
import { sharedPlans } from './plans/plans.ts'

/** `currency`: its configured name. `limitField`: the parameter of a request that bounds its
 *  output, if there is one. */
export const createLedgerContext = (
  host: Host,
  ledger: Ledger,
  currency: string,
  limitField: string | undefined,
): LedgerContext => {
  const { log, metrics } = host
  const insufficient = insufficientFunds({ ledger, currency, limitField })
  const budgets = sharedBudgets(host, ledger)
  return { ledger, log, metrics, insufficient, budgets, plans: sharedPlans(host, ledger) }
}
