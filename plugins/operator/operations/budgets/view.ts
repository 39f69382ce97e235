/** Budgets of the store as operators see and set them. */
import type { ValueOf } from '../../../../engine/config/shape.ts'
import type { HostBase, Row } from '../../../../engine/plugin.ts'
import { configuredCurrency } from '../../../billing/currency.ts'
import { printMoney } from '../../../billing/money.ts'
import { messageOf } from '../../../billing/problems.ts'
import { unknownModelIn } from '../../../catalogue/configured.ts'
import {
  type Budget,
  type BudgetTerms,
  type OwnerKind,
  parseBudget,
  reportTerms,
  type TERMS_SHAPE,
} from '../../../ledger/budgets/section.ts'
import { printInstant, windowOf } from '../../../ledger/budgets/window.ts'
import { nanosOf } from '../../../ledger/statements.ts'
import type { BudgetView } from '../../../views.ts'
import { fault } from '../../faults.ts'

export const viewOf = (host: HostBase, row: Row, account: string, now: number): BudgetView => {
  const named = { name: String(row.name), of: row.kind as OwnerKind }
  const owned = { ...named, owner: Number(row.owner), account }
  try {
    const budget = parseBudget(named, row.settings, configuredCurrency(host))
    return { ...owned, ...termsOf(budget, row, now), problem: null }
  } catch (error) {
    const problem = `cannot be read (${messageOf(error)}); set it again, or remove it`
    return { ...owned, ...UNREADABLE, problem }
  }
}
/** Of a row that another version wrote. */
const UNREADABLE = {
  amount: null,
  per: null,
  zone: null,
  at_limit: null,
  shadow: null,
  alert_at: null,
  used: null,
  resets: null,
}
const termsOf = (budget: Budget, row: Row, now: number) => {
  const { start, end } = windowOf(now, budget.per, budget.zone)
  return {
    amount: printMoney(budget.amount),
    per: budget.per,
    zone: budget.zone,
    at_limit: budget.atLimit,
    shadow: budget.isShadow,
    alert_at: budget.alertAt.map(share => `${share}%`),
    used: printMoney(Number(row.start) === start ? nanosOf(row.used) : 0n),
    resets: end === undefined ? null : printInstant(end, budget.zone),
  }
}
/** As they are stored, from the arguments. */
export const rawOf = ({
  alert_at: shares,
  ...terms
}: ValueOf<typeof TERMS_SHAPE>): BudgetTerms => ({
  ...terms,
  alert_at: shares.map(share => `${share}%`),
})
/** Throws BUDGET_INVALID for the first mistake. */
export const checkTerms = (host: HostBase, terms: BudgetTerms): void =>
  reportTerms(terms, [], {
    currency: configuredCurrency(host),
    isReachable: true,
    isModel: name => unknownModelIn([name], host) === undefined,
    report: (where, _, message) => {
      throw fault('BUDGET_INVALID', [message], { param: String(where[0]) })
    },
  })

export const printed = (budget: BudgetView): Readonly<Record<string, string | number>> => {
  if (budget.problem !== null) {
    const { name, of, owner, account, problem } = budget
    return { name, of, owner, account, amount: problem }
  }
  const { at_limit, alert_at, shadow, resets, problem: _, ...cells } = budget
  return {
    ...cells,
    resets: resets ?? 'never',
    at_limit: typeof at_limit === 'string' ? at_limit : `use ${at_limit.use}`,
    shadow: shadow ? 'yes' : 'no',
    alert_at: alert_at.join(' '),
  }
}
export const print = (budget: BudgetView) => ({ rows: [printed(budget)], json: budget })
