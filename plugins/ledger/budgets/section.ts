/** The section `budgets:`, its problems, and its budgets as calls use them. */
import { nearest } from '../../../engine/config/nearest.ts'
import {
  anyOf,
  flag,
  list,
  map,
  object,
  oneOf,
  parsed,
  type RawOf,
  required,
  text,
} from '../../../engine/config/shape.ts'
import type { Document, HostBase, Report, Value } from '../../../engine/plugin.ts'
import { zoneProblem } from '../../billing/calendar.ts'
import { type Currency, configuredCurrency } from '../../billing/currency.ts'
import { MAX_AMOUNT } from '../../billing/money.ts'
import type { Where } from '../../billing/problems.ts'
import { PERIODS } from '../../rows/money.ts'
import { TAG_NAME } from '../../slots.ts'
import { knownTagsIn } from '../../tagging/section.ts'
import type { Unit } from '../wallet.ts'
import { KINDS, type Owner, type Owners } from './owner.ts'
import { amountIn, amountTerm, NAME_PATTERN, tokensIn, tokensTerm, WINDOW_TERMS } from './terms.ts'
import type { Period, Window } from './window.ts'

const TAG_OWNERS = object(
  'Each value of a tag has this budget, over the calls of all accounts; calls without the tag have none.',
  {
    tag: required(
      text('A tag that `tags:` knows with a list of values.', {
        pattern: `^${TAG_NAME}$`,
        examples: ['project'],
      }),
    ),
  },
)
const USE = object('Calls go to another model, whatever they asked for.', {
  use: required(
    text('A name in `models:`; its calls count beyond the amount.', {
      minLength: 1,
      examples: ['small'],
    }),
  ),
})
/** The options of every budget. */
export const TERMS = {
  amount: amountTerm(
    'The amount that each owner may spend in a window: above zero, by default in the currency of accounts.',
    ['50 USD', 2000],
  ),
  tokens: tokensTerm(
    'In place of `amount`: the tokens that each owner may use in a window, input and output together.',
  ),
  ...WINDOW_TERMS,
  at_limit: anyOf(
    'The effect on a call that does not fit: it is refused, it passes with a warning, or it goes to another model.',
    [oneOf(undefined, ['refuse', 'warn'], { type: 'string' }), USE],
    { default: 'refuse', examples: ['warn', { use: 'small' }] },
  ),
  shadow: flag('The budget only counts: no call is refused, warned or sent elsewhere.', {
    default: false,
    examples: [true],
  }),
  alert_at: list(
    'Shares of the amount; when one is used, `alerts:` sends one message in each window.',
    parsed('A share.', '^([1-9][0-9]?|100)%$', Number.parseFloat, {
      maxLength: 4,
      examples: ['80%'],
    }),
    { default: [], maxItems: 10, uniqueItems: true, examples: [['50%', '80%', '100%']] },
  ),
} as const

const BUDGET = object(
  'A budget. A call that several budgets apply to must fit into all.',
  {
    of: required(
      anyOf(
        'Whether each account, API key, member of a team or value of a tag has this budget.',
        [oneOf(undefined, KINDS, { type: 'string' }), TAG_OWNERS],
        { examples: ['account', { tag: 'project' }] },
      ),
    ),
    ...TERMS,
  },
  { examples: [{ of: 'account', amount: 2000, per: 'month' }] },
)
export const SECTION = map(
  'Budgets by name: the amounts or the tokens that accounts, keys, members and tags may spend in a window of time.',
  BUDGET,
  {
    propertyNames: { pattern: NAME_PATTERN },
    examples: [{ monthly: { of: 'account', amount: 2000, per: 'month', zone: 'Europe/Berlin' } }],
  },
)
type Section = RawOf<typeof SECTION>

export interface Budget {
  readonly name: string
  readonly of: Owners
  /** Nanos or tokens. */
  readonly amount: bigint
  readonly unit: Unit
  readonly per: Period
  readonly zone: string
  readonly atLimit: 'refuse' | 'warn' | { readonly use: string }
  /** The budget counts calls and never refuses one. */
  readonly isShadow: boolean
  /** Percents of the amount, each of which is an alert. */
  readonly alertAt: readonly number[]
}
/** As windows name it: a change between money and tokens begins with an empty window. */
export const periodOf = ({ per, unit }: Pick<Budget, 'per' | 'unit'>): string =>
  unit === 'tokens' ? `${per} ${unit}` : per

/** A window that a call takes money from. */
export interface BudgetWindow extends Window {
  readonly wallet: number
  readonly budget: Budget
  readonly owner: Owner
  /** Until this time, ms since 1970, calls that cost this much or more only count: nanos or tokens
   *  that did not fit. */
  spent?: { readonly until: number; readonly amount: bigint }
}

const amountOf = (value: unknown, where: Where, currency: Currency, report: Report): bigint => {
  const amount = amountIn(value, where, currency, report)
  if (amount === 0n) report(where, 'BUDGET_AMOUNT', 'a budget is above 0')
  if (amount > MAX_AMOUNT)
    report(where, 'BUDGET_AMOUNT', 'a budget is at most a billion units of the currency')
  return amount
}

