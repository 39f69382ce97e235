/** Rows of alerts, consents, the log of actions, the cache, mirrors and changes of the
 *  configuration: a JSON Schema of each, and its type. */
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
  type RowOf,
  type TypeOf,
  text,
  time,
} from '../shapes.ts'
import { MONEY } from './money.ts'

export const ALERT_COLUMNS = {
  rule: text,
  object: described('What it is about: an upstream and its address, a route, a model.', text),
  state: oneOf('pending', 'firing', 'resolved'),
  since: time,
  text,
}
export type AlertRow = RowOf<typeof ALERT_COLUMNS>
export const ALERT_RULES = {
  rules: list(
    object({
      rule: text,
      state: oneOf('off', 'kept', 'pending', 'firing'),
      firing: described('Objects that fire.', integer),
      fired: described('The last time in 30 days.', nullable(time)),
      recovered: described('The last time in 30 days.', nullable(time)),
      waits: described('Whether its messages wait in quiet hours.', boolean),
    }),
  ),
  receivers: list(text),
  quiet: nullable(
    object({
      from: text,
      to: text,
      zone: text,
      until: described('When messages that wait now are sent.', nullable(time)),
    }),
  ),
}
/** Every rule, the receivers, and the quiet hours. */
export type AlertRules = RowOf<typeof ALERT_RULES>
export type AlertRuleRow = AlertRules['rules'][number]
export const TEST_COLUMNS = {
  receiver: described('Its kind and the host of its address.', text),
  state: oneOf('pending', 'delivered', 'failed'),
  message: text,
}
/** A receiver, and what became of the message. */
export type AlertTestRow = RowOf<typeof TEST_COLUMNS>
export const CONSENT_COLUMNS = {
  account: text,
  consents: boolean,
  since: described('When it consented; null: it has not.', nullable(time)),
}
export type ConsentRow = RowOf<typeof CONSENT_COLUMNS>

export const ACTION_COLUMNS = {
  seq: integer,
  at: time,
  actor: text,
  via: text,
  account: nullable(integer),
  credential: nullable(text),
  user: described('Of the operating system, of a command.', nullable(text)),
  address: nullable(text),
  request: nullable(text),
  operation: text,
  object: text,
  before: any,
  after: any,
  key: described('Id of the key that signed the row.', text),
  prev: described('Signature of the row before.', text),
  mac: described('Signature of the row.', text),
}
export type ActionView = RowOf<typeof ACTION_COLUMNS>
/** `gap`: rows are missing; `break`: one was changed; `cut`: the last ones are missing; `key`: one
 *  was signed with another key. */
const FINDING = object({ kind: oneOf('gap', 'break', 'cut', 'key'), seq: integer, detail: text })
export type ActionFinding = TypeOf<typeof FINDING>
/** `last`: number of the last row; `deleted`: rows up to this one were deleted by age; `heads`:
 *  published ones that were compared. */
export const ACTION_REPORT = object({
  intact: boolean,
  rows: integer,
  last: integer,
  deleted: integer,
  heads: integer,
  findings: list(FINDING),
})
export type ActionReport = TypeOf<typeof ACTION_REPORT>

// ---------------------------------------------------------------- cache and mirrors

/** Answers of the cache in the store. */
export const CACHE_COLUMNS = { answers: integer, bytes: integer }
export type CacheRow = RowOf<typeof CACHE_COLUMNS>
export const PURGE_COLUMNS = { removed: integer }
export type CachePurgeRow = RowOf<typeof PURGE_COLUMNS>
/** Calls of a model and their copies at a target. `first`: of the customers' calls. */
export const MIRROR_COLUMNS = {
  model: text,
  target: text,
  calls: described('Calls that were sent twice.', integer),
  first_failed: described('Calls of customers that failed.', integer),
  failed: described('Copies that failed.', integer),
  first_ms: described('The mean time to the whole answer.', integer),
  ms: described('Of the copies.', integer),
  first_input: integer,
  first_output: integer,
  input: integer,
  output: integer,
  first_cost: described('What customers paid.', MONEY),
  cost: described('What the copies cost the operator.', MONEY),
  compared: described('Pairs of two whole answers.', integer),
  agreed: described('Pairs that were alike.', integer),
  agreement: described('Their share; null: no pair was compared.', nullable(number)),
}
export type MirrorReportRow = RowOf<typeof MIRROR_COLUMNS>

// ---------------------------------------------------------------- the configuration

/** A change of a file. `saved`: no gateway runs in this process; `lines`: of a unified diff;
 *  `hash`: SHA-256 of the text before the change; `version`: the one that is live now. */
export const CHANGE = object({
  state: oneOf('preview', 'live', 'saved', 'unchanged'),
  file: text,
  lines: list(text),
  hash: text,
  problems: list(object({ file: text, line: integer, column: integer, text })),
  version: nullable(integer),
})
export type ConfigurationChange = TypeOf<typeof CHANGE>
/** `needs`: options that an upstream must add, with a description of each; `variable`: the
 *  environment variable of its key; null: it needs none. */
export const PRESET_COLUMNS = {
  name: text,
  title: text,
  needs: map(text),
  variable: nullable(text),
}
export type PresetRow = RowOf<typeof PRESET_COLUMNS>
/** `isConfigured`: a model of the configuration has it as its target. */
export const OFFER_COLUMNS = { model: text, isConfigured: boolean }
export type OfferRow = RowOf<typeof OFFER_COLUMNS>
/** The answer of an upstream to one of its keys. */
export const UPSTREAM_FINDING = object({
  upstream: text,
  address: text,
  key: text,
  answer: text,
  fails: boolean,
  models: described('How many it has.', nullable(integer)),
})
export type UpstreamFinding = TypeOf<typeof UPSTREAM_FINDING>
