/** What can be wrong with an account or a key; and, under AUTH, with what a caller presents. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  ACCOUNT_EXISTS: [409, 'There is an account "%s" already'],
  ACCOUNT_UNKNOWN: [404, 'There is no account "%s"; `tollgate accounts list` shows all'],
  CREDIT_TOO_LARGE: [409, 'The balance of "%s" would be more than an account can hold'],
  OVERDRAWN: [409, 'The account "%s" is further down than that already, with what its calls hold'],
  DEBIT_TOO_LARGE: [409, 'The account "%s" has not as much, beside what its calls hold'],
  CHARGE_UNKNOWN: [404, 'There is no call "%s"'],
  NOTHING_CHARGED: [409, 'Nothing was charged for "%s": it is %s'],
  ALREADY_REFUNDED: [409, 'The call "%s" was refunded already'],
  KEY_UNKNOWN: [404, 'There is no %s %s; `tollgate keys list` shows all'],
})

// RFC 9110 §15.5.2: a 401 names the scheme that would be accepted.
const unauthorized = { headers: { 'www-authenticate': 'Bearer' } }
export const refusal = errors({
  AUTH_MISSING: [
    401,
    'No credential was given; send it as "Authorization: Bearer %s…"',
    unauthorized,
  ],
  AUTH_AMBIGUOUS: [401, 'Two different credentials were given at once; send one', unauthorized],
  AUTH_KIND: [401, 'This route takes %s, not %s', unauthorized],
  AUTH_UNKNOWN: [401, 'This credential is not known here', unauthorized],
  AUTH_REVOKED: [401, 'This credential was revoked', unauthorized],
  AUTH_EXPIRED: [401, 'This credential has expired', unauthorized],
  AUTH_ROLE: [403, 'This route is for accounts with the role "%s"'],
  AUTH_SUSPENDED: [403, 'This account is suspended'],
  AUTH_GUESSED: [
    429,
    'This credential is not known here, and neither were many others from this address; try again in %d s',
  ],
  AUTH_CROWDED: [
    429,
    'Too many unknown credentials at once; try again',
    { headers: { 'retry-after': '1' } },
  ],
})
export type RefusalCode = Parameters<typeof refusal>[0]
