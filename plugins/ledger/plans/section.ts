/** The section `plans:`, its problems, and its plans as calls use them. */
import {
  list,
  map,
  object,
  ofTypes,
  oneOf,
  type RawOf,
  text,
} from '../../../engine/config/shape.ts'
import type { Document, HostBase, Report } from '../../../engine/plugin.ts'
import { zoneProblem } from '../../billing/calendar.ts'
import { type Currency, configuredCurrency } from '../../billing/currency.ts'
import { MAX_AMOUNT } from '../../billing/money.ts'
import type { Where } from '../../billing/problems.ts'
import {
  amountIn,
  amountTerm,
  NAME_PATTERN,
  tokensIn,
  tokensTerm,
  WINDOW_TERMS,
} from '../budgets/terms.ts'
import type { Period, Window } from '../budgets/window.ts'
import type { Unit } from '../wallet.ts'

const SHAPE = {
  amount: amountTerm(
    'The amount of calls that each window of the plan pays: above zero, by default in the currency of accounts.',
    ['20 USD', 20],
  ),
  tokens: tokensTerm(
    'In place of `amount`: the tokens that each window of the plan pays, input and output together.',
  ),
  ...WINDOW_TERMS,
  models: list(
    'The names in `models:` whose calls the plan pays; left out: all. The wallet pays other calls.',
    text('The name of a model.', { minLength: 1 }),
    { minItems: 1, maxItems: 1_000, uniqueItems: true, examples: [['small']] },
  ),
  after: oneOf(
    'What pays for calls, or parts of calls, that the plan does not cover: the wallet of the account, or they are refused.',
    ['wallet', 'refuse'],
    { type: 'string', default: 'wallet', examples: ['refuse'] },
  ),
  price: ofTypes(
    'The price of a window, which the wallet pays: above zero. Left out: customers cannot buy the plan.',
    ['string', 'number'],
    { minimum: 0, examples: ['15 USD', 15] },
  ),
  rollover: ofTypes(
    'The most of an unused rest that moves to the next window: a share of the amount or of the tokens, an amount, or a number of tokens. Left out: the rest is lost.',
    ['string', 'number'],
    { minimum: 0, examples: ['100%', 5] },
  ),
  renew: oneOf(
    'Whether a bought plan pays for the next window when one ends, or ends with it.',
    ['auto', 'never'],
    { type: 'string', default: 'auto', examples: ['never'] },
  ),
} as const
const PLAN = object(
  'A plan: an amount or the tokens of calls that it pays in each window.',
  SHAPE,
  {
    examples: [{ amount: 20, per: 'month' }],
  },
)
export const SECTION = map(
  'Plans by name. An account that bought a plan, or that an operator assigned to it, gets its amount in each window; the plan pays before the wallet.',
  PLAN,
  {
    propertyNames: { pattern: NAME_PATTERN },
    examples: [{ pro: { amount: 20, per: 'month', zone: 'Europe/Berlin', after: 'wallet' } }],
  },
)
type Section = RawOf<typeof SECTION>

export interface Plan {
  readonly name: string
  /** Nanos or tokens. */
  readonly amount: bigint
  readonly unit: Unit
  readonly per: Period
  readonly zone: string
  /** Keys of `models:`; undefined: all. */
  readonly models: ReadonlySet<string> | undefined
  readonly after: 'wallet' | 'refuse'
  /** Nanos for each window; undefined: customers cannot buy it. */
  readonly price: bigint | undefined
  /** The code of the currency of `price`, for messages. */
  readonly currency: string
  /** The part of an unused rest that moves to the next window, at most, in the unit of the plan;
   *  undefined: none. */
  readonly rollover: bigint | undefined
  /** A bought plan pays for the next window, too. */
  readonly renews: boolean
}
/** A window of the plan of one account. */
export interface PlanWindow extends Window {
  readonly wallet: number
  readonly plan: Plan
  /** Of a window that was bought, in its unit; undefined: it has the amount of the plan. */
  readonly amount?: bigint
  /** Until this time, ms since 1970, calls do not ask the plan: it had nothing left. */
  spentUntil?: number
}

