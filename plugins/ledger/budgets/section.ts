/** The section `budgets:`, its problems, and its budgets as calls use them. */
import {
  map,
  object,
  ofTypes,
  oneOf,
  type RawOf,
  required,
  text,
} from '../../../engine/config/shape.ts'
import type { Document, HostBase, Report } from '../../../engine/plugin.ts'
import { zoneProblem } from '../../billing/calendar.ts'
import { type Currency, configuredCurrency } from '../../billing/currency.ts'
import { MAX_AMOUNT } from '../../billing/money.ts'
import { problemReporter } from '../../billing/problems.ts'
import { compileAmount } from '../../billing/rate.ts'
import { PERIODS, type Period, type Window } from './window.ts'

/** The kinds of owners that have a window each. */
const KINDS = ['account', 'key'] as const
export type OwnerKind = (typeof KINDS)[number]

const BUDGET = object(
  'A budget. A call that several budgets apply to must fit into all.',
  {
    of: required(
      oneOf('Whether each account or each API key has this budget.', KINDS, {
        type: 'string',
        examples: ['account'],
      }),
    ),
    amount: required(
      ofTypes(
        'What one may spend in a window: an amount above zero, by default in the currency of accounts.',
        ['string', 'number'],
        { minimum: 0, examples: ['50 USD', 2000] },
      ),
    ),
    per: required(
      oneOf('The window, by the calendar of `zone`; weeks begin on Monday.', PERIODS, {
        type: 'string',
        examples: ['month'],
      }),
    ),
    zone: text('The IANA time zone of the calendar.', {
      default: 'UTC',
      examples: ['Europe/Berlin'],
    }),
  },
  { examples: [{ of: 'account', amount: 2000, per: 'month' }] },
)
export const SECTION = map('Budgets by name: what accounts and keys may spend in a time.', BUDGET, {
  propertyNames: { pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' },
  examples: [{ monthly: { of: 'account', amount: 2000, per: 'month', zone: 'Europe/Berlin' } }],
})
type Section = RawOf<typeof SECTION>

export interface Budget {
  readonly name: string
  readonly of: OwnerKind
  /** Nanos. */
  readonly amount: bigint
  readonly per: Period
  readonly zone: string
}

/** A window that a call takes money from. */
export interface BudgetWindow extends Window {
  readonly wallet: number
  readonly budget: Budget
}

/** Prices are in 1e-18, amounts in nanos. */
const PER_NANO = 10n ** 9n
const amountOf = (value: unknown, name: string, currency: Currency, report: Report): bigint => {
  const where = ['budgets', name, 'amount']
  const context = { currency, report: problemReporter(report) }
  const amount = (compileAmount(value, where, context) ?? -PER_NANO) / PER_NANO
  if (amount === 0n) report(where, 'BUDGET_AMOUNT', 'a budget is above 0')
  if (amount > MAX_AMOUNT)
    report(where, 'BUDGET_AMOUNT', 'a budget is at most a billion units of the currency')
  return amount
}

/** The configuration check has reported the problems. */
export const budgetsIn = (host: Pick<HostBase, 'section'>): readonly Budget[] => {
  const currency = configuredCurrency(host)
  return Object.entries(host.section<Section>('budgets')).map(([name, raw]) => {
    const { of, per, zone } = BUDGET.read(raw)
    return { name, of, per, zone, amount: amountOf(raw.amount, name, currency, () => {}) }
  })
}

/** `isReachable`: whether any call can cost something. */
export const reportBudgets = (
  document: Document,
  { currency, isReachable, report }: { currency: Currency; isReachable: boolean; report: Report },
): void => {
  const budgets = Object.entries((document.budgets ?? {}) as Section)
  for (const [name, { amount, zone }] of budgets) {
    amountOf(amount, name, currency, report)
    const problem = zoneProblem(zone)
    if (problem) report(['budgets', name, 'zone'], 'BUDGET_ZONE', problem)
    if (!isReachable)
      report(
        ['budgets', name],
        'BUDGET_UNREACHABLE',
        'no call can reach this budget: no model or route has a price; add a price, or remove the budget',
      )
  }
}
