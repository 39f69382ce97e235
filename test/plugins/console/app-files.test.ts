/** The files of the console: compressed, cached, guarded by a CSP, and small. Also the section
 *  `console:` and the Secure cookie behind TLS. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { startConsole } from '../../helpers/console/console-gateway.ts'
import { rawGet } from '../../helpers/console/raw-get.ts'

const LARGEST_FIRST_LOAD = 120 * 1024
const schema = new URL('../../../schemas/session.json', import.meta.url)
const gateway = await startConsole(t, {
  settings: 'public_url: https://example.com/tollgate',
  files: { 'schemas/session.json': readFileSync(schema, 'utf8') },
  routes: `
pipeline: [errors, auth, validate, meter, console]
console: { admin: false, session: 1h }
routes:
  - { path: GET /, auth: none, console: home }
  - { path: GET /console, auth: none, console: page, errors: envelope }
  - { path: GET /console/, auth: none, console: folder, errors: envelope }
  - { path: 'GET /console/{file}', auth: none, console: file, errors: envelope }
  - path: POST /api/session
    auth: none
    validate: schemas/session.json
    console: sign-in
    errors: envelope
  - { path: GET /api/session, auth: session, console: session, errors: envelope }
  - path: GET|POST /api/admin/{resource}
    auth: { by: [system-token, session], role: admin }
    console: admin
    errors: envelope
`,
})

t.test('page: allows its own files only', async t => {
  const { status, headers, text } = await rawGet(`${gateway.url}/console`)
  t.equal(status, 200)
  const policy = String(headers['content-security-policy'])
  t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
  t.notMatch(policy, /unsafe|https?:|\*/)
  t.match(headers, { 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' })
  t.notMatch(text, /<style|style=|<script(?![^>]* src=)|\son\w+=|https?:/)
})

t.test('folder: /console/ leads to the page, also below a path of a proxy', async t => {
  const { status, headers } = await rawGet(`${gateway.url}/console/`)
  t.match({ status, headers }, { status: 308, headers: { location: '../console' } })
  t.match(await (await fetch(`${gateway.url}/console/`)).text(), '<div id="app">')
})

t.test(
  'start page: browsers go to the console, other clients get the 404 of unknown paths',
  async t => {
    const browser = await rawGet(`${gateway.url}/`, {
      accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    })
    t.match(browser, { status: 302, text: '', headers: { location: 'console', vary: 'accept' } })
    const followed = await fetch(`${gateway.url}/`, { headers: { accept: 'text/html' } })
    t.match(await followed.text(), '<div id="app">')
    const clients = [
      undefined,
      '*/*',
      'application/json',
      'text/plain',
      'text/htmlx',
      'x'.repeat(4000),
    ]
    for (const accept of clients) {
      const headers: Record<string, string> = accept === undefined ? {} : { accept }
      const { status, text } = await rawGet(`${gateway.url}/`, headers)
      const unknown = await rawGet(`${gateway.url}/nothing`, headers)
      t.equal(status, 404, accept ?? 'no accept')
      const { error } = JSON.parse(text)
      t.match(error.message, /^Invalid URL \(GET \/\)/)
      const other = JSON.parse(unknown.text).error
      t.same({ ...error, message: '' }, { ...other, message: '' }, 'like any unknown path')
    }
  },
)

t.test('start page: other methods get a 405 that names the allowed ones', async t => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const accept of ['text/html', 'application/json']) {
      const headers = { accept }
      const response = await fetch(`${gateway.url}/`, { method, headers, redirect: 'manual' })
      t.equal(response.status, 405, `${method} ${accept}`)
      t.equal(response.headers.get('allow'), 'GET, HEAD')
      t.equal(response.headers.get('location'), null, 'no redirect')
      const { error } = (await response.json()) as { error: Readonly<Record<string, unknown>> }
      t.match(error, { message: `${method} is not allowed here; allowed: GET, HEAD.` })
    }
  }
  const head = (accept: string) =>
    fetch(`${gateway.url}/`, { method: 'HEAD', headers: { accept }, redirect: 'manual' })
  const browser = await head('text/html')
  t.equal(browser.status, 302)
  t.equal(browser.headers.get('location'), 'console')
  t.equal((await head('*/*')).status, 404)
})

t.test('files: compressed, immutable, with ETags', async t => {
  const { text } = await rawGet(`${gateway.url}/console`)
  const names = [...text.matchAll(/(?:src|href)="console\/([^"]+)"/g)].map(match => match[1] ?? '')
  t.ok(names.length >= 2)
  let total = 0
  for (const name of names) {
    const path = `${gateway.url}/console/${name}`
    const plain = await rawGet(path)
    const small = await rawGet(path, { 'accept-encoding': 'gzip, br' })
    t.match(small.headers, {
      'content-encoding': 'gzip',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      'content-type': name.endsWith('.js') ? /^text\/javascript/ : /^text\/css/,
    })
    t.equal(gunzipSync(small.bytes).toString(), plain.text)
    total += small.bytes.length
    const again = await rawGet(path, { 'if-none-match': String(plain.headers.etag) })
    t.equal(again.status, 304)
    t.equal(again.bytes.length, 0)
  }
  t.ok(total < LARGEST_FIRST_LOAD, `the first load is ${total} bytes`)
})

t.test('files: unknown names are refused', async t => {
  for (const name of ['main.js', 'index.html', '..%2fpackage.json', 'constructor'])
    t.equal((await rawGet(`${gateway.url}/console/${name}`)).status >= 400, true, name)
})

t.test('session cookie: Secure and bound to the host behind TLS', async t => {
  const { headers } = await gateway.ask('POST', '/api/session', { token: gateway.token })
  t.match(
    headers.get('set-cookie'),
    /^__Host-tollgate=ss-\w+; Path=\/; .*HttpOnly; SameSite=Strict; Secure$/,
  )
  const cookie = headers.get('set-cookie')?.split(';')[0]
  t.equal((await gateway.ask('GET', '/api/session', undefined, { cookie })).status, 200)
  // A page of a sibling domain can set a cookie without the prefix.
  const planted = cookie?.replace('__Host-tollgate', 'tollgate-session')
  for (const each of [planted, `other=1; ${planted}`])
    t.equal((await gateway.ask('GET', '/api/session', undefined, { cookie: each })).status, 401)
  const both = `${planted?.replace(/=ss-/, '=ss-x')}; ${cookie}`
  t.equal((await gateway.ask('GET', '/api/session', undefined, { cookie: both })).status, 200)
})

t.test('first start: the link has the public address', async t => {
  t.match(gateway.output(), /https:\/\/example\.com\/tollgate\/console#link=sl-/)
})

t.test('console.session: sets the life of the cookie', async t => {
  const { headers } = await gateway.ask('POST', '/api/session', { token: gateway.token })
  t.match(headers.get('set-cookie'), /; Max-Age=3600;/)
})

t.test('console.admin false: the public listener refuses, the admin listener serves', async t => {
  const operator = await gateway.signIn({ token: gateway.token })
  for (const [method, body] of [['GET'], ['POST', { name: 'ann' }]] as const) {
    const reply = await operator.ask(method, '/api/admin/accounts', body)
    t.equal(reply.status, 404)
    t.match(reply.body.message, /switched off/)
  }
  const { body } = await gateway.ask('POST', '/api/session', { token: gateway.token })
  t.match(body.data, { account: { role: 'admin' }, admin: false })
  const response = await gateway.askAdmin('/-/admin/accounts')
  t.match(await response.json(), { data: [{ name: 'admin' }] })
})
