/** The bootstrap of an empty store: one admin account, credentials printed once, demo money. */
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import auth from '../../../plugins/auth/index.ts'
import { openAccounts } from '../../helpers/store/accounts.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { sql, statement } from '../../helpers/store/store.ts'

const COUNTS = sql(
  'counts',
  `SELECT (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM api_keys) AS keys,
    (SELECT count(*) FROM system_tokens) AS tokens`,
)

const { host: baseHost, store, database, ...accounts } = await openAccounts(t)
/** Host members for a configuration with these routes, each with the option `auth`. */
const withRoutes = (paths: readonly string[], auth: unknown = 'key') => ({
  section: <T>(name: string) => (name === 'routes' ? paths.map(path => ({ path })) : {}) as T,
  match: (method: string, target: string) => {
    const isMatch = paths.some(path => path.includes(method) && path.endsWith(` ${target}`))
    const route = {
      ...baseHost.route,
      option: (name: string) => (name === 'auth' ? auth : undefined),
    }
    return { params: {}, path: target, search: '', allowed: [], ...(isMatch && { route }) } as never
  },
})
const host = { ...baseHost, ...withRoutes(['GET /v1/models', 'POST /v1/chat/completions']) }
const empty = () =>
  database.write(
    ['api_keys', 'system_tokens', 'accounts'].map(name => statement(name, `DELETE FROM ${name}`)),
  )

t.test('bootstrap: prints credentials and an example command once', async t => {
  await empty()
  const text = (await auth.welcome(host, { url: 'https://gate.example/base' })) ?? ''
  const [key = ''] = /sk-\w{49}/.exec(text) ?? []
  const [token = ''] = /st-\w{49}/.exec(text) ?? []
  const curl = text.split('\n').find(line => line.trim().startsWith('curl')) ?? ''
  t.match(
    curl,
    `curl https://gate.example/base/v1/chat/completions -H 'Authorization: Bearer ${key}'`,
  )
  t.match(JSON.parse(/-d '(.*)'/.exec(curl)?.[1] ?? ''), {
    model: 'gp-4.1',
    messages: [{ role: 'user' }],
  })
  const admin = { id: 1, name: 'admin', role: 'admin' }
  t.match(await accounts.route('key')({ headers: { 'x-api-key': key } }), admin)
  t.match(await accounts.route('system-token')({ headers: { authorization: token } }), admin)
  t.equal(await auth.welcome(host, { url: 'http://x' }), undefined)
  t.same(await database.read(COUNTS, []), [{ accounts: 1, keys: 1, tokens: 1 }])
})

t.test('bootstrap: does nothing in a store with accounts', async t => {
  await empty()
  await accounts.account('ann')
  t.equal(await auth.welcome(host, { url: 'http://x' }), undefined)
})

t.test('bootstrap: runs once when two gateways start together', async t => {
  await empty()
  const other = await openDatabase({ url: 'sqlite:', data: store.data, writeTimeout: 60_000 })
  const texts = await Promise.all([
    auth.welcome(host, { url: 'http://x' }),
    auth.welcome({ ...host, database: other }, { url: 'http://x' }),
  ])
  t.equal(texts.filter(Boolean).length, 1)
  t.same(await database.read(COUNTS, []), [{ accounts: 1, keys: 1, tokens: 1 }])
  await other.close()
})

t.test('bootstrap: the example command names a configured model', async t => {
  await empty()
  const models = { 'cl-*': {}, 'only-one': {} }
  const section = <T>(name: string) => (name === 'models' ? models : host.section(name)) as T
  t.match(await auth.welcome({ ...host, section }, { url: 'http://x' }), /"model":"only-one"/)
})

t.test('bootstrap: the example command calls a configured route', async t => {
  for (const [path, body] of [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }],
    ['/team/a/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }],
    ['/v1/responses', { input: 'Hello' }],
    ['/anthropic/v1/messages', { max_tokens: 256, messages: [{ role: 'user', content: 'Hello' }] }],
  ] as const) {
    await empty()
    const routes = withRoutes(['GET /v1/models', `GET|POST ${path}`], ['query-key', 'key'])
    const text = (await auth.welcome({ ...host, ...routes }, { url: 'http://x' })) ?? ''
    t.match(text, `Try it:\n\n  curl http://x${path} -H`)
    t.match(JSON.parse(/-d '(.*)'/.exec(text)?.[1] ?? ''), { model: 'gp-4.1', ...body }, path)
  }
})

t.test('bootstrap: prints no command if no route accepts a key and a known format', async t => {
  for (const routes of [
    withRoutes([]),
    withRoutes(['GET /v1/chat/completions', 'WS /v1/responses', 'POST /v1/embeddings']),
    withRoutes(['POST /{team}/chat/completions']),
    withRoutes(['POST /v1/chat/completions'], 'system-token'),
    withRoutes(['POST /v1/chat/completions'], 'none'),
  ]) {
    await empty()
    const text = await auth.welcome({ ...host, ...routes }, { url: 'http://x' })
    t.match(text, /API key {7}sk-\w{49}/)
    t.notMatch(text, /curl|Try it/)
  }
})

const inside = { options: {}, inside: 'sandbox' }
const CREDITS = sql('credits', 'SELECT account, kind, amount, note FROM credits')

t.test('bootstrap: succeeds without demo money if the ledger is missing', async t => {
  await empty()
  const text = await auth.welcome({ ...host, upstreams: { gp: inside } }, { url: 'http://x' })
  t.match(text, /no balance yet.*\n[\s\S]*curl/)
})

t.test('bootstrap: credits demo money only if all upstreams are the sandbox', async t => {
  await makeLedger(database)
  const settings =
    (more: object) =>
    <T>(name: string) =>
      (name === 'settings' ? more : host.section(name)) as T
  const WITHOUT = [
    { upstreams: {} },
    { upstreams: { gp: inside, cl: { options: {} } } },
    { upstreams: { gp: { options: {}, inside: 'other' } } },
    { upstreams: { gp: inside }, section: settings({ database: 'postgres://db/tollgate' }) },
  ]
  for (const more of WITHOUT) {
    await empty()
    const text = await auth.welcome({ ...host, ...more }, { url: 'http://x' })
    t.match(text, /It has no balance yet. Add credit: tollgate accounts credit admin 100\n/)
    t.same(await database.read(CREDITS, []), [])
  }
  await empty()
  const section = settings({ database: 'sqlite:', currency: { name: 'EUR' } })
  const sandboxHost = { ...host, section, upstreams: { gp: inside, cl: inside } }
  t.match(await auth.welcome(sandboxHost, { url: 'http://x' }), /has 100 EUR of demo money/)
  const credit = { account: 1, kind: 'credit', amount: 100_000_000_000, note: 'demo' }
  t.same(await database.read(CREDITS, []), [credit])
  t.equal(await auth.welcome(sandboxHost, { url: 'http://x' }), undefined)
  t.same(await database.read(CREDITS, []), [credit], 'once')
})

t.test('bootstrap: fails while the store is unavailable', async t => {
  await empty()
  await database.close()
  await t.rejects(auth.welcome(host, { url: 'http://x' }), { code: 'STORE_UNAVAILABLE' })
})
