/** Attacks on the sign-in by an identity provider: responses of other browsers and sign-ins, forged
 *  ID tokens, and redirects to other sites. */
import { createPublicKey } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { forge, makeKeys, openProvider } from './provider.ts'
import {
  CLIENT,
  createBrowser,
  PEOPLE,
  refusalIn,
  signInProvider,
  signInRoutes,
} from './sign-in-provider.ts'

const KEYS = makeKeys('first')
const start = async (t: Test, more = '') => {
  const provider = await openProvider(t)
  const gateway = await startGateway({
    routes: signInRoutes(provider.issuer, { more }),
  })
  t.teardown(() => gateway.stop())
  return { provider, gateway }
}
const SESSION = 'tollgate-session'
const hostOf = (browser: ReturnType<typeof createBrowser>, url: string) => browser.jarOf(url)

t.test('sign-in by the provider: takes responses of its own browser only, once', async t => {
  const { provider, gateway } = await start(t)
  const { url } = gateway
  await provider.start(KEYS, signInProvider({ keys: KEYS, gateway: url }))
  const refuse = async (
    browser: ReturnType<typeof createBrowser>,
    address: string,
    code: string,
  ) => {
    const page = await browser.open(address)
    t.equal(refusalIn(page), code, code)
    t.equal(hostOf(browser, url).get(SESSION), undefined, 'no session')
  }
  const eve = createBrowser()
  const victim = createBrowser()
  const ofEve = await eve.authorize(url, 'bob')
  await refuse(victim, ofEve, 'SIGN_IN_STATE')
  await victim.authorize(url, 'ann')
  await refuse(victim, ofEve, 'SIGN_IN_STATE')

  // The code of another sign-in in one's own: the provider checks the PKCE verifier.
  const own = new URL(await victim.authorize(url, 'ann'))
  own.searchParams.set('code', new URL(ofEve).searchParams.get('code') ?? '')
  await refuse(victim, own.href, 'SIGN_IN_CODE')

  const ann = createBrowser()
  const response = await ann.authorize(url, 'ann')
  const flow = hostOf(ann, url).get('tollgate-sign-in') ?? ''
  const session = 'ss-of-the-attacker'
  hostOf(ann, url).set(SESSION, session)
  t.equal((await ann.open(response)).url, `${url}/console`)
  const ofAnn = hostOf(ann, url).get(SESSION)
  t.match(ofAnn, /^ss-\w{49}$/, 'no session of the request is taken over')
  hostOf(ann, url).delete(SESSION)
  await refuse(ann, response, 'SIGN_IN_STATE')
  hostOf(ann, url).set('tollgate-sign-in', flow)
  await refuse(ann, response, 'SIGN_IN_CODE')

  const again = createBrowser()
  const other = new URL(await again.authorize(url, 'ann'))
  other.searchParams.set('iss', 'https://other.test')
  const value = hostOf(again, url).get('tollgate-sign-in') ?? ''
  await refuse(again, other.href, 'JWT_ISSUER')
  other.searchParams.delete('iss')
  hostOf(again, url).set('tollgate-sign-in', value)
  await refuse(again, other.href, 'JWT_ISSUER')
})

t.test('sign-in by the provider: no parameter leads to another site', async t => {
  const { provider, gateway } = await start(t)
  const { url } = gateway
  await provider.start(KEYS, signInProvider({ keys: KEYS, gateway: url }))
  const evil = 'https://evil.test/'
  const query = new URLSearchParams(
    ['redirect_uri', 'return', 'return_to', 'next', 'state', 'iss'].map(name => [name, evil]),
  )
  const browser = createBrowser()
  const first = await browser.open(`${url}/api/session/provider?${query}`, {
    stop: () => true,
    headers: { host: new URL(url).host, 'x-forwarded-host': 'evil.test' },
  })
  t.ok(first.url.startsWith(`${provider.issuer}/auth?`))
  t.notOk(first.url.includes('evil'))
  const response = await browser.authorize(url, 'ann')
  const finished = await browser.open(`${response}&next=${evil}&return=${evil}`, {
    stop: () => true,
  })
  t.equal(finished.url, `${url}/console`)
  const failed = await browser.open(
    `${url}/api/session/callback?error=${evil}&error_description=<script>&state=x`,
    { stop: () => true },
  )
  t.equal(new URL(failed.url).origin + new URL(failed.url).pathname, `${url}/console`)
  t.notOk(failed.url.includes('evil'))
})

