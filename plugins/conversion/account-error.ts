/** Decides whether an error response of an upstream is about the gateway's own account there: its
 *  key, its permissions or its billing. Pure. A customer must not be able to rest keys by the
 *  content of a request: only codes and types count, and sentences that begin a message. */
import type { Json } from '../../engine/plugin.ts'
import { isFields, lenientObjects, lenientText, parseJson } from '../formats/fields.ts'

/** `key`: the key is useless until the operator acts. `account`: the error is about the account,
 *  but the key may serve other requests. */
export type Blame = 'key' | 'account'

/** Codes and types, in lower case, by what they name. */
const NAMES: ReadonlySet<string> = new Set(
  [
    // the key
    'invalid_api_key incorrect_api_key invalid_authentication authentication_error',
    'api_key_invalid api_key_expired api_key_service_blocked api_key_http_referrer_blocked',
    'api_key_ip_address_blocked account_deactivated organization_deactivated access_terminated',
    'consumer_invalid consumer_suspended unauthenticated',
    // a permission
    'permission_error permission_denied_error insufficient_permissions ip_not_authorized',
    'invalid_organization mismatched_organization mismatched_project service_disabled',
    'unsupported_country_region_territory access_token_scope_insufficient',
    // the billing
    'insufficient_quota insufficient_user_quota insufficient_balance billing_error',
    'billing_not_active billing_disabled billing_hard_limit_reached arrearage',
    'exceeded_current_quota_error credit_balance_too_low',
  ].flatMap(line => line.split(' ')),
)
/** Beginnings of messages: some providers send no code. */
const MESSAGES: readonly (readonly [pattern: RegExp, blame: Blame])[] = [
  [/^your credit balance is too low to access/i, 'key'],
  [/^your account is not active, please check your billing/i, 'key'],
  [/^you exceeded your current quota/i, 'account'],
  [/^resource has been exhausted/i, 'account'],
  [/^this request would exceed your (?:organization|account|workspace)/i, 'account'],
  [/^rate limit reached for .{1,200} in (?:organization|project) /i, 'account'],
]
const KEY_STATUSES: ReadonlySet<number> = new Set([401, 402])
const MAY_BLAME: ReadonlySet<number> = new Set([400, 401, 402, 403, 429])

/** Whether the body of an error with this status has to be read. */
export const mayBlame = (status: number): boolean => MAY_BLAME.has(status)

export const blameIn = (status: number, body: string): Blame | undefined => {
  if (!mayBlame(status)) return undefined
  if (KEY_STATUSES.has(status)) return 'key'
  const { names, message } = read(parseJson(body))
  if (names.some(name => NAMES.has(name))) return 'key'
  const blame = MESSAGES.find(([pattern]) => pattern.test(message))?.[1]
  return blame ?? (status === 403 ? 'account' : undefined)
}

/** Codes, types and reasons of an error in any format. A stream's error may be in an array. */
const read = (body: Json | undefined): { readonly names: string[]; readonly message: string } => {
  const object = Array.isArray(body) ? (body[0] as Json | undefined) : body
  const fields = isFields(object) ? object : {}
  const error = isFields(fields.error) ? fields.error : fields
  const texts = [
    lenientText(error, 'code'),
    lenientText(error, 'type'),
    ...lenientObjects(error, 'details').map(detail => lenientText(detail, 'reason')),
  ]
  return {
    names: texts.flatMap(text => text?.toLowerCase() ?? []),
    message: lenientText(error, 'message') ?? lenientText(fields, 'error') ?? '',
  }
}
