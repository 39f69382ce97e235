/** Rows of accounts, members, keys, tokens and sessions: a JSON Schema of each, and its type. */
import {
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
  type Shape,
  type TypeOf,
  text,
  time,
} from '../shapes.ts'
import { MONEY } from './money.ts'

/** A link that signs in once. */
export const SIGN_IN_LINK = { url: text, expires: time }
export type SignInLinkView = RowOf<typeof SIGN_IN_LINK>

/** From all rights to the fewest. */
export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const
/** Of a system token. */
export const SCOPES = ['read', 'keys', 'all'] as const

const LIMITS = object(
  {},
  {
    requests: text,
    tokens: text,
    concurrency: integer,
    zone: text,
    retention: oneOf('none'),
    /** Such as `project=alpha, feature=search`. */
    tags: text,
  },
)
export type Limits = TypeOf<typeof LIMITS>

export const ACCOUNT_COLUMNS = {
  id: integer,
  name: text,
  role: text,
  state: oneOf('active', 'suspended', 'deleted'),
  keys: integer,
  created: time,
  balance: MONEY,
  used: MONEY,
  overdraft: MONEY,
  limits: nullable(LIMITS),
}
/** An account in lists of operators. */
export type AccountRow = RowOf<typeof ACCOUNT_COLUMNS>

export const MEMBER_COLUMNS = {
  id: integer,
  account: text,
  name: text,
  role: oneOf(...ROLES),
  tags: described('Such as `project=alpha, feature=search`: of its calls.', nullable(text)),
  keys: integer,
  created: time,
}
/** A member of a team, in lists. */
export type MemberView = RowOf<typeof MEMBER_COLUMNS>

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
  limits: nullable(LIMITS),
  quota: described('Quota units that it may spend.', nullable(integer)),
  quota_period: described('null: the quota is for life.', nullable(oneOf('day', 'month'))),
  remaining: nullable(integer),
  used: described('Units of the currency.', nullable(text)),
}
/** A credential without its secret, for operators. */
export type KeyView = RowOf<typeof KEY_COLUMNS>

const SPENDING = object({ calls: integer, cost: MONEY })
const LAST_CALL = object({
  request: text,
  at: time,
  model: text,
  key: nullable(integer),
  cost: MONEY,
  state: text,
})
/** Of a single account, beside its columns. `holds`: the part of the balance that running calls and
 *  tasks hold; `today`: since midnight, `month`: since the first of the month, UTC. */
export const ACCOUNT_DETAILS = {
  holds: MONEY,
  today: SPENDING,
  month: SPENDING,
  credentials: list(object(KEY_COLUMNS)),
  calls: list(LAST_CALL),
}
export type AccountDetails = AccountRow & RowOf<typeof ACCOUNT_DETAILS>
/** In quota units; null: no quota, or one for life. */
export type QuotaSetting = Pick<KeyView, 'quota' | 'quota_period'>

/** The calling account: the specification has `balance` and `quota` as numbers. */
export const PROFILE = object({
  id: integer,
  username: text,
  display_name: text,
  role: text,
  group: text,
  balance: described('Units of the currency', number),
  quota: described('The balance in quota units: 500,000 to a unit of the currency', number),
  used_quota: number,
  held: described('Reserved for calls under way, in units of the currency', text),
})
export type Profile = TypeOf<typeof PROFILE>

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
    limits: nullable(LIMITS),
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
/** An API key of the calling account. */
export type OwnKey = TypeOf<typeof OWN_KEY>
/** A system token or a session of the calling account. */
export type OwnToken = RowOf<
  typeof OWN,
  { token: Shape<string>; session: Shape<string>; scope: Shape<string> }
>

const WHO = object({ id: integer, name: text, role: text })
/** `csrf`: the token that a change needs; `url`: the public address of the gateway; `admin`:
 *  whether the pages of operators are served. */
export const SESSION = object({
  account: WHO,
  member: described('Of the team; null: the account itself.', nullable(WHO)),
  csrf: text,
  url: text,
  currency: text,
  admin: boolean,
  edit: boolean,
  titles: described('For operators: titles of upstreams by name, where they differ.', map(text)),
})
export type SessionView = TypeOf<typeof SESSION>
