/** Verifies tokens of the identity provider, each once until it expires. One per process. */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Identity, identityOf } from './claims.ts'
import { fault } from './faults.ts'
import { KeySet, type KeySetHost } from './key-set.ts'
import type { Section } from './section.ts'
import { LONGEST, SKEW, verifySigned } from './signed-token.ts'

const MAX_TOKENS = 10_000

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
    const { issuer, audience } = this.#section
    const expected = { issuer, audience, requiredClaims: ['exp', 'sub'] }
    const { payload, type } = await verifySigned(token, this.keys, expected)
    // Logout tokens, and tokens that are bound to a key of the client, are refused.
    if (type === 'logout+jwt' || payload.events !== undefined)
      throw fault('JWT_INVALID', ['it is a logout token'])
    if (payload.cnf !== undefined)
      throw fault('JWT_INVALID', ['it is bound to a key (cnf), which the gateway does not check'])
    const identity = identityOf(payload, this.#section)
    const verified = { identity, expires: (Number(payload.exp) + SKEW) * 1_000 }
    this.#tokens.set(digest, verified)
    return verified
  }
}
