/** Rows of money and usage: a JSON Schema of each, and its type. */
import {
  any,
  boolean,
  described,
  integer,
  list,
  nullable,
  object,
  oneOf,
  type RowOf,
  type Shape,
  type TypeOf,
  text,
  time,
} from '../shapes.ts'

/** Exact: a JSON number is a float. */
export const MONEY = described('Units of the currency.', text)

/** Usage of a model on a day; `input` without the cached tokens. */
export const USAGE_CELL = {
  day: text,
  model: text,
  calls: integer,
  failed: integer,
  input: integer,
  cached: integer,
  output: integer,
  cost: MONEY,
  refunded: MONEY,
}
export type UsageCell = RowOf<typeof USAGE_CELL>
/** Tokens of the whole prompt, those of it that were read from the cache, and those of the answer
 *  with thinking. */
export const TOKENS = { input_tokens: integer, cached_tokens: integer, output_tokens: integer }
export type TokenSums = RowOf<typeof TOKENS>

// ---------------------------------------------------------------- credits, codes and payments

/** A credit, debit or refund. A debit is negative. */
export const CREDIT_COLUMNS = {
  id: integer,
  at: time,
  kind: oneOf('credit', 'debit', 'refund'),
  amount: MONEY,
  request: described('Of a refund.', nullable(text)),
  note: text,
}
/** A credit, debit or refund of an account. */
export type CreditRow = RowOf<typeof CREDIT_COLUMNS>
export const CODE_COLUMNS = {
  id: text,
  amount: MONEY,
  plan: described('The plan that it gives.', nullable(text)),
  lasts: described('For how long, such as 30d; null: without an end.', nullable(text)),
  state: oneOf('open', 'redeemed', 'revoked', 'expired'),
  note: text,
  created: time,
  expires: nullable(time),
  account: described('Who redeemed it.', nullable(integer)),
  redeemed: nullable(time),
}
export type CodeRow = RowOf<typeof CODE_COLUMNS>
/** The code itself is shown once. */
export const NEW_CODE = object({ ...CODE_COLUMNS, code: text })
export type NewCode = TypeOf<typeof NEW_CODE>
/** The answer to a redeemed code. `repeated`: the account redeemed it before: nothing changed. */
export const REDEEMED = object({
  credited: MONEY,
  plan: nullable(text),
  repeated: boolean,
  balance: MONEY,
})
export type Redeemed = TypeOf<typeof REDEEMED>
/** `plan`: that this report gave; null: it is credit, or was reported before. */
export const PAYMENT = object({
  account: text,
  reference: text,
  amount: MONEY,
  plan: nullable(text),
  repeated: boolean,
  balance: MONEY,
})
export type PaymentRow = TypeOf<typeof PAYMENT>

// ---------------------------------------------------------------- statements

const COUNTS = { calls: integer, ...TOKENS, amount: MONEY, refunded: MONEY }
export type StatementCountsRow = RowOf<typeof COUNTS>
const LINE = object({
  day: text,
  key: nullable(integer),
  member: described('Who made the calls; null: the account itself.', nullable(integer)),
  member_name: nullable(text),
  model: text,
  failed: integer,
  ...COUNTS,
})
export type StatementLineRow = TypeOf<typeof LINE>
/** Such as `project=alpha`. A call with two tags counts for both. */
const TAG_LINE = object({ tag: text, ...COUNTS })
/** `from` is a day, `to` the day after the last one. `planned`: the part of the charges that plans
 *  paid, less what refunds returned to them; `pending`: calls that are not charged yet. */
export const STATEMENT = object({
  account: text,
  number: integer,
  currency: text,
  from: text,
  to: text,
  opening: MONEY,
  credited: MONEY,
  debited: MONEY,
  refunded: MONEY,
  charged: MONEY,
  planned: MONEY,
  closing: MONEY,
  pending: integer,
  lines: list(LINE),
  tags: list(TAG_LINE),
})
/** `text`: in the format that was asked for. */
export type AccountStatement = TypeOf<typeof STATEMENT> & { readonly text?: string }

// ---------------------------------------------------------------- budgets and plans

