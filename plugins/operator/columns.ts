/** JSON Schemas of the rows that operations return: those of plugins/views.ts. */
import { described, integer, list, nullable, object, oneOf, text, time } from '../shapes.ts'

/** Exact: a JSON number is a float. */
export const MONEY = described('Units of the currency.', text)
const LIMITS = nullable(object({}, { requests: text, tokens: text, concurrency: integer }))

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

export const KEY_COLUMNS = {
  id: integer,
  account: text,
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

export const SPENDING = object({ calls: integer, cost: MONEY })

// As its account sees a credential.
const OWN = {
  id: integer,
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
export const OWN_TOKEN = object({ ...OWN, token: SECRET }, { earlier: EARLIER })
export const OWN_SESSION = object({ ...OWN, session: SECRET })
