/** The access token of one upstream: requested with the first call, renewed before it ends.
 *
 *  none ──get──▶ requested ──issued──▶ valid ──near its end──▶ requested, still valid
 *  requested ──failure──▶ none, or valid until its end; the next request is sent after a pause
 *  valid ──refused by the upstream──▶ none */

export interface IssuedToken {
  readonly value: string
  /** s for which it is valid. */
  readonly lifetime: number
}
/** How a token is requested. A request ends by itself. */
export interface TokenIssuer {
  request(): Promise<IssuedToken>
  /** Called once per failed request. `hasToken`: calls go on with the token so far. */
  onFailure(error: Error, hasToken: boolean): void
}

/** A token is renewed in the last fifth of its time, at most five minutes before its end. */
const RENEWAL = { part: 0.2, most: 300_000 }
/** ms before its end at which a token is not used any more: a request takes a while. */
const MARGIN = 5_000
/** ms without requests after a failure: with a valid token, and without one; and without another
 *  renewal of a refused token. */
const PAUSE = { valid: 10_000, none: 1_000, refused: 60_000 }

export class AccessToken {
  readonly #now: () => number
  #value = ''
  #renewAt = Number.NEGATIVE_INFINITY
  #endsAt = Number.NEGATIVE_INFINITY
  #request: Promise<string> | undefined
  #refusedAt = Number.NEGATIVE_INFINITY
  #failure: { readonly error: Error; readonly at: number } | undefined

  /** `now`: ms of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }
  /** The token; a promise if no valid one is at hand. Rejects with the error of the request. */
  get(issuer: TokenIssuer): string | Promise<string> {
    const now = this.#now()
    if (now < this.#renewAt) return this.#value
    const isValid = now < this.#endsAt
    const failure = this.#failure
    const isPaused = failure && now < failure.at + (isValid ? PAUSE.valid : PAUSE.none)
    if (!this.#request && !isPaused) {
      this.#request = this.#renew(issuer)
      this.#request.catch(ignore)
    }
    if (isValid) return this.#value
    return this.#request ?? Promise.reject(failure?.error)
  }
  /** Drops a token that the upstream refused. Returns whether the next one differs: a token that
   *  was renewed for this reason a moment ago stays, since another one would be refused as well. */
  refuse(value: string): boolean {
    if (value !== this.#value) return true
    const now = this.#now()
    if (now < this.#refusedAt + PAUSE.refused) return false
    this.#refusedAt = now
    this.#endsAt = this.#renewAt = Number.NEGATIVE_INFINITY
    return true
  }
  async #renew(issuer: TokenIssuer): Promise<string> {
    const start = this.#now()
    try {
      const { value, lifetime } = await Promise.try(() => issuer.request())
      const ms = lifetime * 1_000
      this.#value = value
      this.#endsAt = start + Math.max(ms - MARGIN, ms / 2)
      this.#renewAt = Math.min(start + ms - Math.min(ms * RENEWAL.part, RENEWAL.most), this.#endsAt)
      this.#failure = undefined
      return value
    } catch (error) {
      this.#failure = { error: error as Error, at: this.#now() }
      issuer.onFailure(error as Error, this.#now() < this.#endsAt)
      throw error
    } finally {
      this.#request = undefined
    }
  }
}
const ignore = (): void => {}
