/** Refusals of tokens of an identity provider. */
import { errors } from '../../engine/errors.ts'

// RFC 6750 §3.1: a 401 for a token that is not valid names the reason.
const CHALLENGE = { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } }
export const fault = errors({
  JWT_INVALID: [401, 'The token is not valid: %s', CHALLENGE],
  JWT_EXPIRED: [401, 'The token has expired; get a new one from the identity provider', CHALLENGE],
  JWT_AUDIENCE: [401, 'The token is for another audience than this gateway', CHALLENGE],
  JWT_ISSUER: [
    401,
    'The token was issued by another provider than the one of this gateway',
    CHALLENGE,
  ],
  IDENTITY_CLAIM: [403, 'The token cannot be mapped: its claim "%s" %s'],
  IDENTITY_UNKNOWN: [403, 'There is no %s "%s" for this token, and the gateway creates none'],
  IDENTITY_OPERATOR: [403, 'The account "%s" has the role admin; tokens may not use it'],
  SIGN_IN_PROVIDER: [
    503,
    'The identity provider does not answer; try again, or sign in with a token',
    { retryable: true },
  ],
  SIGN_IN_CODE: [401, 'The identity provider did not confirm the sign-in; begin again'],
  IDENTITY_UNAVAILABLE: [
    503,
    'The keys of the identity provider are not known yet; try again',
    { retryable: true, headers: { 'retry-after': '1' } },
  ],
})