const SHARE = /^(100|[1-9][0-9]?)%$/
const TOKENS = /^[1-9][0-9_]{0,19}$/
/** The part of the limit of a plan that moves. */
const rolloverOf = (
  value: unknown,
  { amount, unit }: Limit,
  where: Where,
  { currency, report }: AmountChecks,
): bigint => {
  const text = String(value)
  const share = SHARE.exec(text)?.[1]
  if (share !== undefined) return (amount * BigInt(share)) / 100n
  if (unit === 'tokens' && !TOKENS.test(text)) {
    report(where, 'PLAN_ROLLOVER', 'write a share, such as 100%, or a whole number of tokens')
    return 0n
  }
  const most = unit === 'tokens' ? tokensIn(text) : amountIn(value, where, currency, report)
  if (most === 0n || most > amount)
    report(where, 'PLAN_ROLLOVER', 'at most the amount of the plan moves, and more than nothing')
  return most
}
interface AmountChecks {
  readonly currency: Currency
  readonly report: Report
  readonly noun?: string
}
const amountOf = (
  value: unknown,
  where: Where,
  { currency, report, noun = 'amount' }: AmountChecks,
): bigint => {
  const amount = amountIn(value, where, currency, report)
  if (amount === 0n) report(where, 'PLAN_AMOUNT', `the ${noun} of a plan is above 0`)
  if (amount > MAX_AMOUNT)
    report(where, 'PLAN_AMOUNT', 'a plan has at most a billion units of the currency')
  return amount
}

type Limit = Pick<Plan, 'amount' | 'unit'>
/** One of the two terms is there, or `report` gets a problem. */
const limitOf = (
  { amount, tokens }: Pick<Section[string], 'amount' | 'tokens'>,
  where: Where,
  checks: AmountChecks,
): Limit => {
  if ((amount === undefined) === (tokens === undefined)) {
    checks.report([...where, 'amount'], 'PLAN_AMOUNT', 'a plan has either `amount` or `tokens`')
    return { amount: MAX_AMOUNT, unit: 'money' }
  }
  return tokens === undefined
    ? { amount: amountOf(amount ?? 0, [...where, 'amount'], checks), unit: 'money' }
    : { amount: tokensIn(tokens), unit: 'tokens' }
}

/** By name. The configuration check has reported the problems. */
export const plansIn = (host: Pick<HostBase, 'section'>): ReadonlyMap<string, Plan> => {
  const currency = configuredCurrency(host)
  const shape = object(undefined, SHAPE)
  return new Map(
    Object.entries(host.section<Section>('plans')).map(([name, raw]) => {
      const { models, per, zone, after, renew, rollover, price } = shape.read(raw)
      const checks = { currency, report: () => {} }
      const limit = limitOf(raw, [], checks)
      const plan: Plan = {
        name,
        ...limit,
        per,
        zone,
        after,
        models: models && new Set(models),
        price: price === undefined ? undefined : amountOf(price, [], checks),
        currency: currency.name,
        renews: renew === 'auto',
        rollover: rollover === undefined ? undefined : rolloverOf(rollover, limit, [], checks),
      }
      return [name, plan]
    }),
  )
}

interface PlanChecks {
  readonly currency: Currency
  readonly isModel: (name: string) => boolean
  readonly report: Report
}
export const reportPlans = ({ plans }: Document, checks: PlanChecks): void => {
  const { isModel, report } = checks
  for (const [name, raw] of Object.entries((plans ?? {}) as Section)) {
    const { per, zone, models = [], price, renew, rollover } = raw
    const where = ['plans', name]
    const limit = limitOf(raw, where, checks)
    if (rollover !== undefined && per === 'life')
      report([...where, 'rollover'], 'PLAN_ROLLOVER', 'a plan for life has no next window')
    else if (rollover !== undefined) rolloverOf(rollover, limit, [...where, 'rollover'], checks)
    if (price !== undefined) amountOf(price, [...where, 'price'], { ...checks, noun: 'price' })
    else if (renew !== undefined)
      report(
        [...where, 'renew'],
        'PLAN_PRICE',
        'only a plan that customers can buy renews itself: add `price`, or remove `renew`',
      )
    const problem = zoneProblem(zone)
    if (problem) report([...where, 'zone'], 'PLAN_ZONE', problem)
    for (const [at, model] of models.entries())
      if (!isModel(model))
        report(
          [...where, 'models', at],
          'PLAN_MODEL',
          `there is no model "${model}" in \`models:\``,
        )
  }
}
/** Without the stage `meter` no call has a price. */
export const reportUnusedPlans = ({ plans }: Document, report: Report): void => {
  if (Object.keys(plans ?? {}).length === 0) return
  const message = 'no call can use a plan: `pipeline:` has no `meter`; add it, or remove `plans:`'
  report(['plans'], 'PLAN_UNREACHABLE', message)
}
