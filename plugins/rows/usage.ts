/** Rows of an account's own calls, single and summed: a JSON Schema of each, and its type. */
import {
  any,
  boolean,
  described,
  integer,
  list,
  nullable,
  object,
  type RowOf,
  type TypeOf,
  text,
  time,
} from '../shapes.ts'
import { type ChargeView, FAILURE, LATENCIES, type Latencies, SERVED_FACTS } from './calls.ts'
import { MONEY, type TokenSums } from './money.ts'

const CALL = {
  request_id: text,
  at: time,
  route: text,
  model: text,
  key: nullable(integer),
  member: described('The number of the member who made the call', nullable(integer)),
  state: text,
  estimated: boolean,
  ...SERVED_FACTS,
}
const AMOUNTS = { cost: MONEY, refunded: MONEY }
const PLANNED = {
  planned: described('The part of the cost that the plan of the account paid', MONEY),
}
/** Null without any. */
const CALL_TOKENS = {
  input_tokens: described('Of the whole prompt', nullable(integer)),
  cached_tokens: described(
    'The part of the prompt that was read from the cache',
    nullable(integer),
  ),
  output_tokens: described('Thinking included', nullable(integer)),
}
/** A call of the calling account. */
export type UsageCall = RowOf<typeof CALL & typeof AMOUNTS & typeof PLANNED & typeof CALL_TOKENS>

const NAMES = {
  name: nullable(text),
  masked: nullable(text),
  member: described('Null: the account itself', nullable(integer)),
  role: nullable(text),
  removed: boolean,
}
const OF_DAYS = Object.fromEntries(
  Object.entries(LATENCIES).map(([name, shape]) => [
    name,
    described('Of the days (UTC) that the period touches', shape),
  ]),
)
/** The calls of a day, a model, a key, a member or a tag. */
export type UsageSum = RowOf<typeof AMOUNTS, typeof NAMES> &
  TokenSums &
  Latencies & {
    readonly day?: string
    readonly model?: string
    readonly key?: number | null
    /** Such as `project=alpha`. */
    readonly tag?: string
    readonly calls: number
  }
const OMITTED = {
  omitted: described('Failed calls before this one that are not kept', integer),
}
/** A failed call of the calling account. `cost`: what was delivered before is charged. */
export type FailedUsage = RowOf<typeof FAILURE & typeof OMITTED> &
  Pick<UsageCall, 'request_id' | 'at' | 'route' | 'model' | 'key' | 'member' | 'cost'> & {
    readonly state: 'failed'
    readonly ms: number
  }
export const USAGE = described(
  'One row for each call; or with `by` for each day, model, key, member or tag',
  object(AMOUNTS, {
    ...CALL,
    ...PLANNED,
    ...CALL_TOKENS,
    day: text,
    calls: integer,
    ...OF_DAYS,
    ...NAMES,
    ...FAILURE,
    ...OMITTED,
  }),
)

/** `failure`: of a call that failed, charged or not. */
export const RECEIPT = object(
  {
    ...CALL,
    ...AMOUNTS,
    closed: nullable(time),
    held: MONEY,
    uncollected: MONEY,
    ...PLANNED,
    planned_tokens: described(
      'The tokens of the call that the plan paid; null: none, or the plan counts money',
      nullable(integer),
    ),
    usage: any,
    lines: list(object({ amount: MONEY }, { meter: text })),
    unpriced: list(text),
    formula: nullable(text),
  },
  { task_id: text, settings: any, failure: object(FAILURE) },
)
export type ReceiptLine = Omit<ChargeView['lines'][number], 'nanos'> & {
  readonly amount: string
}
export type Receipt = Omit<TypeOf<typeof RECEIPT>, 'usage' | 'lines'> & {
  readonly usage: Readonly<Record<string, number>> | null
  readonly lines: readonly ReceiptLine[]
}
