/** Secrets given at every place that accepts one appear in no output, log, metric, error or stored
 *  file. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../engine/store/database.ts'
import { makeSecret } from '../../plugins/credentials/secret.ts'
import { addKey, addToken, createAccount } from '../../plugins/credentials/statements.ts'
import { addCredit, openWallet } from '../../plugins/ledger/statements.ts'
import { walletOf } from '../../plugins/ledger/wallet.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { contentsIn, processesOf } from '../helpers/process-tree.ts'

const key = makeSecret('key')
const token = makeSecret('system-token')
const [unknownKey, unknownToken] = [makeSecret('key').text, makeSecret('system-token').text]
const UPSTREAM = {
  UP_KEY: 'sk-canary-of-the-environment-1a2b3c',
  SET_HEADER: 'canary-of-a-header-that-is-set-4d5e',
  IN_QUERY: 'canary-of-a-key-in-the-query-6f7a8b',
  DOWN_KEY: 'canary-of-an-upstream-that-is-down-9',
  SIGNING_KEY: 'canary-of-a-secret-access-key-0e1f2a',
  SESSION: 'canary-of-a-session-token-3b4c5d6e',
  CLIENT_SECRET: 'canary-of-a-client-secret-7f8a9b',
  PROXY_PASSWORD: 'canary-of-the-password-of-a-proxy-c0',
}
const IN_FILE = 'canary-of-a-file-of-a-secret-0c1d2e'
const HOOK = 'canary-of-a-webhook-3f4a5b6c'
const SIGNING = `whsec_${Buffer.alloc(32, 'canary of a signature').toString('base64')}`

const CLOSED = '127.0.0.1:1' // no listener
/** Its refusals contain the credentials of the request. */
const upstream = createServer(({ headers, url = '' }, response) => {
  if (url.includes('breaks')) return void response.destroy()
  const status = url.includes('refuses') ? 401 : 200
  const { authorization, 'x-api-key': own, 'x-set': set } = headers
  const error = { message: `wrong key: ${authorization} ${own} ${set} ${url}` }
  const message = { role: 'assistant', content: 'Hello' }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(status === 401 ? { error } : { id: 'x', choices, usage }))
})
await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
t.teardown(() => upstream.close())
const at = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
const SET = "headers: { set: { x-set: '${SET_HEADER}' } }"
const QUERY = "key: '${IN_QUERY}', auth: { query: key }"
const AWS = "region: r, service: s, id: i, secret: '${SIGNING_KEY}', session: '${SESSION}'"
const AZURE = "tenant: t, client: c, secret: '${CLIENT_SECRET}'"
const PROXY = `http://user:\${PROXY_PASSWORD}@${CLOSED}`
/** The configuration of each upstream, and the status that its clients get. */
const UPSTREAMS = {
  up: [`{ url: '${at}', key: '\${UP_KEY}', ${SET} }`, 200],
  file: [`{ url: '${at}', key: '\${file:secret}', auth: { header: x-api-key } }`, 200],
  query: [`{ url: '${at}', ${QUERY} }`, 200],
  down: [`{ url: 'http://${CLOSED}', key: '\${DOWN_KEY}', auth: { query: key } }`, 502],
  breaks: [`{ url: '${at}/breaks', ${QUERY} }`, 502],
  refuses: [`{ url: '${at}/refuses', key: '\${UP_KEY}', ${SET} }`, 502],
  aws: [`{ url: '${at}', auth: { aws: { ${AWS} } } }`, 200],
  azure: [`{ url: '${at}', auth: { azure: { ${AZURE}, authority: '${at}/refuses' } } }`, 502],
  proxy: [`{ url: '${at}', proxy: '${PROXY}' }`, 502],
  'refuses-query': [`{ url: '${at}/refuses', ${QUERY} }`, 502],
} as const
const all = Object.keys(UPSTREAMS)
const ROUTES = `
pipeline: [errors, auth, model, limit, meter, account, translate, notify]
upstreams:
${Object.entries(UPSTREAMS)
  .map(([name, [how]]) => `  ${name}: ${how}`)
  .join('\n')}
models:
${all.map(name => `  ${name}: { to: ${name}/m, price: { input: 1 / 1M, output: 1 / 1M } }`).join('\n')}
routes:
  - { path: POST /v1/chat/completions, name: chat, auth: [key, query-key], model: body, translate: openai-chat, errors: openai }
  - { path: GET /raw, auth: [query-key, key], upstream: [down, query], meter: { free: true } }
  - { path: GET /api/user/info, auth: system-token, account: info, errors: envelope }
  - { path: GET /api/keys, auth: system-token, account: list-keys, errors: envelope }
  - { path: GET /api/token/balance, auth: none, account: balance, errors: envelope }
  - { path: GET /api/usage/token, auth: none, account: token-usage, errors: envelope }
  - { path: GET /api/notifications, auth: system-token, notify: show, errors: envelope }
  - { path: PUT /api/notifications, auth: system-token, notify: save, errors: envelope }
  - { path: POST /api/notifications/test, auth: system-token, notify: test, errors: envelope }
`
const gateway = await startGateway({
  routes: ROUTES,
  settings: 'log: { level: debug }\negress_allow: ${EGRESS_ALLOW:-}',
  files: { secret: IN_FILE },
  env: { ...UPSTREAM, EGRESS_ALLOW: CLOSED },
})
t.teardown(() => gateway.stop())
/** The first start prints the admin's credentials once. */
const BOOTSTRAP = /An admin account was created[\s\S]*?curl.*\n/
await eventually(() => (BOOTSTRAP.test(gateway.output()) ? true : undefined))
const ADMIN_CREDENTIALS = gateway.output().match(/\b(?:sk|st)-\w{49}\b/g) ?? []
const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
const now = Date.now()
const rows = await database.write(createAccount({ name: 'ann', role: 'customer' }, now))
const account = Number(rows.at(-1)?.[0]?.id)
await database.write([
  ...addKey({ account, name: 'key', secret: key }, now),
  ...addToken({ account, name: 'token', secret: token }, now),
  openWallet(walletOf.account(account), 0n),
  addCredit({ account, kind: 'credit', amount: 10n ** 12n, note: 'test', at: now }),
])
await database.close()

