/** Signing in to the console: cookies, one-time links, CSRF tokens, throttling, sign-out and roles,
 *  over HTTP against the shipped gateway. */
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { linkIn } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { gateway } from './shipped-console.ts'

t.test('first start: the link of the banner signs the admin in once', async t => {
  const first = await gateway.ask('POST', '/api/session', { link: gateway.link })
  t.equal(first.status, 200)
  t.match(first.body.data, { account: { id: 1, name: 'admin', role: 'admin' }, admin: true })
  const again = await gateway.ask('POST', '/api/session', { link: gateway.link })
  t.equal(again.status, 401)
  t.match(again.body.message, /has expired or has been used/)
})

t.test('session cookie: HttpOnly, SameSite=Strict, never readable by scripts', async t => {
  const { headers, body } = await gateway.ask('POST', '/api/session', { token: gateway.token })
  const cookie = headers.get('set-cookie') ?? ''
  t.match(
    cookie,
    /^tollgate-session=ss-\w{49}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
  )
  t.equal(headers.get('cache-control'), 'no-store')
  t.notOk(JSON.stringify(body).includes('ss-'), 'the body does not repeat the secret')
})

t.test('sign-in: refuses API keys, malformed, unknown and two credentials', async t => {
  const refuse = async (body: object, status: number, message: RegExp) => {
    const reply = await gateway.ask('POST', '/api/session', body)
    t.equal(reply.status, status)
    t.match(reply.body.message, message)
    t.equal(reply.headers.get('set-cookie'), null)
  }
  await refuse({ token: gateway.apiKey }, 401, /This is an API key/)
  await refuse({ token: `${gateway.token.slice(0, -1)}!` }, 401, /invalid, expired or revoked/)
  await refuse({ link: gateway.token }, 401, /sign-in link/)
  await refuse({ token: gateway.token, link: gateway.link }, 400, /./)
  await refuse({}, 400, /./)
})

t.test('sign-in: refuses a request that another site made', async t => {
  for (const site of ['cross-site', 'same-site']) {
    const body = { token: gateway.token }
    const reply = await gateway.ask('POST', '/api/session', body, { 'sec-fetch-site': site })
    t.equal(reply.status, 403)
    t.equal(reply.headers.get('set-cookie'), null)
  }
  const form = await fetch(`${gateway.url}/api/session`, {
    method: 'POST',
    body: new URLSearchParams({ token: gateway.token }),
  })
  t.ok([400, 415].includes(form.status), 'a form cannot sign in')
})

t.test('CSRF: a change needs the token of its own session', async t => {
  const ann = await gateway.customer('csrf-ann')
  const bob = await gateway.customer('csrf-bob')
  const create = (headers: object) =>
    gateway.ask('POST', '/api/keys', { name: 'x' }, { cookie: ann.cookie, ...headers })
  for (const headers of [{}, { 'x-csrf-token': 'wrong' }, { 'x-csrf-token': bob.csrf }]) {
    const reply = await create(headers)
    t.equal(reply.status, 403)
    t.match(reply.body.message, /x-csrf-token/)
  }
  t.equal((await create({ 'x-csrf-token': ann.csrf })).status, 201)
  const { body } = await ann.ask('GET', '/api/keys')
  t.equal(body.data.length, 1)
  t.equal((await gateway.ask('GET', '/api/keys', undefined, { cookie: ann.cookie })).status, 200)
})

t.test('roles: a session of a customer reaches no endpoint of operators', async t => {
  const ann = await gateway.customer('role-ann')
  const { body: list } = await gateway.ask('GET', '/api/admin/endpoints', undefined, {
    authorization: `Bearer ${gateway.token}`,
  })
  t.ok(list.data.length >= 7)
  for (const { method, path } of list.data) {
    const bodyOf = method === 'GET' ? undefined : { account: 'admin', name: 'x', amount: 1 }
    t.equal((await ann.ask(String(method), String(path), bodyOf)).status, 403, `${method} ${path}`)
    t.equal((await gateway.ask(String(method), String(path), bodyOf)).status, 401)
  }
  const { body } = await ann.ask('GET', '/api/session')
  t.match(body.data, { account: { role: 'customer' }, admin: false, edit: false })
  const byKey = { authorization: `Bearer ${gateway.apiKey}` }
  t.equal((await gateway.ask('GET', '/api/admin/accounts', undefined, byKey)).status, 401)
})

