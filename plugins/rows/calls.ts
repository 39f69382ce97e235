/** Rows of calls, for operators: charges, failed calls, the audit and the traffic. A JSON Schema of
 *  each, and its type. */
import {
  any,
  boolean,
  described,
  integer,
  list,
  map,
  nullable,
  number,
  object,
  oneOf,
  open,
  type RowOf,
  type Shape,
  type TypeOf,
  text,
  time,
} from '../shapes.ts'
import { MONEY, TOKENS } from './money.ts'

/** The states of a charge. */
export const CHARGE_STATES = ['open', 'settled', 'released'] as const
/** A charge in lists. `planned`: the part of the cost that the plan of the account paid. */
export const CHARGE_COLUMNS = {
  request: text,
  at: time,
  account: integer,
  account_name: nullable(text),
  key: nullable(integer),
  route: text,
  model: text,
  state: oneOf(...CHARGE_STATES),
  task: nullable(text),
  cost: MONEY,
  held: MONEY,
  refunded: MONEY,
  uncollected: MONEY,
  planned: MONEY,
}
export const CHARGE_ROW = object(CHARGE_COLUMNS)
export type ChargeRow = TypeOf<typeof CHARGE_ROW>
const FINDING = object({ rule: text, subject: text, detail: text })
export const AUDIT = object({ balanced: boolean, time, findings: list(FINDING) })
export type AuditReport = TypeOf<typeof AUDIT>

const LINE = object(
  { meter: text, quantity: text, price: text, per: text, nanos: text },
  { with: map(text), by: map(text), min: text, step: text, factor: text },
)
/** How a provider served a call, without its name. `zone`: by the configuration. */
export const SERVED_FACTS = {
  tier: nullable(text),
  speed: nullable(text),
  geography: nullable(text),
  zone: nullable(text),
  tags: nullable(text),
  rule: described('The rule of the model that chose the target', nullable(text)),
  guard: described('What guards did, such as `pii=masked(2)`', nullable(text)),
  first_content_ms: nullable(integer),
  ms: nullable(integer),
}
export type ServedFacts = RowOf<typeof SERVED_FACTS>
/** The same for operators. `cache`: the id of the call that the upstream answered. */
export const SERVED_VIEW = {
  upstream: nullable(text),
  target: nullable(text),
  upstream_key: nullable(text),
  served_model: nullable(text),
  response_id: nullable(text),
  cache: nullable(text),
  ...SERVED_FACTS,
}
export type ServedView = RowOf<typeof SERVED_VIEW>
/** A charge with all that the ledger has of it. Amounts are decimals in units of the currency,
 *  `nanos` 1e-9 of one. */
export const CHARGE = object({
  request: text,
  account: integer,
  account_name: nullable(text),
  key: nullable(integer),
  member: nullable(integer),
  route: text,
  model: text,
  version: integer,
  state: text,
  opened: time,
  closed: nullable(time),
  hold: text,
  cost: text,
  uncollected: text,
  planned: text,
  /** The tokens that it paid, if it counts tokens. */
  planned_tokens: nullable(integer),
  refunded: text,
  estimated: boolean,
  usage: nullable(map(number)),
  lines: list(LINE),
  formula: nullable(text),
  task: nullable(text),
  settings: any,
  ...SERVED_VIEW,
})
export type ChargeView = TypeOf<typeof CHARGE>

export const FAILURE = { status: integer, code: text, message: text }
/** Why a call failed, as its client was told. */
export type Failure = RowOf<typeof FAILURE>
const RESULT: Shape<string | number> = { type: ['string', 'integer'] }
/** One try of an upstream. `start`: ms after the head of the request. */
export const ATTEMPT = open(
  object(
    {},
    {
      upstream: text,
      target: nullable(text),
      key: described("The first digits of the SHA-256 of the upstream's key.", text),
      result: described('Status of its response, or code of its fault.', RESULT),
      status: described('Of an error in a response with a success status.', integer),
      cause: described('Why there was no response.', text),
      ms: number,
      start: number,
      id: text,
      retry_after: text,
      message: described('What the upstream said.', text),
    },
  ),
)
export type Try = TypeOf<typeof ATTEMPT>
/** A failed call for operators. `account` null: it had no valid credential. */
export const FAILED_CALL_COLUMNS = {
  request: text,
  at: time,
  account: nullable(integer),
  account_name: nullable(text),
  key: nullable(integer),
  route: text,
  model: text,
  status: integer,
  code: text,
  message: described('The error that the client got.', text),
  ms: integer,
  cost: MONEY,
  omitted: described('Failed calls of the account before it that are not kept.', integer),
  attempts: list(ATTEMPT),
}
export const FAILED_CALL = object(FAILED_CALL_COLUMNS)
export type FailedCallView = TypeOf<typeof FAILED_CALL>

// ---------------------------------------------------------------- sums

/** ms of calls that succeeded; null without any. */
export const LATENCIES = {
  first_content_p50_ms: nullable(integer),
  first_content_p99_ms: nullable(integer),
  p50_ms: nullable(integer),
  p99_ms: nullable(integer),
}
export type Latencies = RowOf<typeof LATENCIES>
/** Calls of all accounts by model, upstream, hour or day; by account or key, without upstreams and
 *  times; or of each model by rule, cache or guard. */
export const TRAFFIC = object(
  { name: text, calls: integer, ...TOKENS, cost: MONEY },
  {
    failed: integer,
    model: described('By rule, cache or guard: the model.', text),
    share: described('By rule, cache or guard: of the calls of the model, 0 to 1.', number),
    ...LATENCIES,
  },
)
export type TrafficRow = TypeOf<typeof TRAFFIC>
