/** Errors about the gateway's account at an upstream: by code and type, never by what a request
 *  says. */
import t from 'tap'
import { blameIn } from '../../../plugins/conversion/account-error.ts'

const error = (members: object) => JSON.stringify({ error: members })
const google = (status: string, ...reasons: readonly string[]) =>
  error({ status, message: 'm', details: reasons.map(reason => ({ reason })) })

const KEY: readonly (readonly [status: number, body: string])[] = [
  [401, ''],
  [402, 'Insufficient Balance'],
  [429, error({ type: 'insufficient_quota', code: 'insufficient_quota', message: 'plan' })],
  [403, error({ type: 'billing_error' })],
  [403, error({ code: 'ip_not_authorized' })],
  [403, JSON.stringify({ type: 'error', error: { type: 'permission_error', message: 'm' } })],
  [400, google('INVALID_ARGUMENT', 'API_KEY_INVALID')],
  [400, `[${google('INVALID_ARGUMENT', 'API_KEY_EXPIRED')}]`],
  [403, google('PERMISSION_DENIED', 'BILLING_DISABLED')],
  [403, google('PERMISSION_DENIED', 'CONSUMER_SUSPENDED')],
  [400, JSON.stringify({ code: 'Arrearage', message: 'Access denied' })],
  [429, error({ type: 'exceeded_current_quota_error', message: 'm' })],
  [
    400,
    error({
      type: 'invalid_request_error',
      message: 'Your credit balance is too low to access the API. Please go to Plans & Billing.',
    }),
  ],
]
for (const [status, body] of KEY)
  t.test(`account error: ${status} ${body.slice(0, 60)} is about the key`, async t =>
    t.equal(blameIn(status, body), 'key'),
  )

const ACCOUNT: readonly (readonly [status: number, body: string])[] = [
  [403, ''],
  [403, '<html>Forbidden</html>'],
  [403, google('PERMISSION_DENIED')],
  [403, error({ code: 'moderation', message: 'flagged: invalid_api_key' })],
  [429, error({ message: 'You exceeded your current quota, please check your plan and billing.' })],
  [429, error({ message: 'Resource has been exhausted (e.g. check quota).' })],
  [429, error({ message: 'Rate limit reached for m in organization org-1 on tokens per min.' })],
  [429, error({ message: 'This request would exceed your organization’s rate limit of 9.' })],
]
for (const [status, body] of ACCOUNT)
  t.test(
    `account error: ${status} ${body.slice(0, 60)} is about the account, not the key`,
    async t => t.equal(blameIn(status, body), 'account'),
  )

const CUSTOMER: readonly (readonly [status: number, body: string])[] = [
  [400, error({ message: "Invalid value 'API_KEY_INVALID' for 'response_format'" })],
  [400, error({ message: 'x: Your credit balance is too low to access the API' })],
  [400, error({ param: 'insufficient_quota', type: 'invalid_request_error' })],
  [429, error({ type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'slow down' })],
  [404, error({ type: 'insufficient_quota' })],
  [500, error({ type: 'authentication_error' })],
  [400, '{'],
  [400, 'null'],
]
for (const [status, body] of CUSTOMER)
  t.test(`account error: ${status} ${body.slice(0, 60)} passes`, async t =>
    t.equal(blameIn(status, body), undefined),
  )
