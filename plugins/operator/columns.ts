/** JSON Schemas of the rows that operations return: those of plugins/views.ts. */
import { ROLES } from '../credentials/members.ts'
import { SCOPES } from '../credentials/scopes.ts'
import { PERIODS } from '../ledger/budgets/window.ts'
import {
  any,
  boolean,
  described,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
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
/** A credit, debit or refund. A debit is negative. */
export const CREDIT_COLUMNS = {
  id: integer,
  at: time,
  kind: oneOf('credit', 'debit', 'refund'),
  amount: MONEY,
  request: described('Of a refund.', nullable(text)),
  note: text,
}
const LIMITS = nullable(
  object(
    {},
    {
      requests: text,
      tokens: text,
      concurrency: integer,
      zone: text,
      retention: oneOf('none'),
      tags: text,
    },
  ),
)

export const ACCOUNT_COLUMNS = {
  id: integer,
  name: text,
  role: text,
  state: text,
  keys: integer,
  created: time,
  balance: MONEY,
  used: MONEY,
  overdraft: MONEY,
  limits: LIMITS,
}

/** The member of the team that a credential belongs to. */
const MEMBER = described('Of the team; null: it belongs to the account itself.', nullable(text))
export const KEY_COLUMNS = {
  id: integer,
  account: text,
  member: MEMBER,
  name: text,
  key: described('Its beginning and its end.', text),
  state: oneOf('active', 'expired', 'revoked', 'suspended'),
  created: time,
  expires: nullable(time),
  models: nullable(list(text)),
  limits: LIMITS,
  quota: described('Quota units that it may spend.', nullable(integer)),
  quota_period: described('null: the quota is for life.', nullable(oneOf('day', 'month'))),
  remaining: nullable(integer),
  used: described('Units of the currency.', nullable(text)),
}

export const MEMBER_COLUMNS = {
  id: integer,
  account: text,
  name: text,
  role: oneOf(...ROLES),
  keys: integer,
  created: time,
}

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
  at_limit: described('`refuse`, `warn`, or the model that calls go to.', any),
  shadow: nullable(boolean),
  alert_at: nullable(list(text)),
  used: described('Units of the currency, or tokens, in the window of now.', nullable(text)),
  resets: described('When the window ends; null: never.', nullable(time)),
  problem: described(
    'Why the budget cannot be read, so that its terms are null; null: it can.',
    nullable(text),
  ),
}

export const PLAN_COLUMNS = {
  account: described('The name of the account.', text),
  plan: text,
  state: described(
    '`unpaid`: it ended, since the balance did not cover its price; `unknown`: `plans:` has no plan of this name.',
    oneOf('active', 'expired', 'unpaid', 'unknown'),
  ),
  since: time,
  expires: described('When the plan ends; null: never.', nullable(time)),
  amount: described('Units of the currency that the window of now began with.', text),
  used: text,
  remaining: text,
  resets: described('When the window ends; null: never.', nullable(time)),
  renews: described(
    'The price of the next window; null: it does not renew itself.',
    nullable(text),
  ),
}
export const PLAN_OFFER = {
  plan: text,
  price: described('Units of the currency for each window.', text),
  amount: described('Units of the currency that it pays in each window.', text),
  per: oneOf(...PERIODS),
  zone: text,
  models: described('null: all.', nullable(list(text))),
  after: oneOf('wallet', 'refuse'),
  renew: oneOf('auto', 'never'),
}

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

export const SPENDING = object({ calls: integer, cost: MONEY })

// As its account sees a credential.
const OWN = {
  id: integer,
  member: MEMBER,
  name: text,
  state: oneOf('active', 'expired', 'revoked'),
  created: time,
  expires: nullable(time),
}
const SECRET = described('Masked; in full only where it was created', text)
export const EARLIER = described(
  'After a rotation: the secret before, masked, and when it ends; null: it has ended',
  object({ key: text, expires: nullable(time) }),
)
export const OWN_KEY = object(
  {
    ...OWN,
    key: SECRET,
    models: nullable(list(text)),
    limits: LIMITS,
    quota: nullable(integer),
    quota_period: described('null: the quota is for life', nullable(oneOf('day', 'month'))),
    remaining_quota: nullable(integer),
    used_quota: described('In the period of the quota', integer),
  },
  { earlier: EARLIER },
)
export const OWN_TOKEN = object(
  { ...OWN, token: SECRET, scope: oneOf(...SCOPES) },
  { earlier: EARLIER },
)
export const OWN_SESSION = object({ ...OWN, session: SECRET })

// ---------------------------------------------------------------- tasks, batches, webhooks, alerts

export const TASK_STATES: readonly string[] =
  'accepted submitting submitted running unknown succeeded failed'.split(' ')
export const TASK_COLUMNS = {
  id: text,
  account: integer,
  account_name: nullable(text),
  model: text,
  state: oneOf(...TASK_STATES),
  held: MONEY,
  created: time,
  upstream: text,
  upstream_id: text,
  error: text,
}
/** A task as it is stored. */
export const TASK_VIEW = object(
  {
    id: text,
    account: integer,
    route: text,
    model: text,
    state: oneOf(...TASK_STATES),
    created: time,
  },
  {
    key: nullable(integer),
    request: text,
    path: text,
    body: any,
    target: any,
    upstreamId: text,
    attempts: integer,
    failures: integer,
    progress: nullable(number),
    error: any,
    results: any,
    copies: any,
    isCopying: boolean,
    changed: time,
    deadline: time,
    expires: time,
    late: boolean,
    isCall: boolean,
    started: nullable(number),
    callback: any,
    callbacks: any,
    held: nullable(text),
  },
)

export const BATCH_STATES: readonly string[] =
  'validating in_progress finalizing cancelling completed failed cancelled expired'.split(' ')
export const BATCH_COLUMNS = {
  id: text,
  account: integer,
  account_name: text,
  endpoint: text,
  state: oneOf(...BATCH_STATES),
  total: integer,
  completed: integer,
  failed: integer,
  created: time,
  expires: time,
  error: text,
}
export const EVENT_COLUMNS = {
  id: text,
  account: integer,
  account_name: nullable(text),
  receiver: described('The host of its URL.', text),
  state: oneOf('pending', 'delivered', 'failed'),
  attempts: integer,
  created: nullable(time),
  last: nullable(time),
  next: nullable(time),
  outcome: nullable(text),
  status: nullable(integer),
}
export const MAIL_COLUMNS = {
  id: text,
  account: text,
  address: text,
  kind: described('`code` confirms an address; `low`: a low balance.', oneOf('code', 'low')),
  state: oneOf('pending', 'delivered', 'failed'),
  attempts: integer,
  created: time,
  next: nullable(time),
  message: described('The result of the last attempt.', text),
}
export const ALERT_COLUMNS = {
  rule: text,
  object: described('What it is about: an upstream and its address, a route, a model.', text),
  state: oneOf('pending', 'firing', 'resolved'),
  since: time,
  text,
}
export const CONSENT_COLUMNS = {
  account: text,
  consents: boolean,
  since: described('When it consented; null: it has not.', nullable(time)),
}
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
export const TEST_COLUMNS = {
  receiver: described('Its kind and the host of its address.', text),
  state: oneOf('pending', 'delivered', 'failed'),
  message: text,
}
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
