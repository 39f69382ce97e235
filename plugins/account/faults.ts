/** The refusals of the account endpoints. No refusal reveals more about a credential than its owner
 *  knows. */
import { errors } from '../../engine/errors.ts'

// RFC 9110 §15.5.2: a 401 names the scheme that would be accepted.
const BEARER_CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }

export const fault = errors({
  KEY_MISSING: [400, 'Send exactly one API key: ?key=sk-…', { param: 'key' }],
  KEY_NOT_KNOWN: [401, 'Invalid API key', { param: 'key' }],
  KEYS_GUESSED: [
    429,
    'Too many invalid API keys from this address; try again in %d s',
    { param: 'key' },
  ],
  HEADER_MISSING: [401, 'No Authorization header', BEARER_CHALLENGE],
  BEARER_NOT_KNOWN: [401, 'Invalid Bearer token', BEARER_CHALLENGE],

  TOKEN_PAGE: [400, '`%s` must be a page number; at most 10,000 rows are listed'],
  TOKEN_STATUS: [
    400,
    'Keys cannot be disabled here: delete this one, or set its `expired_time`',
    { param: 'status' },
  ],
  TOKEN_ADDRESSES: [
    400,
    'Keys cannot be bound to addresses here: send no `allow_ips`',
    { param: 'allow_ips' },
  ],

  USAGE_INSTANT: [
    400,
    '%s must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z',
    {},
  ],
  USAGE_PERIOD: [400, '`from` must be before `to`', { param: 'from' }],
  USAGE_BY: [400, '`by` must be one of %s', { param: 'by' }],
  USAGE_SORT: [400, '`sort` must be one of %s', { param: 'sort' }],
  USAGE_ORDER: [400, '`order` must be asc or desc', { param: 'order' }],
  USAGE_FORMAT: [400, '`format` must be json or csv', { param: 'format' }],
  USAGE_LIMIT: [400, '`limit` must be a whole number from 1 to %d', { param: 'limit' }],
  USAGE_CURSOR: [
    400,
    '`cursor` must be the `next` of the previous page of the same query',
    { param: 'cursor' },
  ],
  USAGE_FILTER: [400, '%s'],
  USAGE_TWICE: [400, '`%s` must not be repeated'],
  RECEIPT_UNKNOWN: [404, 'Unknown request id: %s'],
  RECEIPT_ARCHIVED: [
    410,
    'The charge of %s was archived on %s; ask the operator of this gateway for its receipt. Its cost remains in the sums of its day',
  ],
})
