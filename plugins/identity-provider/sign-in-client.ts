/** The gateway as a client of the identity provider: addresses of its pages, the exchange of a
 *  code, and the claims of the person who signed in. One per process. */
import { isFields } from '../../engine/kit.ts'
import type { HostBase } from '../../engine/plugin.ts'
import { type Claims, type Identity, identityOf, valuesAt } from './claims.ts'
import type { CodeFlow } from './code-flow.ts'
import { fault } from './faults.ts'
import type { KeySet } from './key-set.ts'
import { getJson, readDiscovery, TIMEOUT } from './provider-documents.ts'
import type { Section } from './section.ts'
import { verifySigned } from './signed-token.ts'

/** ms after which the discovery document is read again. */
const OLD = 600_000

type Host = Pick<HostBase, 'request' | 'log'>
export type ClientSection = Section & { readonly client_id: string }
export interface SignedIn {
  readonly identity: Identity
  readonly subject: string
  /** The number of the session at the provider. */
  readonly sid: string | undefined
  readonly idToken: string
}
type Endpoint =
  | 'authorization_endpoint'
  | 'token_endpoint'
  | 'userinfo_endpoint'
  | 'end_session_endpoint'

export class SignInClient {
  readonly #section: ClientSection
  readonly #host: Host
  readonly #keys: Pick<KeySet, 'find'>
  #discovery: Claims | undefined
  #readAt = Number.NEGATIVE_INFINITY