/** The limit of a budget. One of the two terms is there. */
const limitOf = (
  { amount, tokens }: BudgetTerms,
  where: Where,
  currency: Currency,
  report: Report,
): Pick<Budget, 'amount' | 'unit'> =>
  tokens === undefined
    ? { amount: amountOf(amount, [...where, 'amount'], currency, report), unit: 'money' }
    : { amount: tokensIn(tokens), unit: 'tokens' }

export const TERMS_SHAPE = object(undefined, TERMS)
/** The members of a budget that `TERMS` describes, as they are written. */
export type BudgetTerms = RawOf<typeof TERMS_SHAPE>
/** A budget from its terms. `reportTerms` reports their mistakes. */
const budgetOf = (
  { name, of }: Pick<Budget, 'name' | 'of'>,
  raw: BudgetTerms,
  currency: Currency,
): Budget => {
  const { per, zone, at_limit, shadow, alert_at } = TERMS_SHAPE.read(raw)
  const limit = limitOf(raw, ['budgets', name], currency, () => {})
  return { name, of, ...limit, per, zone, atLimit: at_limit, isShadow: shadow, alertAt: alert_at }
}

/** A budget from the JSON text of its terms, which another version may have written. Throws what is
 *  wrong with it. An amount without a rate of its currency is below zero: no call fits. */
export const parseBudget = (
  named: Pick<Budget, 'name' | 'of'>,
  settings: Value | undefined,
  currency: Currency,
): Budget => {
  const budget = budgetOf(named, JSON.parse(String(settings)), currency)
  const { per, zone, atLimit, alertAt } = budget
  const problem =
    (PERIODS.includes(per) ? undefined : `per ${JSON.stringify(per)}`) ??
    (typeof zone === 'string' ? zoneProblem(zone) : 'zone') ??
    (isAtLimit(atLimit) ? undefined : `at_limit ${JSON.stringify(atLimit)}`) ??
    (alertAt.every(Number.isInteger) ? undefined : 'alert_at')
  if (problem !== undefined) throw new Error(problem)
  return budget
}
const isAtLimit = (value: unknown): boolean =>
  value === 'refuse' || value === 'warn' || typeof Object(value).use === 'string'

/** The configuration check has reported the problems. */
export const budgetsIn = (host: Pick<HostBase, 'section'>): readonly Budget[] => {
  const currency = configuredCurrency(host)
  return Object.entries(host.section<Section>('budgets')).map(([name, { of, ...terms }]) =>
    budgetOf({ name, of }, terms, currency),
  )
}

interface BudgetChecks {
  readonly currency: Currency
  /** Whether any call can cost something. */
  readonly isReachable: boolean
  readonly isModel: (name: string) => boolean
  readonly report: Report
}
export const reportBudgets = (document: Document, checks: BudgetChecks): void => {
  const budgets = Object.entries((document.budgets ?? {}) as Section)
  for (const [name, terms] of budgets) {
    if (typeof terms.of === 'object')
      reportTag(terms.of.tag, ['budgets', name, 'of'], document, checks)
    reportTerms(terms, ['budgets', name], checks)
  }
}
const reportTag = (
  tag: string,
  where: Where,
  { tags }: Document,
  { report }: Pick<BudgetChecks, 'report'>,
): void => {
  const known = knownTagsIn(tags)
  if (!Object.hasOwn(known, tag)) {
    const message = 'no call has this tag: `tags:` does not name it under `known`'
    report([...where, 'tag'], 'BUDGET_TAG', message, nearest(tag, Object.keys(known)))
  } else if (known[tag] === 'any') {
    const message =
      'each value of the tag would have a window, and `any` has no end of values; list them in `tags:`'
    report([...where, 'tag'], 'BUDGET_TAG', message)
  }
}
/** Without the stage `meter` no call has a price. */
export const reportUnusedBudgets = ({ budgets }: Document, report: Report): void => {
  if (Object.keys(budgets ?? {}).length === 0) return
  const message =
    'no call can reach a budget: `pipeline:` has no `meter`; add it, or remove `budgets:`'
  report(['budgets'], 'BUDGET_UNREACHABLE', message)
}
/** Reports the mistakes of one budget, at `where`. */
export const reportTerms = (
  terms: BudgetTerms,
  where: Where,
  { currency, isReachable, isModel, report }: BudgetChecks,
): void => {
  const { amount, tokens, zone, at_limit: atLimit } = terms
  if ((amount === undefined) === (tokens === undefined))
    report([...where, 'amount'], 'BUDGET_AMOUNT', 'a budget has either `amount` or `tokens`')
  else limitOf(terms, where, currency, report)
  const problem = zoneProblem(zone)
  if (problem) report([...where, 'zone'], 'BUDGET_ZONE', problem)
  if (typeof atLimit === 'object' && !isModel(atLimit.use))
    report(
      [...where, 'at_limit', 'use'],
      'BUDGET_MODEL',
      `there is no model "${atLimit.use}" in \`models:\``,
    )
  if (!isReachable)
    report(
      where,
      'BUDGET_UNREACHABLE',
      'no call can reach this budget: no route calls a model at a price; add a price, or remove the budget',
    )
}
