/** Errors of account and key commands, and the refusals (AUTH_…) of a caller's credential. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  ACCOUNT_EXISTS: [409, 'The account "%s" exists already'],
  ACCOUNT_UNKNOWN: [404, 'Unknown account "%s"; `tollgate accounts list` shows all accounts'],
  CREDIT_TOO_LARGE: [409, 'The balance of "%s" would exceed 1 billion'],
  CREDIT_UNCONFIRMED: [
    503,
    'It is unknown whether this change of the balance of "%s" was stored: look at `tollgate accounts show` before you repeat it',
  ],
  OVERDRAWN: [
    409,
    'The account "%s" is below that overdraft already, including the holds of running calls',
  ],
  DEBIT_TOO_LARGE: [
    409,
    'Insufficient funds: "%s" has less than that, after the holds of running calls; `tollgate accounts show` shows its balance',
  ],
  CHARGE_UNKNOWN: [
    404,
    'No call has the request id "%s"; `tollgate usage NAME --by call` lists the request ids',
  ],
  REQUEST_UNKNOWN: [
    404,
    'No request has the id "%s" in the request log of this machine, and no charge in the ledger',
  ],
  CHARGE_ARCHIVED: [
    410,
    'The charge of "%s" is in the archive file %s: it can no longer be shown or refunded; `tollgate accounts credit` gives money back',
  ],
  NOTHING_CHARGED: [409, 'Nothing was charged for the call "%s": its state is %s'],
  ALREADY_REFUNDED: [409, 'The call "%s" has been refunded already'],
  ACCOUNT_IN_USE: [
    409,
    'The account "%s" has %s. Settle that first, or delete it with `tollgate accounts delete NAME --force`: its ledger stays',
  ],
  SECRET_EXISTS: [409, 'Another key has this secret'],
  KEY_REVOKED: [409, 'The %s %d is revoked and cannot be changed; create another'],
  KEY_CHANGED: [409, 'The %s %d was changed at the same time; look at it and repeat'],
  QUOTA_IN_USE: [
    409,
    'More than this quota of the key %d is already used or held by running calls',
  ],
  KEY_UNKNOWN: [404, 'Unknown %s %s; `tollgate keys list` shows all keys'],
})

// RFC 9110 §15.5.2: a 401 names the scheme that would be accepted.
const BEARER_CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }
export const refusal = errors({
  AUTH_MISSING: [401, '%s', BEARER_CHALLENGE],
  AUTH_AMBIGUOUS: [
    401,
    'The request has two different API keys or tokens; send one',
    BEARER_CHALLENGE,
  ],
  AUTH_KIND: [401, 'This route accepts %s, not %s', BEARER_CHALLENGE],
  AUTH_UNKNOWN: [401, 'Invalid API key or token', BEARER_CHALLENGE],
  AUTH_REVOKED: [401, 'This API key or token has been revoked', BEARER_CHALLENGE],
  AUTH_EXPIRED: [401, 'This API key or token has expired', BEARER_CHALLENGE],
  AUTH_SCOPE: [403, 'The scope of this system token is "%s": it may not do this'],
  AUTH_ROLE: [403, 'This route requires an account with the role "%s"'],
  AUTH_SIGNED_OUT: [401, 'You are not signed in to the console; open /console and sign in'],
  AUTH_CSRF: [
    403,
    'A request with a session needs the header x-csrf-token; GET /api/session returns its value',
  ],
  ACCOUNT_NUMBER: [
    403,
    'The account name "%s" is a number, which is ambiguous; the plugin that names accounts must add a prefix',
  ],
  AUTH_SUSPENDED: [403, 'This account is suspended'],
  AUTH_GUESSED: [
    429,
    'Invalid API key or token, and too many invalid ones from this address; try again in %d s',
  ],
  AUTH_CROWDED: [
    429,
    'Too many invalid API keys or tokens at once; try again',
    { headers: { 'retry-after': '1' } },
  ],
})
export type RefusalCode = Parameters<typeof refusal>[0]