/** A provider that answers the token endpoint with any ID token. */
const forger =
  (answer: { token: string; userinfo: object; endpoints: object }) =>
  (issuer: string): RequestListener =>
  async (request, response) => {
    const path = new URL(request.url ?? '', issuer).pathname
    await text(request)
    const documents: Readonly<Record<string, object>> = {
      '/.well-known/openid-configuration': {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/me`,
        jwks_uri: `${issuer}/jwks`,
        ...answer.endpoints,
      },
      '/jwks': { keys: KEYS.jwks.keys },
      '/token': { id_token: answer.token, access_token: 'access' },
      '/me': answer.userinfo,
    }
    response.end(JSON.stringify(documents[path] ?? {}))
  }

t.test('sign-in by the provider: refuses ID tokens that are not of this sign-in', async t => {
  const { provider, gateway } = await start(t)
  const { url } = gateway
  const answer = { token: '', userinfo: { sub: 'someone else' } as object, endpoints: {} }
  await provider.start(KEYS, forger(answer))
  const now = Math.floor(Date.now() / 1_000)
  const kid = 'first-rsa'
  /** The code of the refusal, or null. */
  const signIn = async (make: (claims: object) => string) => {
    const browser = createBrowser()
    const first = await browser.open(`${url}/api/session/provider`, { stop: () => true })
    const { nonce = '', state = '' } = Object.fromEntries(new URL(first.url).searchParams)
    const claims = {
      iss: provider.issuer,
      aud: CLIENT.id,
      sub: 'ann',
      nonce,
      iat: now,
      exp: now + 60,
    }
    answer.token = make({ ...claims, ...PEOPLE.ann })
    const page = await browser.open(`${url}/api/session/callback?code=c&state=${state}`)
    const hasSession = hostOf(browser, url).has(SESSION)
    t.equal(hasSession, refusalIn(page) === null)
    return refusalIn(page)
  }
  const signed =
    (more: object, header = {}) =>
    (claims: object) =>
      forge({ ...claims, ...more }, KEYS.rsa, { kid, ...header })
  t.equal(await signIn(signed({})), null, 'a right token')
  t.equal(await signIn(signed({ aud: [CLIENT.id, 'other'], azp: CLIENT.id })), null)
  const publicPem = createPublicKey(KEYS.rsa).export({ format: 'pem', type: 'spki' }) as string
  const forged: Readonly<Record<string, readonly [string, (claims: object) => string]>> = {
    'another nonce': ['JWT_INVALID', signed({ nonce: 'of another sign-in' })],
    'no nonce': ['JWT_INVALID', signed({ nonce: undefined })],
    'the audience of API tokens': ['JWT_AUDIENCE', signed({ aud: 'gateway' })],
    'another party': ['JWT_AUDIENCE', signed({ azp: 'other' })],
    'several audiences without a party': ['JWT_AUDIENCE', signed({ aud: [CLIENT.id, 'other'] })],
    'another issuer': ['JWT_ISSUER', signed({ iss: 'https://other.test' })],
    expired: ['JWT_EXPIRED', signed({ exp: now - 120 })],
    'no time of issue': ['JWT_INVALID', signed({ iat: undefined })],
    'an access token': ['JWT_INVALID', signed({}, { typ: 'at+jwt' })],
    'a logout token': ['JWT_INVALID', signed({ events: {} })],
    'no signature': ['JWT_INVALID', claims => forge(claims, undefined, { kid })],
    'the public key as a secret': ['JWT_INVALID', claims => forge(claims, publicPem, { kid })],
    'the client secret': ['JWT_INVALID', claims => forge(claims, CLIENT.secret, { kid })],
    'another key': ['JWT_INVALID', claims => forge(claims, makeKeys('x').rsa, { kid })],
    'userinfo of another person': ['JWT_INVALID', signed({ groups: undefined })],
  }
  // Of twenty failures in a minute the next ones are refused before they are tried.
  for (const [name, [code, make]] of Object.entries(forged)) t.equal(await signIn(make), code, name)
  answer.userinfo = { sub: 'ann', groups: ['bosses'], iss: 'x', org: { id: 'admin' } }
  t.equal(await signIn(signed({ groups: undefined })), null, 'userinfo adds what is missing')
  const limited = new Set<string | null>()
  for (let count = 0; count < 10; count++) limited.add(await signIn(signed({ nonce: 'x' })))
  t.ok(limited.has('SIGN_IN_LIMIT'))
})
