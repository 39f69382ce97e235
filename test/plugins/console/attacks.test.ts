/** Attacks on the console and its endpoints: credentials of customers on endpoints
 *  of operators, planted sessions, requests of other sites, foreign hosts, and markup in names. */
import { request } from 'node:http'
import t from 'tap'
import { gateway } from './shipped-console.ts'

const MARKUP = '<img src=x onerror=alert(1)>'
const admin = { authorization: `Bearer ${gateway.token}` }
const eve = await gateway.customer('eve', 10)
const { body: key } = await eve.ask('POST', '/api/keys', { name: 'mine' })
const { body: token } = await eve.ask('POST', '/api/system-tokens', { name: 'mine' })

t.test('customer: no credential reaches an endpoint of operators, on any method', async t => {
  const { body: list } = await gateway.ask('GET', '/api/admin/endpoints', undefined, admin)
  const credentials = [
    [{ authorization: `Bearer ${token.data.token}` }, 403],
    [{ authorization: `Bearer ${key.data.key}` }, 401],
    [{ 'x-api-key': String(token.data.token) }, 401],
    [{ authorization: `Bearer ${key.data.key}`, cookie: eve.cookie }, 401],
    [{}, 401],
  ] as const
  const before = await accounts()
  for (const { method, path } of list.data)
    for (const [headers, status] of credentials) {
      const body = method === 'GET' ? undefined : { account: 'eve', amount: 1, name: 'x', key: 1 }
      const reply = await gateway.ask(String(method), String(path), body, headers)
      t.equal(reply.status, status, `${method} ${path} ${Object.keys(headers)}`)
      t.notMatch(JSON.stringify(reply.body), /"data":[[{]/)
    }
  t.same(await accounts(), before, 'nothing was changed')
})
const accounts = async () =>
  (await gateway.ask('GET', '/api/admin/accounts', undefined, admin)).body.data

t.test('customer: rows of other accounts are unknown, and roles are not set', async t => {
  const bob = await gateway.customer('bob', 10)
  const { body: own } = await bob.ask('POST', '/api/keys', { name: 'bob' })
  for (const [method, path, body] of [
    ['GET', `/api/keys/${own.data.id}`],
    ['PATCH', `/api/keys/${own.data.id}`, { name: 'stolen' }],
    ['DELETE', `/api/keys/${own.data.id}`],
    ['GET', '/api/usage/req_00000000000000000000000000000000'],
    ['GET', '/api/tasks/1'],
    ['POST', '/api/tasks/1/cancel', {}],
  ] as const)
    t.equal((await eve.ask(method, path, body)).status, 404, `${method} ${path}`)
  for (const body of [
    { name: 'x', role: 'admin' },
    { name: 'x', account: 1 },
  ])
    t.equal((await eve.ask('POST', '/api/keys', body)).status, 400)
})

t.test(
  'session fixation: a sign-in never takes a session that the browser already has',
  async t => {
    const planted = 'tollgate-session=ss-planted'
    const body = { token: token.data.token }
    for (const cookie of [planted, eve.cookie]) {
      const reply = await gateway.ask('POST', '/api/session', body, { cookie })
      const secret = (reply.headers.get('set-cookie') ?? '').split(';')[0]
      t.match(secret, /^tollgate-session=ss-\w{49}$/)
      t.not(secret, cookie)
    }
    t.equal((await gateway.ask('GET', '/api/session', undefined, { cookie: planted })).status, 401)
  },
)

t.test('CSRF: no change with the cookie alone, by any content type or method', async t => {
  const { body: before } = await eve.ask('GET', '/api/keys')
  const types = ['text/plain', 'application/x-www-form-urlencoded', 'application/json']
  for (const type of types)
    for (const [method, path] of [
      ['POST', '/api/keys'],
      ['POST', '/api/system-tokens'],
      ['PUT', '/api/notifications'],
      ['DELETE', `/api/keys/${key.data.id}`],
      ['DELETE', '/api/session'],
      ['POST', '/v1/chat/completions'],
    ] as const) {
      const headers = { cookie: eve.cookie, 'content-type': type, origin: 'https://evil.example' }
      const reply = await gateway.ask(method, path, { name: 'x' }, headers)
      t.equal(reply.status, 403, `${method} ${path} ${type}`)
    }
  t.same((await eve.ask('GET', '/api/keys')).body, before)
  t.equal((await eve.ask('GET', '/api/session')).status, 200, 'the session goes on')
})

/** With a `Host` of its own, as a page whose name was rebound to this address sends it. */
const askAs = (url: string, host: string, method: string, body = ''): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { host, 'content-type': 'text/plain' }
    const sending = request(url, { method, headers, agent: false }, response => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sending.on('error', reject).end(body)
  })
t.test('rebinding: a foreign Host reaches no data, and no admin listener', async t => {
  for (const path of ['/api/session', '/api/admin/accounts', '/api/keys', '/api/user/info'])
    t.equal(await askAs(gateway.url + path, 'evil.example', 'GET'), 401, path)
  const create = JSON.stringify({ name: 'rebound' })
  const bodies = { GET: '', POST: create }
  for (const [method, path] of [
    ['GET', '/-/admin/accounts'],
    ['POST', '/-/admin/accounts'],
    ['POST', '/-/reload'],
  ] as const)
    t.equal(await askAs(gateway.admin + path, 'evil.example', method, bodies[method]), 403, path)
  // A page of another site knows the real address, too.
  const response = await fetch(`${gateway.admin}/-/admin/accounts`, {
    method: 'POST',
    headers: { origin: 'https://evil.example', 'content-type': 'text/plain' },
    body: create,
  })
  t.equal(response.status, 403)
  t.notOk(JSON.stringify(await accounts()).includes('rebound'))
})

t.test('markup: no name takes it, and what takes it is never sent as HTML', async t => {
  const { cookie, csrf } = await gateway.signIn({ token: gateway.token })
  const operator = { cookie, 'x-csrf-token': csrf }
  for (const [path, body, headers] of [
    ['/api/keys', { name: MARKUP }, undefined],
    ['/api/system-tokens', { name: MARKUP }, undefined],
    ['/api/admin/accounts', { name: MARKUP }, operator],
  ] as const) {
    const reply = await eve.ask('POST', path, body, headers)
    t.equal(reply.status, 400, path)
    t.match(reply.headers.get('content-type'), /^application\/json/)
  }
  const note = { account: 'eve', amount: 1, note: MARKUP }
  t.equal((await eve.ask('POST', '/api/admin/accounts/credit', note, operator)).status, 200)
  const form = new FormData()
  form.set('purpose', 'assistants')
  form.set('file', new Blob([`<script>alert(1)</script>`], { type: 'text/html' }), 'page.txt')
  const headers = { authorization: `Bearer ${key.data.key}` }
  const uploaded = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })
  const { id } = (await uploaded.json()) as { readonly id: string }
  const content = await fetch(`${gateway.url}/v1/files/${id}/content`, { headers })
  t.match(content.headers.get('content-disposition'), /^attachment/)
  t.equal(content.headers.get('x-content-type-options'), 'nosniff')
  t.notMatch(content.headers.get('content-type'), /html/)
  for (const path of [`/console/${encodeURIComponent(MARKUP)}`, `/api/${MARKUP}`, `/${MARKUP}`])
    t.notMatch((await fetch(gateway.url + path)).headers.get('content-type'), /html/, path)
})
