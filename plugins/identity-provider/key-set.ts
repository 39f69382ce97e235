/** The public keys of the identity provider: read at first use, and read again in the background.
 *  Known keys stay valid while the provider does not answer.
 *
 *  none ──read──▶ known ──old, or unknown kid──▶ known, read again ──failure──▶ known
 *  none ──failure──▶ none; the next attempt follows after a pause */
import type { FindKey } from 'jose'
import { isFields } from '../../engine/kit.ts'
import type { HostBase } from '../../engine/plugin.ts'
import { fault } from './faults.ts'
import { getJson, readDiscovery } from './provider-documents.ts'
import { isAddress, type Section } from './section.ts'

/** ms after which keys are read again. */
const OLD = 600_000
/** ms between two attempts: with known keys, and without any. */
const PAUSE = { known: 30_000, none: 1_000 }

export type KeySource = Pick<Section, 'issuer' | 'jwks'>
export type KeySetHost = Pick<HostBase, 'request' | 'log' | 'file'>

export class KeySet {
  readonly #source: KeySource
  readonly #host: KeySetHost
  readonly #now: () => number
  #find: FindKey | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #triedAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  /** `now`: ms of a clock that never goes back. */
  constructor(source: KeySource, host: KeySetHost, now: () => number = () => performance.now()) {
    this.#source = source
    this.#host = host
    this.#now = now
  }
  /** The key of a token. Rejects with IDENTITY_UNAVAILABLE, or an error of jose. */
  find: FindKey = async (header, token) => {
    if (!this.#find) await this.refresh(PAUSE.none)
    else if (this.#now() - this.#readAt > OLD) void this.refresh(PAUSE.known)
    if (!this.#find) throw fault('IDENTITY_UNAVAILABLE')
    const known = this.#find
    try {
      return await known(header, token)
    } catch (error) {
      if (Object(error).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw error
      await this.refresh(PAUSE.known)
      if (this.#find === known) throw error
      return this.#find(header, token)
    }
  }
  /** Reads the keys unless the last attempt is younger than `pause`, ms. Does not reject. */
  refresh(pause: number): Promise<void> {
    if (!this.#reading && this.#now() - this.#triedAt >= pause) {
      this.#triedAt = this.#now()
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined
      })
    }
    return this.#reading ?? Promise.resolve()
  }
  async #read(): Promise<void> {
    const { issuer } = this.#source
    try {
      const { createLocalJWKSet } = await import('jose')
      this.#find = createLocalJWKSet(keysIn(await this.#document()))
      this.#readAt = this.#now()
    } catch (error) {
      const reason = (error as Error).message
      const isKnown = this.#find !== undefined
      this.#host.log.warn(
        { issuer, reason },
        isKnown
          ? 'the keys of the identity provider could not be read again; the known keys stay valid'
          : 'the keys of the identity provider could not be read; its tokens are refused until they are',
      )
    }
  }
  async #document(): Promise<unknown> {
    const { issuer, jwks } = this.#source
    if (jwks === undefined) {
      const { jwks_uri } = await readDiscovery(this.#host, issuer)
      return getJson(this.#host, String(jwks_uri))
    }
    return isAddress(jwks) ? getJson(this.#host, jwks) : JSON.parse(this.#host.file(jwks))
  }
}

const PRIVATE = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'key_ops'])
/** The public parts of the keys; a shared secret has none. */
const keysIn = (document: unknown): { readonly keys: readonly object[] } => {
  const keys: unknown = isFields(document) ? document.keys : undefined
  if (!Array.isArray(keys)) throw new Error('the document has no list `keys`')
  const publicOf = (key: object) =>
    Object.fromEntries(Object.entries(key).filter(([name]) => !PRIVATE.has(name)))
  return {
    keys: keys
      .filter(isFields)
      .filter(({ kty }) => kty !== 'oct')
      .map(publicOf),
  }
}