  constructor(section: ClientSection, host: Host, keys: Pick<KeySet, 'find'>) {
    this.#section = section
    this.#host = host
    this.#keys = keys
  }
  /** Where the browser goes to sign in. Rejects with SIGN_IN_PROVIDER. */
  async authorizationAddress(flow: CodeFlow, redirect: string): Promise<string> {
    const { client_id, scopes } = this.#section
    return withQuery(await this.#endpoint('authorization_endpoint'), {
      response_type: 'code',
      client_id,
      redirect_uri: redirect,
      scope: [...new Set(['openid', ...scopes])].join(' '),
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: flow.challenge,
      code_challenge_method: 'S256',
    })
  }
  /** Where the browser goes to sign out; undefined: the provider has no such page. */
  async signOutAddress(idToken: string | undefined, back: string): Promise<string | undefined> {
    const endpoint = await this.#endpoint('end_session_endpoint').catch(() => undefined)
    const { client_id } = this.#section
    const hint = idToken === undefined ? {} : { id_token_hint: idToken }
    return endpoint && withQuery(endpoint, { client_id, post_logout_redirect_uri: back, ...hint })
  }
  /** Checks the issuer that a response names (RFC 9207). Rejects with JWT_ISSUER. */
  async checkIssuer(issuer: string | null): Promise<void> {
    const isRequired = issuer === null && (await this.#isIssuerSent())
    if (isRequired || (issuer !== null && issuer !== this.#section.issuer))
      throw fault('JWT_ISSUER')
  }
  /** Rejects with SIGN_IN_…, JWT_… or IDENTITY_…. */
  async signIn(code: string, flow: CodeFlow, redirect: string): Promise<SignedIn> {
    const { id_token, access_token } = await this.#exchange(code, flow, redirect)
    const idToken = String(id_token)
    const claims = await this.#idClaims(idToken, flow.nonce)
    const all = await this.#withUserInfo(claims, access_token)
    const { sub, sid } = claims
    return {
      identity: identityOf(all, this.#section),
      subject: String(sub),
      sid: typeof sid === 'string' ? sid : undefined,
      idToken,
    }
  }

  async #isIssuerSent(): Promise<boolean> {
    const { authorization_response_iss_parameter_supported } = await this.#document()
    return authorization_response_iss_parameter_supported === true
  }
  async #document(): Promise<Claims> {
    const { issuer } = this.#section
    if (this.#discovery && performance.now() - this.#readAt < OLD) return this.#discovery
    try {
      this.#discovery = await readDiscovery(this.#host, issuer)
      this.#readAt = performance.now()
    } catch (error) {
      // The addresses of a provider seldom change.
      if (!this.#discovery) throw this.#unavailable(error)
    }
    return this.#discovery
  }
  #unavailable(error: unknown) {
    const reason = (error as Error).message
    this.#host.log.warn({ issuer: this.#section.issuer, reason }, 'the identity provider failed')
    return fault('SIGN_IN_PROVIDER')
  }
  /** Rejects with SIGN_IN_PROVIDER, also for an address that would send secrets unencrypted. */
  async #endpoint(name: Endpoint): Promise<string> {
    const address = String((await this.#document())[name])
    const { protocol } = URL.parse(address) ?? {}
    const isEncrypted = protocol === 'https:'
    const isPlain = protocol === 'http:' && this.#section.issuer.startsWith('http:')
    if (isEncrypted || isPlain) return address
    throw this.#unavailable(new Error(`its discovery document has no valid "${name}"`))
  }
  async #exchange(code: string, { verifier }: CodeFlow, redirect: string): Promise<Claims> {
    const address = await this.#endpoint('token_endpoint')
    const { headers, fields } = await this.#authentication()
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirect,
      code_verifier: verifier,
      ...fields,
    }).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
    const request = { method: 'POST', headers: { ...type, ...headers }, body, timeout: TIMEOUT }
    const { status, text } = await this.#host.request(address, request).catch(error => {
      throw this.#unavailable(error)
    })
    const answer = fieldsIn(text)
    if (status === 200 && answer?.id_token !== undefined) return answer
    if (status >= 500) throw this.#unavailable(new Error(`${address} returned status ${status}`))
    const reason = String(answer?.error ?? `status ${status}, without an ID token`).slice(0, 200)
    this.#host.log.warn({ reason }, 'the identity provider refused the code of a sign-in')
    throw fault('SIGN_IN_CODE')
  }
  /** Of the client: RFC 6749 §2.3.1. */
  async #authentication() {
    const { client_id, client_secret } = this.#section
    const { token_endpoint_auth_methods_supported: methods } = await this.#document()
    if (client_secret === undefined) return { headers: {}, fields: { client_id } }
    if (Array.isArray(methods) && !methods.includes('client_secret_basic'))
      return { headers: {}, fields: { client_id, client_secret } }
    const pair = [client_id, client_secret].map(formEncoded).join(':')
    return { headers: { authorization: `Basic ${btoa(pair)}` }, fields: {} }
  }
  /** OpenID Connect Core 1.0 §3.1.3.7. */
  async #idClaims(token: string, nonce: string): Promise<Claims> {
    const { issuer, client_id } = this.#section
    const requiredClaims = ['exp', 'iat', 'sub']
    const expected = { issuer, audience: [client_id], requiredClaims }
    const { payload, type } = await verifySigned(token, this.#keys, expected)
    const { aud, azp, events } = payload
    if (!['', 'jwt', 'id+jwt'].includes(type) || events !== undefined)
      throw fault('JWT_INVALID', ['it is not an ID token'])
    const isForSeveral = Array.isArray(aud) && aud.length > 1
    if ((azp !== undefined || isForSeveral) && azp !== client_id) throw fault('JWT_AUDIENCE')
    if (payload.nonce !== nonce) throw fault('JWT_INVALID', ['it is of another sign-in (nonce)'])
    return payload
  }
  /** Adds the claims of the userinfo endpoint if one of the mapping is missing. */
  async #withUserInfo(claims: Claims, accessToken: unknown): Promise<Claims> {
    const { account, member, role } = this.#section
    const needed = [account?.claim ?? 'sub', member, role?.claim].filter(each => each !== undefined)
    const isComplete = needed.every(each => valuesAt(claims, each).length > 0)
    const { userinfo_endpoint } = await this.#document()
    if (isComplete || userinfo_endpoint === undefined || typeof accessToken !== 'string')
      return claims
    const address = await this.#endpoint('userinfo_endpoint')
    const headers = { authorization: `Bearer ${accessToken}` }
    const more = await getJson(this.#host, address, headers).catch(error => {
      throw this.#unavailable(error)
    })
    // Core §5.3.2: the claims of another person must not be used.
    if (!isFields(more) || more.sub !== claims.sub)
      throw fault('JWT_INVALID', ['its userinfo is of another person'])
    return { ...more, ...claims }
  }
}

const withQuery = (address: string, query: Readonly<Record<string, string>>): string => {
  const url = new URL(address)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)
const fieldsIn = (text: string): Claims | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}
