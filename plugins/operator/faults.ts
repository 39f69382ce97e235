/** Refusals of operations. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  ADMIN_SELF: [
    409,
    'You are signed in as "%s" and would lock yourself out: let another operator do this, or use the command line',
    { param: 'account' },
  ],
  ADMIN_NUMBER: [400, "Invalid 'name': a number alone is not a name", { param: 'name' }],
  CREDENTIAL_UNKNOWN: [404, 'Unknown %s'],
  KEY_MODEL: [400, 'There is no model "%s"; %s', { param: 'models' }],
  EXPIRES_TIME: [
    400,
    '`expires` must be a date such as 2030-01-31, or a time such as 2030-01-31T12:00:00Z',
    { param: 'expires' },
  ],
  EXPIRES_PAST: [400, '`expires` is in the past', { param: 'expires' }],
  TOKEN_LIMITS: [400, 'a system token calls no models: it has no models, quota or limits'],
  SECRET_INVALID: [
    400,
    'The secret of an API key must have 1 to 512 visible ASCII characters, and begin with none of st-, ss- and sl-, which are other kinds of credentials; a system token has no chosen secret',
    { param: 'secret' },
  ],
  KEY_OF_IDENTITY: [
    409,
    'API key %d has no secret: tokens of an identity provider use it. Keys are rotated at the provider; `tollgate keys revoke %d` blocks the person',
  ],
  KEY_ENDED: [
    409,
    'API key %d has a secret, which stays revoked: only identities of a provider can be admitted again. Create another key',
  ],
  KEY_NOT_REVOKED: [409, 'API key %d is not revoked: tokens of its identity are valid'],
  EVENT_UNKNOWN: [404, 'Unknown event "%s"; `tollgate webhooks list` shows the last events'],
  EVENT_UNWANTED: [
    409,
    'Event "%s" has no receiver: its account has no webhook URL, or the receiver answered 410; save the URL again',
  ],
  ADMIN_NO_TASKS: [409, 'No route of this configuration creates tasks'],
  ADMIN_NO_BATCHES: [409, 'No route of this configuration creates batches'],
  ADMIN_NO_ALERTS: [
    409,
    'No alerts are configured: add the section `alerts:`, and `alerts` to `pipeline:`',
  ],
  ADMIN_NO_MIRROR: [409, 'No model has `mirror:`: write it in an entry of `models:`'],
  ADMIN_NO_CACHE: [409, 'No model uses the cache: write `cache: exact` in an entry of `models:`'],
  ADMIN_NO_JOURNAL: [
    409,
    'No journal is configured: add the section `journal:`, and `journal` to `pipeline:`',
  ],
  ADMIN_QUERY: [400, 'Invalid `%s`: expected %s'],
  KEY_SCOPE: [400, 'Only system tokens have a scope', { param: 'scope' }],
  BUDGET_OWNER: [
    400,
    'Name the owner of the budget: an account, an account and its member, or an API key',
  ],
  BUDGET_INVALID: [400, 'Invalid budget: %s'],
  BUDGET_MISSING: [404, 'The owner has no budget "%s" of its own', { param: 'name' }],
  PLAN_UNKNOWN: [400, 'There is no plan "%s" in `plans:`, which has: %s', { param: 'plan' }],
  PLAN_MISSING: [404, 'The account "%s" has no plan', { param: 'account' }],
  PLAN_NOT_SOLD: [
    409,
    'The plan "%s" has no price: only an operator can assign it',
    { param: 'plan' },
  ],
  PLAN_UNAFFORDABLE: [403, 'The plan costs %s, and %s of the balance is available. Add credit'],
  PLAN_CHANGED: [409, 'The plan of the account was changed at the same time. Repeat the request'],
  PLAN_OWNED: [
    409,
    'The account has the plan "%s". The code stays valid: redeem it when that plan has ended, or ask your operator',
    { param: 'code' },
  ],
  PLAN_NO_RENEWAL: [409, 'The plan "%s" does not renew itself; it ends %s'],
  PLAN_EXPIRY: [400, 'The end of the plan is in the past', { param: 'expires' }],
  CODE_UNKNOWN: [404, 'There is no such code', { param: 'code' }],
  CODE_WORTH: [400, 'Give an amount above 0, or a plan', { param: 'amount' }],
  CODE_SPENT: [409, 'The code was redeemed, revoked or has expired', { param: 'code' }],
  CODES_GUESSED: [429, 'Too many unknown codes; try again in %d s'],
  PRESET_UNKNOWN: [400, 'There is no preset "%s"; %s', { param: 'preset' }],
  PRESET_VALUE: [400, 'The preset "%s" needs %s: %s', { param: 'values' }],
  PRESET_VALUE_UNKNOWN: [400, 'The preset "%s" has no value "%s"; %s', { param: 'values' }],
  MODEL_PRICE: [400, 'Give the prices of the model, or say that it is free', { param: 'prices' }],
  NO_MODEL_LISTS: [409, 'No route of this configuration translates between formats'],
  ROUTE_UNKNOWN: [404, 'There is no route "%s"; `tollgate routes` lists them', { param: 'route' }],
  LIMIT_MISSING: [400, 'Give a limit: requests, tokens or concurrency', { param: 'requests' }],
  EDIT_PROBLEMS: [409, 'Nothing was saved: %s:%d:%d %s'],
  EDIT_NOT_LIVE: [409, 'The file "%s" was saved, but version %d serves on: %s'],
  EDIT_CONFLICT: [
    409,
    'The file "%s" was changed meanwhile. Nothing was saved. Look at the change again, then save it.',
  ],
  ADMIN_AMOUNT: [400, 'The amount must be above 0', { param: 'amount' }],
})
/** `expected`: what the member of a query may be. */
export const queryFault = (name: string, expected: string): Error =>
  fault('ADMIN_QUERY', [name, expected], { param: name })