t.test('sign-out: ends the session in the store', async t => {
  const ann = await gateway.customer('out-ann')
  const reply = await ann.ask('DELETE', '/api/session')
  t.equal(reply.status, 200)
  t.match(reply.headers.get('set-cookie'), /^tollgate-session=; Path=\/; Max-Age=0/)
  await t.resolveMatch(refusedSoon(ann.ask), { status: 401 })
})

t.test('revocation: a session ends with a click, with its token, and with its account', async t => {
  const operator = await gateway.signIn({ token: gateway.token })
  const ann = await gateway.customer('revoke-ann')
  const { body: created } = await ann.ask('POST', '/api/system-tokens', { name: 'phone' })
  const phone = await gateway.signIn({ token: created.data.token })
  const other = await gateway.signIn({ token: created.data.token })
  const { body: sessions } = await ann.ask('GET', '/api/sessions')
  t.equal(sessions.data.length, 3)
  t.match(sessions.data[1], { state: 'active' })
  t.equal((await ann.ask('DELETE', `/api/sessions/${sessions.data[1]?.id}`)).status, 200)
  t.match(await refusedSoon(phone.ask), { status: 401 })
  t.equal((await other.ask('GET', '/api/session')).status, 200, 'the others go on')
  await ann.ask('DELETE', `/api/system-tokens/${created.data.id}`)
  t.match(await refusedSoon(other.ask), { status: 401 })
  await operator.ask('POST', '/api/admin/accounts/suspend', { account: 'revoke-ann' })
  t.match(await refusedSoon(ann.ask), { status: 403 })
  const bob = await gateway.customer('revoke-bob')
  t.equal((await bob.ask('DELETE', `/api/sessions/${sessions.data[0]?.id}`)).status, 404)
})

t.test('rotation: a session ends with the earlier secret that signs in, not later', async t => {
  const ann = await gateway.customer('rotate-ann')
  const { body: created } = await ann.ask('POST', '/api/system-tokens', { name: 'phone' })
  const path = `/api/system-tokens/${created.data.id}/rotate`
  const rotated = await ann.ask('POST', path, { overlap: '1h' })
  t.equal(rotated.status, 200, JSON.stringify(rotated.body))
  for (const token of [created.data.token, rotated.body.data.token]) await gateway.signIn({ token })
  const { body: sessions } = await ann.ask('GET', '/api/sessions')
  const ends = sessions.data.map(({ expires }) => String(expires))
  const until = String((rotated.body.data.earlier as { readonly expires: unknown }).expires)
  const early = ends.filter(end => end <= until)
  t.same(early, [until], JSON.stringify(sessions.data))
})

t.test('sign-in link: expires after a day, and of two uses at once one succeeds', async t => {
  const operator = await gateway.signIn({ token: gateway.token })
  await operator.ask('POST', '/api/admin/accounts', { name: 'link-ann' })
  const make = async () => {
    const { body } = await operator.ask('POST', '/api/admin/accounts/link', { account: 'link-ann' })
    const hours = (Date.parse(String(body.data.expires)) - Date.now()) / 3_600_000
    t.ok(hours > 23.9 && hours <= 24)
    return linkIn(String(body.data.url))
  }
  const link = await make()
  const uses = await Promise.all(
    Array.from({ length: 5 }, () => gateway.ask('POST', '/api/session', { link })),
  )
  t.same(uses.map(({ status }) => status).sort(), [200, 401, 401, 401, 401])
  const expired = await make()
  const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
  t.teardown(() => database.close())
  const age = {
    name: 'test: age',
    text: 'UPDATE sign_in_links SET expires = ? WHERE last_four = ?',
  }
  await database.write([{ sql: age, values: [Date.now() - 1, expired.slice(-4)], rows: 1 }])
  t.equal((await gateway.ask('POST', '/api/session', { link: expired })).status, 401)
})

