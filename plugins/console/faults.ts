/** The refusals of the console: sign-in, and the endpoints of operators. No refusal says which part
 *  of a credential is wrong. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  SIGN_IN_ORIGIN: [403, 'Sign in on the page of the console itself, not from another site'],
  SIGN_IN_TOKEN: [
    401,
    'This system token is invalid, expired or revoked; `tollgate keys create ACCOUNT --system` makes another',
    { param: 'token' },
  ],
  SIGN_IN_KEY: [
    401,
    'This is an API key; sign in with a system token (st-…) of the account',
    { param: 'token' },
  ],
  SIGN_IN_LINK: [
    401,
    'This sign-in link has expired or has been used; ask your operator for another',
    { param: 'link' },
  ],
  SIGN_IN_SCOPE: [403, 'The scope of this system token is "%s": it cannot sign in to the console'],
  SIGN_IN_SUSPENDED: [403, 'This account is suspended; ask your operator'],
  SIGN_IN_LIMIT: [429, 'Too many failed sign-ins; try again in %d s'],
  SIGN_IN_STATE: [
    400,
    'This sign-in began in another browser, or more than ten minutes ago; begin again',
  ],
  SIGN_IN_DENIED: [403, 'The identity provider did not sign you in: %s'],
  SIGN_IN_NO_PROVIDER: [
    404,
    'The console has no sign-in by an identity provider: `identity:` has no `client_id`',
  ],
  LOGOUT_REPEATED: [400, 'This logout token was used before'],
  ROUTE_NOT_FOUND: [404, 'Invalid URL (%s %s)'],
  FILE_UNKNOWN: [404, 'No such file of the console; reload the page'],
  ADMIN_OFF: [
    404,
    'The admin API is switched off here (console: { admin: false }); use the admin listener',
  ],
  ADMIN_UNKNOWN: [404, 'Unknown admin endpoint: %s; GET /api/admin/endpoints lists them'],
  ADMIN_STATUS: [
    400,
    'Invalid `status`: expected a status such as 429 or a class such as 5xx',
    { param: 'status' },
  ],
  ADMIN_NO_TEST: [409, 'No route of this configuration translates between formats'],
  ADMIN_STREAMS: [429, 'Too many live views are open in this process; close one and try again'],
  ADMIN_EDIT: [
    403,
    'Editing is switched off, as everywhere but on loopback: set console: { edit: true } in routes.yaml',
  ],
  ADMIN_NOT_LIVE: [409, 'It has problems, and version %d serves on: %s'],
  ADMIN_PROBLEMS: [409, 'Nothing was saved: %s:%d:%d %s', { param: 'text' }],
})
