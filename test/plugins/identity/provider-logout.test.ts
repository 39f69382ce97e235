/** Logout tokens of an identity provider: whose sessions they end, on all workers, and which tokens
 *  are refused. */
import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { forge, makeKeys, openProvider } from './provider.ts'
import {
  CLIENT,
  createBrowser,
  refusalIn,
  signInProvider,
  signInRoutes,
} from './sign-in-provider.ts'

const KEYS = makeKeys('first')
const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }
const start = async () => {
  const provider = await openProvider(t)
  const gateway = await startGateway({
    env: { WORKERS: '2' },
    routes: signInRoutes(provider.issuer, {
      routes: `
  - { path: GET /me, auth: jwt, account: info, errors: envelope }
`,
    }),
  })
  t.teardown(() => gateway.stop())
  const { url } = gateway
  const client = {
    backchannel_logout_uri: `${url}/api/session/logout`,
    backchannel_logout_session_required: true,
  }
  await provider.start(KEYS, signInProvider({ keys: KEYS, gateway: url, client }))
  return { provider, url }
}
const { provider, url } = await start()
// The keys are read again a second after the provider was away.
await eventually(async () => refusalIn(await createBrowser().signIn(url, 'ann')) === null)

const signIn = async (person: string) => {
  const browser = createBrowser()
  await browser.signIn(url, person)
  const cookie = browser.jarOf(url).get('tollgate-session') ?? ''
  const idToken = browser.jarOf(url).get('tollgate-identity') ?? ''
  const claims = JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString())
  /** Of many requests at once, which reach both workers. */
  const statuses = async () => {
    const headers = { cookie: `tollgate-session=${cookie}` }
    const all = await Promise.all(
      Array.from({ length: 12 }, () => fetch(`${url}/api/session`, { headers })),
    )
    await Promise.all(all.map(each => each.text()))
    return [...new Set(all.map(({ status }) => status))].join()
  }
  return { browser, idToken, sid: String(claims.sid), statuses }
}
const logout = async (token: string, form = 'logout_token') => {
  const body = new URLSearchParams({ [form]: token })
  const response = await fetch(`${url}/api/session/logout`, { method: 'POST', body })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
const now = () => Math.floor(Date.now() / 1_000)
let count = 0
const claimsOf = (more: object) => ({
  iss: provider.issuer,
  aud: CLIENT.id,
  iat: now(),
  exp: now() + 120,
  jti: `token ${++count}`,
  events: EVENTS,
  ...more,
})
const signed = (more: object, header: object = {}) =>
  forge(claimsOf(more), KEYS.rsa, { kid: 'first-rsa', typ: 'logout+jwt', ...header })

t.test('logout at the provider: ends the session on all workers', async t => {
  const [ann, other] = [await signIn('ann'), await signIn('ann')]
  t.equal(await ann.statuses(), '200')
  const page = await ann.browser.open(
    `${provider.issuer}/session/end?id_token_hint=${ann.idToken}&client_id=${CLIENT.id}`,
  )
  await ann.browser.confirm(page)
  await eventually(async () => (await ann.statuses()) === '401')
  t.equal(await other.statuses(), '200', 'another session of the person goes on')
})

t.test('logout tokens: end the session of a sid, or all of a person', async t => {
  const [first, second, bob] = [await signIn('ann'), await signIn('ann'), await signIn('bob')]
  const done = await logout(signed({ sid: first.sid, sub: 'ann' }))
  t.match(done, { status: 200, text: '' })
  t.equal(done.headers.get('cache-control'), 'no-store')
  await eventually(async () => (await first.statuses()) === '401')
  t.equal(await second.statuses(), '200')
  t.equal((await logout(signed({ sub: 'ann' }))).status, 200)
  await eventually(async () => (await second.statuses()) === '401')
  t.equal(await bob.statuses(), '200')
  t.equal((await logout(signed({ sub: 'nobody' }))).status, 200, 'nothing to end')
})

t.test('logout tokens: one is accepted once, also of many at the same time', async t => {
  const token = signed({ sub: 'ann' })
  const all = await Promise.all(Array.from({ length: 8 }, () => logout(token)))
  t.same(all.map(({ status }) => status).sort(), [200, ...Array(7).fill(400)])
  t.match(await logout(token), { status: 400, text: /was used before/ })
})

t.test('logout tokens: refuses other tokens, which end nothing', async t => {
  const bob = await signIn('bob')
  const sub = 'bob'
  const kid = 'first-rsa'
  const refused: Readonly<Record<string, string>> = {
    'an ID token': bob.idToken,
    'no event': signed({ sub, events: undefined }),
    'another event': signed({ sub, events: { other: {} } }),
    'an event that is a text': signed({ sub, events: { [Object.keys(EVENTS)[0] ?? '']: 'x' } }),
    'a nonce': signed({ sub, nonce: 'x' }),
    'another audience': signed({ sub, aud: 'gateway' }),
    'another issuer': signed({ sub, iss: 'https://other.test' }),
    'no person and no session': signed({}),
    'an empty person': signed({ sub: '' }),
    'no id': signed({ sub, jti: undefined }),
    'no time': signed({ sub, iat: undefined }),
    expired: signed({ sub, exp: now() - 120 }),
    'an old one': signed({ sub, iat: now() - 900, exp: now() + 900 }),
    'another type': signed({ sub }, { typ: 'at+jwt' }),
    'no signature': forge(claimsOf({ sub }), undefined, { kid }),
    'the client secret': forge(claimsOf({ sub }), CLIENT.secret, { kid }),
    'another key': forge(claimsOf({ sub }), makeKeys('x').rsa, { kid }),
    nothing: '',
  }
  for (const [name, token] of Object.entries(refused)) {
    const reply = await logout(token)
    t.equal(reply.status, 400, name)
    t.match(reply.text, /"error":"invalid_request"/)
  }
  t.equal((await logout(signed({ sub }), 'token')).status, 400, 'another field')
  t.equal(await bob.statuses(), '200')
  const asToken = { headers: { authorization: `Bearer ${signed({ sub, aud: 'gateway' })}` } }
  t.equal((await fetch(`${url}/me`, asToken)).status, 401, 'no API call with a logout token')
})
