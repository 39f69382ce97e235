/** Logout tokens of the identity provider: OpenID Connect Back-Channel Logout 1.0 §2.4 and §2.6. */
import { hash } from 'node:crypto'
import { isFields } from '../../engine/kit.ts'
import type { LogoutToken } from '../credentials/identity-sessions.ts'
import type { Claims } from './claims.ts'
import { fault } from './faults.ts'
import type { KeySet } from './key-set.ts'
import type { ClientSection } from './sign-in-client.ts'
import { SKEW, verifySigned } from './signed-token.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** ms since `iat` for which a token is accepted: longer ones would have to be remembered. */
const LONGEST_LIFE = 600_000

/** The store has it in place of `sub` or `sid`. */
export const providerDigest = (issuer: string, value: string): string =>
  hash('sha256', JSON.stringify([issuer, value]))

/** Rejects with JWT_… or IDENTITY_UNAVAILABLE. */
export const verifyLogout = async (
  token: string,
  { issuer, client_id }: Pick<ClientSection, 'issuer' | 'client_id'>,
  keys: Pick<KeySet, 'find'>,
): Promise<LogoutToken> => {
  const requiredClaims = ['exp', 'iat', 'jti']
  const expected = { issuer, audience: [client_id], requiredClaims }
  const { payload, type } = await verifySigned(token, keys, expected)
  const { events, nonce, jti, sid, sub } = payload
  // A type that is present must be right; older providers send none.
  if (!['', 'jwt', 'logout+jwt'].includes(type) || !isFields(events) || !isFields(events[EVENT]))
    throw fault('JWT_INVALID', ['it is not a logout token'])
  if (nonce !== undefined) throw fault('JWT_INVALID', ['a logout token has no nonce'])
  const by = typeof sid === 'string' ? 'session' : 'user'
  const value = by === 'session' ? sid : sub
  if (typeof value !== 'string' || value === '' || typeof jti !== 'string' || jti === '')
    throw fault('JWT_INVALID', ['it names no session, or has no jti'])
  return {
    by,
    of: providerDigest(issuer, value),
    digest: providerDigest(issuer, `jti ${jti}`),
    expires: expiryOf(payload),
  }
}
const expiryOf = ({ iat, exp }: Claims): number => {
  if (Number(iat) * 1_000 < Date.now() - LONGEST_LIFE)
    throw fault('JWT_INVALID', ['it is older than 10 minutes'])
  return (Number(exp) + SKEW) * 1_000
}
