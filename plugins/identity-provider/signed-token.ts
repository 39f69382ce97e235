/** Verifies the signature and the standard claims of a token of the identity provider. */
import { TollgateError } from '../../engine/errors.ts'
import type { Claims } from './claims.ts'
import { fault } from './faults.ts'
import type { KeySet } from './key-set.ts'

// Not HS…: the public key would be the secret. Not `none`.
const ALGORITHMS = ['RS', 'PS', 'ES'].flatMap(each => [256, 384, 512].map(bits => `${each}${bits}`))
const ACCEPTED = [...ALGORITHMS, 'EdDSA', 'Ed25519']
/** s by which clocks may differ. */
export const SKEW = 60
/** Most characters of a token. */
export const LONGEST = 16_384

interface Expected {
  readonly issuer: string
  readonly audience: readonly string[]
  readonly requiredClaims: readonly string[]
}
interface SignedToken {
  readonly payload: Claims
  /** In lower case; '' without one. */
  readonly type: string
}
/** Rejects with JWT_… or IDENTITY_UNAVAILABLE. */
export const verifySigned = async (
  token: string,
  keys: Pick<KeySet, 'find'>,
  { issuer, audience, requiredClaims }: Expected,
): Promise<SignedToken> => {
  if (token.length > LONGEST) throw fault('JWT_INVALID', ['it is too long'])
  const { jwtVerify } = await import('jose')
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys.find, {
      issuer,
      audience,
      algorithms: ACCEPTED,
      clockTolerance: SKEW,
      requiredClaims,
    })
    return { payload, type: protectedHeader.typ?.toLowerCase() ?? '' }
  } catch (error) {
    throw error instanceof TollgateError ? error : refusalOf(error)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: 'its algorithm is not one of RS, PS, ES and EdDSA',
  ERR_JOSE_NOT_SUPPORTED: 'its algorithm is not supported',
  ERR_JWKS_NO_MATCHING_KEY: 'the identity provider has no such key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'it does not name its key (kid)',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'its signature is wrong',
}
const refusalOf = (error: unknown) => {
  const { code, claim } = Object(error) as { code?: string; claim?: string }
  if (code === 'ERR_JWT_EXPIRED') return fault('JWT_EXPIRED')
  if (code === 'ERR_JWT_CLAIM_VALIDATION_FAILED') {
    if (claim === 'aud') return fault('JWT_AUDIENCE')
    if (claim === 'iss') return fault('JWT_ISSUER')
    return fault('JWT_INVALID', [`its claim "${claim}" is missing or not valid now`])
  }
  return fault('JWT_INVALID', [REASONS[code ?? ''] ?? 'it is not a signed token'])
}
