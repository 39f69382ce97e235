/** Verifies tokens of the identity provider, each once until it expires. One per process. */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { TollgateError } from '../../engine/errors.ts'
import { type Claims, type Identity, identityOf } from './claims.ts'
import { fault } from './faults.ts'
import { KeySet, type KeySetHost } from './key-set.ts'
import type { Section } from './section.ts'

// Not HS…: the public key would be the secret. Not `none`.
const ALGORITHMS = ['RS', 'PS', 'ES'].flatMap(each => [256, 384, 512].map(bits => `${each}${bits}`))
const ACCEPTED = [...ALGORITHMS, 'EdDSA', 'Ed25519']
/** s by which clocks may differ. */
const SKEW = 60
const MAX_TOKENS = 10_000
/** Most characters of a token. */
const LONGEST = 16_384

export interface Verified {
  readonly identity: Identity
  /** ms since 1970. */
  readonly expires: number
}

export class Verifier {
  readonly keys: KeySet
  readonly #section: Section
  readonly #tokens = new LRUCache<string, Verified>({ max: MAX_TOKENS })
  readonly #pending = new Map<string, Promise<Verified>>()

  constructor(section: Section, host: KeySetHost, keys = new KeySet(section, host)) {
    this.#section = section
    this.keys = keys
  }
  /** Throws, or rejects with, JWT_…, IDENTITY_CLAIM or IDENTITY_UNAVAILABLE. */
  verify(token: string): Verified | Promise<Verified> {
    if (token.length > LONGEST) throw fault('JWT_INVALID', ['it is too long'])
    const digest = hash('sha256', token)
    const known = this.#tokens.get(digest)
    if (known && known.expires > Date.now()) return known
    const pending = this.#pending.get(digest)
    if (pending) return pending
    const verified = this.#verify(token, digest).finally(() => this.#pending.delete(digest))
    this.#pending.set(digest, verified)
    return verified
  }
  async #verify(token: string, digest: string): Promise<Verified> {
    const { payload, typ } = await this.#read(token)
    // Logout tokens, and tokens that are bound to a key of the client, are refused.
    if (typ?.toLowerCase() === 'logout+jwt' || payload.events !== undefined)
      throw fault('JWT_INVALID', ['it is a logout token'])
    if (payload.cnf !== undefined)
      throw fault('JWT_INVALID', ['it is bound to a key (cnf), which the gateway does not check'])
    const identity = identityOf(payload, this.#section)
    const verified = { identity, expires: (Number(payload.exp) + SKEW) * 1_000 }
    this.#tokens.set(digest, verified)
    return verified
  }
  async #read(token: string): Promise<{ payload: Claims; typ: string | undefined }> {
    const { jwtVerify } = await import('jose')
    const { issuer, audience } = this.#section
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.keys.find, {
        issuer,
        audience,
        algorithms: ACCEPTED,
        clockTolerance: SKEW,
        requiredClaims: ['exp', 'sub'],
      })
      return { payload, typ: protectedHeader.typ }
    } catch (error) {
      throw error instanceof TollgateError ? error : refusalOf(error)
    }
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
