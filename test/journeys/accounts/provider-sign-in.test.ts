/** Sign-in to the console by a real identity provider, over its real redirects. */
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { AUDIENCE, makeKeys, openProvider } from '../../plugins/identity/provider.ts'
import {
  CLIENT,
  createBrowser,
  refusalIn,
  signInProvider,
  signInRoutes,
} from '../../plugins/identity/sign-in-provider.ts'

const KEYS = makeKeys('first')
t.test('sign-in by the provider: a session of the member, who is signed out there too', async t => {
  const provider = await openProvider(t)
  // The provider is away while the gateway starts.
  const gateway = await startGateway({
    routes: signInRoutes(provider.issuer, { audience: AUDIENCE }),
  })
  t.teardown(() => gateway.stop())
  const page = await (await fetch(`${gateway.url}/console`)).text()
  t.match(page, `<meta name="sign-in" content="${gateway.url}/api/session/provider">`)
  const ann = createBrowser()
  const away = await ann.open(`${gateway.url}/api/session/provider`)
  t.equal(refusalIn(away), 'SIGN_IN_PROVIDER')
  t.equal(away.status, 200, 'the page of the console explains it')

  await provider.start(KEYS, signInProvider({ keys: KEYS, gateway: gateway.url }))
  const start = await ann.open(`${gateway.url}/api/session/provider`, { stop: () => true })
  const parameters = Object.fromEntries(new URL(start.url).searchParams)
  t.match(parameters, {
    response_type: 'code',
    client_id: CLIENT.id,
    redirect_uri: `${gateway.url}/api/session/callback`,
    scope: 'openid profile email',
    code_challenge_method: 'S256',
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
    code_challenge: /^[\w-]{43}$/,
  })
  t.match(
    start.headers.get('set-cookie'),
    /^tollgate-sign-in=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
  )
  const signedIn = await ann.open(await ann.authorize(gateway.url, 'ann'), { stop: () => true })
  t.equal(signedIn.url, `${gateway.url}/console`)
  const cookies = signedIn.headers.getSetCookie()
  t.match(cookies[0], /^tollgate-sign-in=; Path=\/; Max-Age=0/)
  t.match(cookies[1], /^tollgate-session=ss-\w{49}; Path=\/; Max-Age=604800; HttpOnly; SameSite=S/)
  t.match(
    cookies[2],
    /^tollgate-identity=[\w.-]+; Path=\/api\/session; .*HttpOnly; SameSite=Strict/,
  )

  const ask = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const page = await ann.open(gateway.url + path, { method, headers })
    return { status: page.status, body: JSON.parse(page.text) }
  }
  const { body } = await ask('GET', '/api/session')
  t.match(body.data, {
    account: { name: 'acme', role: 'customer' },
    member: { name: 'ann@acme.test', role: 'member' },
    admin: false,
  })
  t.equal((await ask('GET', '/api/keys')).status, 200)
  const refused = await ask('POST', '/api/members', { 'x-csrf-token': body.data.csrf })
  t.equal(refused.status, 403, 'a member manages no members')

  const out = await ask('DELETE', '/api/session', { 'x-csrf-token': body.data.csrf })
  const leave = new URL(out.body.data.url)
  t.equal(leave.origin + leave.pathname, `${provider.issuer}/session/end`)
  t.equal(leave.searchParams.get('post_logout_redirect_uri'), `${gateway.url}/console`)
  const asking = await ann.open(leave.href)
  t.equal(asking.status, 200)
  const back = await ann.confirm(asking, () => true)
  t.equal(back.url, `${gateway.url}/console`, 'the provider knows the client by the ID token')

  const eve = createBrowser()
  t.equal(refusalIn(await eve.signIn(gateway.url, 'eve')), 'IDENTITY_CLAIM')
  t.equal(refusalIn(await createBrowser().signIn(gateway.url, '')), 'SIGN_IN_DENIED')
  t.equal(refusalIn(await createBrowser().signIn(gateway.url, 'root')), 'IDENTITY_OPERATOR')
})