/** All responses and output: headers, bodies and printed text. */
const outputs: string[] = []
interface Call {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}
const ask = async (path: string, { method = 'GET', headers = {}, body }: Call = {}) => {
  const init = {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }
  const isOfListener = path.startsWith('/-/') || path === '/metrics'
  const response = await (isOfListener
    ? gateway.askAdmin(path, init)
    : fetch(gateway.url + path, init))
  const text = await response.text()
  const [place] = path.split(/[?]|\/(?=s[kt]-)/)
  outputs.push(`${place}: ${JSON.stringify([...response.headers])} ${text}`)
  return response.status
}
const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } })

t.test('secrets: calls with valid and invalid credentials', async t => {
  const chat = (model: string, query = '', more: Call = {}) =>
    ask(`/v1/chat/completions${query}`, {
      method: 'POST',
      body: { model, messages: [{ role: 'user', content: 'Hello' }] },
      ...more,
    })
  for (const [name, [, status]] of Object.entries(UPSTREAMS))
    t.equal(await chat(name, '', bearer(key.text)), status, name)
  t.equal(await chat('up', `?key=${key.text}`), 200)
  t.equal(await ask(`/raw?key=${key.text}`), 200, 'the second of two')
  for (const wrong of [unknownKey, `${unknownKey}!`, token.text, "' OR 1=1 --"]) {
    t.equal(await chat('up', '', bearer(wrong)), 401)
    t.equal(await chat('up', `?key=${encodeURIComponent(wrong)}`), 401)
    t.equal(await chat('up', '', { headers: { 'x-api-key': wrong } }), 401)
  }
  t.equal(await chat('nowhere', `?key=${key.text}`), 404)
  t.equal(await ask(`/raw?key=${key.text}&key=${unknownKey}`), 401)
  for (const path of [`?key=${key.text}`, `/${key.text}`, `/${unknownToken}/x`])
    t.equal(await ask(`/nowhere${path}`, bearer(key.text)), 404)
})

t.test('secrets: account requests with valid and invalid credentials', async t => {
  for (const [secret, status] of [
    [key.text, 200],
    [unknownKey, 401],
  ] as const) {
    t.equal(await ask(`/api/token/balance?key=${secret}`), status)
    t.equal(await ask(`/api/token/balance?key=${secret}&key=${key.text}`), 400)
    t.equal(await ask('/api/usage/token', bearer(secret)), status)
  }
  for (const path of ['/api/user/info', '/api/keys'])
    for (const secret of [token.text, ...ADMIN_CREDENTIALS, unknownToken, key.text])
      t.equal(
        await ask(path, bearer(secret)),
        secret === token.text || secret === ADMIN_CREDENTIALS[1] ? 200 : 401,
      )
})

t.test('secrets: a webhook with an unreachable receiver', async t => {
  const own = bearer(token.text)
  const save = (url: string) =>
    ask('/api/notifications', { ...own, method: 'PUT', body: { url, secret: SIGNING } })
  const before = outputs.length
  t.equal(await save(`https://${CLOSED}/hook?token=${HOOK}`), 200)
  t.equal(await ask('/api/notifications', own), 200)
  // The owner sees the URL that it saved, and the signing secret once, when it is saved.
  const checkedOutput = outputs.splice(before).join('').replaceAll(HOOK, '').replace(SIGNING, '')
  outputs.push(checkedOutput)
  for (const url of [`https://user:${HOOK}@${CLOSED}/`, `http://${CLOSED}/?token=${HOOK}`, HOOK])
    t.equal(await save(url), 400)
  t.equal(await ask('/api/notifications/test', { ...own, method: 'POST' }), 200)
  t.match(outputs.at(-1), '"success":false')
})