export const PERIODS = ['hour', 'day', 'week', 'month', 'quarter', 'year', 'life'] as const
export const BUDGET_COLUMNS = {
  name: text,
  of: oneOf('account', 'key', 'member', 'tag'),
  owner: described('The number of the account, key or member; null: a tag.', nullable(integer)),
  owner_name: described('Its name, or the tag such as `project=alpha`.', nullable(text)),
  account: described('The name of its account; null: a tag.', nullable(text)),
  source: described(
    '`configuration`: of `budgets:`; `store`: set by `budgets set`.',
    oneOf('configuration', 'store'),
  ),
  amount: described('null: the budget is in tokens.', nullable(MONEY)),
  tokens: described('The tokens of a budget in tokens; null: it is in money.', nullable(integer)),
  per: nullable(oneOf(...PERIODS)),
  zone: nullable(text),
  at_limit: described(
    '`refuse`, `warn`, or the model that calls go to.',
    any as Shape<'refuse' | 'warn' | { readonly use: string } | null>,
  ),
  shadow: nullable(boolean),
  alert_at: nullable(list(text)),
  used: described('Units of the currency, or tokens, in the window of now.', nullable(text)),
  resets: described('When the window ends; null: never.', nullable(time)),
  problem: described(
    'Why the budget cannot be read, so that its terms are null; null: it can.',
    nullable(text),
  ),
}
type BudgetRow = RowOf<typeof BUDGET_COLUMNS>
type BudgetAmounts = Pick<BudgetRow, 'amount' | 'tokens' | 'resets'>
type BudgetTerms = Pick<BudgetRow, 'per' | 'zone' | 'at_limit' | 'shadow' | 'alert_at' | 'used'>
/** A budget whose terms can be read has all of them; the others have none. */
export type BudgetView = Omit<BudgetRow, keyof BudgetAmounts | keyof BudgetTerms | 'problem'> &
  (
    | (BudgetAmounts & {
        readonly [Name in keyof BudgetTerms]: NonNullable<BudgetTerms[Name]>
      } & { readonly problem: null })
    | ({ readonly [Name in keyof BudgetAmounts | keyof BudgetTerms]: null } & {
        readonly problem: string
      })
  )

const PLAN_UNIT = described(
  'What the amounts count: `money`, in units of the currency, or `tokens`.',
  oneOf('money', 'tokens'),
)
export const PLAN_COLUMNS = {
  account: described('The name of the account.', text),
  plan: text,
  state: described(
    '`unpaid`: it ended, since the balance did not cover its price; `unknown`: `plans:` has no plan of this name.',
    oneOf('active', 'expired', 'unpaid', 'unknown'),
  ),
  since: time,
  expires: described('When the plan ends; null: never.', nullable(time)),
  amount: described('What the window of now began with, in its unit.', text),
  used: text,
  remaining: text,
  unit: PLAN_UNIT,
  resets: described('When the window ends; null: never.', nullable(time)),
  renews: described(
    'The price of the next window; null: it does not renew itself.',
    nullable(text),
  ),
}
/** The plan of an account. */
export type PlanView = RowOf<typeof PLAN_COLUMNS>
/** `paid`: 0 if the account had the plan already. */
export const BOUGHT_PLAN = object({ ...PLAN_COLUMNS, paid: MONEY })
export type BoughtPlan = TypeOf<typeof BOUGHT_PLAN>
export const PLAN_OFFER = {
  plan: text,
  price: described('Units of the currency for each window.', text),
  amount: described('What it pays in each window, in its unit.', text),
  unit: PLAN_UNIT,
  per: oneOf(...PERIODS),
  zone: text,
  models: described('null: all.', nullable(list(text))),
  after: oneOf('wallet', 'refuse'),
  renew: oneOf('auto', 'never'),
}
/** A plan that customers can buy. */
export type PlanOffer = RowOf<typeof PLAN_OFFER>
/** The plan of the caller, and those that it can buy. */
export const OWN_PLANS = object({
  current: nullable(object(PLAN_COLUMNS)),
  offers: list(object(PLAN_OFFER)),
})
export type OwnPlans = TypeOf<typeof OWN_PLANS>
