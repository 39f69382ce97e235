/** Budgets of the store as operators see and set them. */
import type { ValueOf } from '../../../../engine/config/shape.ts'
import type { HostBase, Row, Value } from '../../../../engine/plugin.ts'
import { type Currency, configuredCurrency } from '../../../billing/currency.ts'
import { printMoney } from '../../../billing/money.ts'
import { messageOf } from '../../../billing/problems.ts'
import { unknownModelIn } from '../../../catalogue/configured.ts'
import { type OwnerKind, tagIn } from '../../../ledger/budgets/owner.ts'
import {
  type Budget,
  type BudgetTerms,
  budgetsIn,
  parseBudget,
  reportTerms,
  type TERMS_SHAPE,
} from '../../../ledger/budgets/section.ts'
import { printIn } from '../../../ledger/budgets/tokens.ts'
import { printInstant, windowOf } from '../../../ledger/budgets/window.ts'
import { nanosOf } from '../../../ledger/statements.ts'
import type { BudgetView } from '../../../views.ts'
import { fault } from '../../faults.ts'

/** `row`: of `listBudgets`. */
export const viewOf = (
  row: Row,
  now: number,
  { configured, currency }: BudgetSources,
): BudgetView => {
  const kind = String(row.kind)
  const tag = tagIn(kind)
  const owned = {
    name: String(row.name),
    of: tag === undefined ? (kind as OwnerKind) : 'tag',
    owner: tag === undefined ? Number(row.owner) : null,
    owner_name: tag ?? nullableText(row.owner_name),
    account: nullableText(row.account_name),
    source: row.settings === null ? 'configuration' : 'store',
  } as const
  try {
    const budget =
      row.settings === null
        ? configured.get(owned.name)
        : parseBudget({ name: owned.name, of: kind as OwnerKind }, row.settings, currency)
    if (!budget) throw new Error('`budgets:` has no budget of this name')
    return { ...owned, ...termsOf(budget, row, now), problem: null }
  } catch (error) {
    const problem = `cannot be read (${messageOf(error)}); set it again, or remove it`
    return { ...owned, ...UNREADABLE, problem }
  }
}
const nullableText = (value: Value | undefined): string | null =>
  value == null ? null : String(value)
interface BudgetSources {
  /** The budgets of `budgets:`, by name. */
  readonly configured: ReadonlyMap<string, Budget>
  readonly currency: Currency
}
export const sourcesOf = (host: HostBase): BudgetSources => ({
  configured: new Map(budgetsIn(host).map(budget => [budget.name, budget])),
  currency: configuredCurrency(host),
})
/** Of a row that another version wrote. */
const UNREADABLE = {
  amount: null,
  tokens: null,
  per: null,
  zone: null,
  at_limit: null,
  shadow: null,
  alert_at: null,
  used: null,
  resets: null,
}
const fullTermsOf = ({ amount, unit, per, zone, atLimit, isShadow, alertAt }: Budget) => ({
  amount: unit === 'money' ? printMoney(amount) : null,
  tokens: unit === 'tokens' ? Number(amount) : null,
  per,
  zone,
  at_limit: atLimit,
  shadow: isShadow,
  alert_at: alertAt.map(share => `${share}%`),
})
/** Terms without mistakes as the view of their budget has them. */
export const fullTerms = (host: HostBase, terms: BudgetTerms): ReturnType<typeof fullTermsOf> =>
  fullTermsOf(
    parseBudget({ name: '', of: 'account' }, JSON.stringify(terms), configuredCurrency(host)),
  )
const termsOf = (budget: Budget, row: Row, now: number) => {
  const { start, end } = windowOf(now, budget.per, budget.zone)
  return {
    ...fullTermsOf(budget),
    used: printIn(budget.unit, Number(row.start) === start ? nanosOf(row.used) : 0n),
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

export const printed = (
  budget: BudgetView,
  currency: string,
): Readonly<Record<string, string | number>> => {
  const { name, of, account } = budget
  const named = { name, of, owner: ownerText(budget), account: account ?? '' }
  if (budget.problem !== null) return { ...named, amount: budget.problem }
  const { amount, tokens, per, zone, used, at_limit, alert_at, shadow, resets, source } = budget
  return {
    ...named,
    amount: amount === null ? `${tokens} tokens` : `${amount} ${currency}`,
    per,
    zone,
    used: `${used} ${amount === null ? 'tokens' : currency}`,
    resets: resets ?? 'never',
    at_limit: typeof at_limit === 'string' ? at_limit : `use ${at_limit.use}`,
    shadow: shadow ? 'yes' : 'no',
    alert_at: alert_at.join(' '),
    source,
  }
}
/** As options take it: the number of an account, the number and the name of a key or member. */
const ownerText = ({ of, owner, owner_name: name }: BudgetView): string | number => {
  if (owner === null) return name ?? ''
  return of === 'account' || name === null ? owner : `${owner} ${name}`
}
export const print = (budget: BudgetView, currency: string) => ({
  rows: [printed(budget, currency)],
  json: budget,
})