/** Configurations with the value of a variable or file at a place that must not have one. */
const BROKEN = [
  ROUTES.replace('auth: { header: x-api-key }', "timeout: { connect: '${UP_KEY}' }"),
  ROUTES.replace("'${file:secret}'", "'${UP_KEY}', connections: '${file:secret}'"),
  ROUTES.replace(`url: 'http://${CLOSED}'`, "url: '${DOWN_KEY}'"),
  ROUTES.replace(`'http://${CLOSED}'`, "'ftp://user:${IN_QUERY}@x/'"),
  ROUTES.replace('pipeline: [', "include: '${UP_KEY}'\npipeline: ["),
  ROUTES.replace(PROXY, '${PROXY_PASSWORD}'),
  ROUTES.replace(`aws: { ${AWS} }`, "google: '${SIGNING_KEY}'"),
  ROUTES.replace('path: GET /raw', "path: '${IN_QUERY}'"),
  ROUTES.replace('price: { input: 1 / 1M', "price: { input: '${SET_HEADER}'"),
]
t.test('secrets: reloads of invalid configurations', async t => {
  for (const text of BROKEN) {
    t.not(text, ROUTES)
    const report = await gateway.reload(text).catch((error: Error) => error.message)
    t.match(report, '"problems"')
    outputs.push(String(report))
  }
})

t.test('secrets: admin endpoints and the command line', async t => {
  for (const path of ['/-/config', '/-/health', '/-/ready', '/metrics'])
    t.equal(await ask(path), 200)
  const env = {
    ...UPSTREAM,
    EGRESS_ALLOW: CLOSED,
    TOLLGATE_DATA: gateway.data,
    TOLLGATE_CONFIG: join(dirname(gateway.data), 'routes.yaml'),
  }
  const run = async (...argv: string[]) => {
    const { code, out, err } = await tollgate(argv, env)
    outputs.push(out + err)
    return code
  }
  t.equal(await run('check'), 1, 'the last invalid configuration')
  t.equal(await run('status'), 0)
  await gateway.reload(ROUTES)
  t.equal(await run('check', '--json'), 0)
  t.equal(await run('routes'), 0)
  for (const how of [[], ['--json']])
    t.equal(await run('explain', 'GET', `/raw?key=${key.text}`, '-k', key.text, ...how), 0)
})

/** Owners see the first and last letters of a credential. */
const inner = (credential: string): string => credential.slice(8, -5)
const CREDENTIALS = [key.text, token.text, unknownKey, unknownToken, ...ADMIN_CREDENTIALS].map(
  inner,
)
const UPSTREAM_SECRETS = [...Object.values(UPSTREAM), IN_FILE]

t.test('secrets: appear in no process, file, output or response', async t => {
  t.equal(new Set(ADMIN_CREDENTIALS).size, 2)
  const clean = (name: string, text: string | Buffer, secrets: readonly string[]) =>
    t.same(
      secrets.filter(secret => text.includes(secret)),
      [],
      name,
    )
  const everything = [...CREDENTIALS, ...UPSTREAM_SECRETS, HOOK, SIGNING]
  const tree = processesOf(gateway.pid)
  t.ok(tree.length > 2, 'a primary, a worker, a writer')
  for (const pid of tree)
    for (const file of ['cmdline', 'comm'])
      clean(file, readFileSync(`/proc/${pid}/${file}`), everything)
  const files = contentsIn(gateway.data)
  const bytes = Buffer.concat(files.map(([, each]) => each))
  for (const there of [key.digest, token.digest, CLOSED, '${UP_KEY}'])
    t.ok(bytes.includes(there), `${there} is stored`)
  for (const [name, each] of files) {
    // The store keeps the receiver's address and the signing secret, because deliveries need them.
    const forbidden = name.startsWith('tollgate.db')
      ? [...CREDENTIALS, ...UPSTREAM_SECRETS]
      : everything
    clean(name, each, forbidden)
  }
  await gateway.stop()
  t.match(gateway.output(), BOOTSTRAP)
  const output = gateway.output().replace(BOOTSTRAP, '')
  t.match(output, /upstream rejects the gateway's API key.*\n/)
  t.match(output, CLOSED)
  clean('output', output, everything)
  for (const text of outputs) clean(text.split(':', 1)[0] ?? '', text, everything)
})