t.test('admin API: refuses bad bodies and unknown endpoints, and logs changes', async t => {
  const operator = await gateway.signIn({ token: gateway.token })
  const refuse = async (path: string, body: object, status: number, message: RegExp) => {
    const reply = await operator.ask('POST', `/api/admin/${path}`, body)
    t.equal(reply.status, status, path)
    t.match(reply.body.message, message)
  }
  await refuse('accounts', { name: '12' }, 400, /Invalid 'name'/)
  await refuse('accounts', { name: '<b>' }, 400, /Invalid 'name'/)
  await refuse('accounts', { name: 'x', extra: 1 }, 400, /extra/)
  await refuse('accounts', { name: 'admin' }, 409, /exists already/)
  await refuse('accounts/credit', { account: 'admin', amount: 0 }, 400, /above 0/)
  await refuse('accounts/credit', { account: 'admin', amount: -5 }, 400, /./)
  await refuse('accounts/credit', { account: 'admin', amount: '1e99' }, 400, /./)
  await refuse('accounts/credit', { account: 'nobody', amount: 1 }, 404, /Unknown account/)
  await refuse('constructor', {}, 404, /Unknown admin endpoint/)
  await refuse('accounts/destroy', {}, 404, /Unknown admin endpoint/)
  await operator.ask('POST', '/api/admin/accounts', { name: 'logged' })
  await operator.ask('POST', '/api/admin/accounts/credit', { account: 'logged', amount: '1.5' })
  const entry = await eventually(() =>
    gateway
      .output()
      .split('\n')
      .find(line => line.includes('accounts/credit') && line.includes('"logged"')),
  )
  t.match(JSON.parse(entry), {
    actor: 'admin',
    before: { name: 'logged', balance: '0' },
    after: { credited: '1.5' },
  })
})

t.test('admin listener: serves the same table', async t => {
  const response = await gateway.askAdmin('/-/admin/account?account=admin')
  t.match(await response.json(), { id: 1, name: 'admin', role: 'admin' })
  const created = await gateway.askAdmin('/-/admin/accounts', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'from-listener' }),
  })
  t.match(await created.json(), { name: 'from-listener', role: 'customer', balance: '0' })
})

t.test('throttle: failures of one network are refused, and those of one account', async t => {
  const wrong = `${gateway.token.slice(0, 20)}${'x'.repeat(32)}`
  const statuses: number[] = []
  for (let attempt = 0; attempt < 12; attempt++)
    statuses.push((await gateway.ask('POST', '/api/session', { token: wrong })).status)
  t.same(new Set(statuses), new Set([401, 429]))
  t.ok(statuses.filter(each => each === 401).length <= 10)
  const right = await gateway.ask('POST', '/api/session', { token: gateway.token })
  t.equal(right.status, 429, 'also with the right token, for the rest of the minute')
  t.ok(Number(right.headers.get('retry-after')) <= 60)
  // Other accounts of the same network go on until the network has failed too often.
  let last = 0
  for (let attempt = 0; attempt < 30; attempt++)
    last = (await gateway.ask('POST', '/api/session', { token: `st-${attempt}xxxx` })).status
  t.equal(last, 429)
})

/** Every process refuses a revoked session within a second. */
async function refusedSoon(ask: (method: string, path: string) => Promise<{ status: number }>) {
  for (let attempt = 0; ; attempt++) {
    const reply = await ask('GET', '/api/user/info')
    if (reply.status !== 200 || attempt > 100) return reply
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
