/** What the account endpoints refuse: one row each. Nothing here says more of a credential than its holder knows. */
import { errors } from '../../engine/errors.ts'

// RFC 9110 §15.5.2: a 401 names the scheme that would be accepted.
const unauthorized = { headers: { 'www-authenticate': 'Bearer' } }

export const fault = errors({
  KEY_MISSING: [400, 'Say which API key is meant, once: ?key=sk-…', { param: 'key' }],
  KEY_NOT_KNOWN: [401, 'This API key is not known here', { param: 'key' }],
  KEYS_GUESSED: [
    429,
    'Too many keys from this address are not known here; try again in %d s',
    { param: 'key' },
  ],
  HEADER_MISSING: [401, 'No Authorization header', unauthorized],
  BEARER_NOT_KNOWN: [401, 'Invalid Bearer token', unauthorized],

  USAGE_INSTANT: [
    400,
    '%s is a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z',
    {},
  ],
  USAGE_PERIOD: [400, '`from` lies before `to`', { param: 'from' }],
  USAGE_BY: [400, '`by` is one of %s', { param: 'by' }],
  USAGE_LIMIT: [400, '`limit` is a whole number from 1 to %d', { param: 'limit' }],
  USAGE_CURSOR: [
    400,
    '`cursor` is what the page before said under `next`, for the same question',
    { param: 'cursor' },
  ],
  USAGE_TWICE: [400, '`%s` is said twice'],
  RECEIPT_UNKNOWN: [404, 'No such call: %s'],

  CREDENTIAL_UNKNOWN: [404, 'There is no such %s'],
  CREDENTIAL_REVOKED: [409, 'It was revoked, and changes no more'],
  EXPIRES_PAST: [400, '`expires` lies in the past', { param: 'expires' }],
  QUOTA_IN_USE: [
    409,
    'More than this quota is used, or held by calls under way',
    { param: 'quota' },
  ],
})
