/** The sources of a credential in a request, and requests with two credentials. */
import t from 'tap'
import type { Attempt } from '../../../engine/plugin.ts'
import auth from '../../../plugins/auth/index.ts'
import { exchangeOf, hostOver, openAccounts } from '../../helpers/store/accounts.ts'

const { host, ...accounts } = await openAccounts(t)
const ann = await accounts.account('ann')
const bob = await accounts.account('bob', 'admin')
const key = await accounts.key(ann, { models: ['gp-4.1'] })
const other = await accounts.key(bob)
const token = await accounts.token(bob)

const asAnn = { id: ann, name: 'ann', role: 'customer' }
const withKey = { ...asAnn, key: { id: key.id, name: 'test', models: ['gp-4.1'] } }
const withToken = { id: bob, name: 'bob', role: 'admin', token: token.id }
const bearer = (text: string) => ({ authorization: `Bearer ${text}` })

t.test('credential extraction: mode key reads each header', async t => {
  const call = accounts.route('key')
  const headerSets: Record<string, string>[] = [
    bearer(key.text),
    { authorization: `bearer  ${key.text} ` },
    { authorization: `Token ${key.text}` },
    { 'x-api-key': key.text },
    { 'x-goog-api-key': key.text },
    { 'api-key': key.text },
    { 'mj-api-secret': key.text },
  ]
  for (const headers of headerSets)
    t.same(await call({ headers }), withKey, JSON.stringify(headers))
  for (const headers of [
    {},
    { authorization: '' },
    { authorization: key.text },
    { authorization: `Basic ${key.text}` },
    { authorization: `Bearer ${key.text} ${key.text}` },
    { 'x-api-key': '' },
    { 'x-other': key.text },
  ]) {
    await t.rejects(call({ headers: headers as Record<string, string> }), {
      code: 'AUTH_MISSING',
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
    })
  }
  await t.rejects(call({ query: `key=${key.text}` }), { code: 'AUTH_MISSING' })
})

t.test('credential extraction: says what a request without a credential did wrong', async t => {
  const call = accounts.route('key')
  const send = 'send "Authorization: Bearer sk-…"'
  const header = 'The Authorization header'
  for (const [authorization, message] of [
    [key.text, `${header} has a key without "Bearer" before it; ${send}`],
    ['another-form-of-key', `${header} has a key without "Bearer" before it; ${send}`],
    ['Bearer', `${header} has no key behind "Bearer" (is a variable empty?); ${send}`],
    ['Bearer ', `${header} has no key behind "Bearer" (is a variable empty?); ${send}`],
    ['', `${header} is empty; ${send}`],
    ['Basic YTpi', `${header} has the scheme "Basic"; ${send}`],
    ['Bearer a b', `${header} has spaces in the key behind "Bearer"; ${send}`],
  ] as const)
    await t.rejects(call({ headers: { authorization } }), { code: 'AUTH_MISSING', message })
  const missing = 'No API key or token found; send it as "Authorization: Bearer sk-…"'
  await t.rejects(call({}), { message: missing })
  const inQuery = 'This route reads no key from the URL; send it as "Authorization: Bearer sk-…"'
  await t.rejects(call({ query: 'key=x' }), { message: inQuery })
  const native = accounts.route(['query-key', 'key'])
  await t.rejects(native({}), {
    message: 'No API key found; send it as "?key=sk-…" in the URL, or in the header x-goog-api-key',
  })
  await t.rejects(native({ headers: { authorization: key.text } }), { message: /without "Bearer"/ })
})

t.test(
  'credential extraction: mode key reads the realtime subprotocol of a WebSocket only',
  async t => {
    const call = accounts.route('key')
    const headers = {
      'sec-websocket-protocol': `realtime, openai-insecure-api-key.${key.text}, openai-beta.realtime-v1`,
    }
    t.same(await call({ headers, kind: 'websocket' }), withKey)
    await t.rejects(call({ headers }), { code: 'AUTH_MISSING' })
    const none = { 'sec-websocket-protocol': 'realtime' }
    await t.rejects(call({ headers: none, kind: 'websocket' }), { code: 'AUTH_MISSING' })
  },
)

t.test('credential extraction: mode query-key reads the query only', async t => {
  const call = accounts.route('query-key')
  t.same(await call({ query: `alt=sse&key=${key.text}` }), withKey)
  t.same(
    await call({ query: `key=${key.text}`, headers: bearer(other.text) }),
    withKey,
    'headers do not count',
  )
  await t.rejects(call({ headers: bearer(key.text) }), { code: 'AUTH_MISSING' })
  await t.rejects(call({ query: 'key=' }), { code: 'AUTH_MISSING' })
  await t.rejects(call({ query: `key=${key.text}&key=${other.text}` }), { code: 'AUTH_AMBIGUOUS' })
})

t.test('credential extraction: the query has priority in any order of modes', async t => {
  for (const modes of [['key', 'query-key'] as const, ['query-key', 'key'] as const]) {
    const call = accounts.route(modes)
    t.same(await call({ query: `key=${key.text}` }), withKey)
    t.same(await call({ headers: { 'x-goog-api-key': key.text } }), withKey)
    t.same(await call({ query: `key=${key.text}`, headers: bearer(other.text) }), withKey)
    await t.rejects(call({ query: 'key=wrong', headers: bearer(key.text) }), {
      code: 'AUTH_UNKNOWN',
    })
  }
})

t.test(
  'credential extraction: refuses two different credentials, accepts the same twice',
  async t => {
    const call = accounts.route('key')
    t.same(await call({ headers: { ...bearer(key.text), 'x-api-key': key.text } }), withKey)
    await t.rejects(call({ headers: { ...bearer(key.text), 'x-api-key': other.text } }), {
      code: 'AUTH_AMBIGUOUS',
      status: 401,
    })
  },
)

t.test(
  'credential extraction: mode system-token reads Authorization with or without Bearer',
  async t => {
    const call = accounts.route('system-token')
    t.same(await call({ headers: bearer(token.text) }), withToken)
    t.same(await call({ headers: { authorization: token.text } }), withToken)
    await t.rejects(call({ headers: { 'x-api-key': token.text } }), { code: 'AUTH_MISSING' })
    await t.rejects(call({}), { code: 'AUTH_MISSING', message: /"Authorization: Bearer st-…"/ })
  },
)

t.test('credential extraction: a credential of another kind is refused', async t => {
  await t.rejects(accounts.route('key')({ headers: bearer(token.text) }), {
    code: 'AUTH_KIND',
    status: 401,
    message: 'This route accepts an API key (sk-…), not a system token (st-…)',
  })
  await t.rejects(accounts.route('query-key')({ query: `key=${token.text}` }), {
    code: 'AUTH_KIND',
  })
  for (const authorization of [key.text, `Bearer ${key.text}`]) {
    await t.rejects(accounts.route('system-token')({ headers: { authorization } }), {
      code: 'AUTH_KIND',
      status: 401,
    })
  }
})

t.test('credential extraction: a route with both modes accepts both kinds', async t => {
  const call = accounts.route(['key', 'system-token'])
  t.same(await call({ headers: bearer(key.text) }), withKey)
  t.same(await call({ headers: bearer(token.text) }), withToken)
  t.same(await call({ headers: { authorization: token.text } }), withToken)
})

t.test(
  'credential extraction: mode none accepts a missing credential and refuses a wrong one',
  async t => {
    t.same(auth.setup('none', host), {}, 'no stage')
    const call = accounts.route(['key', 'none'])
    t.equal(await call({}), undefined)
    t.same(await call({ headers: bearer(key.text) }), withKey)
    await t.rejects(
      call({ headers: bearer('sk-wrong') }),
      { code: 'AUTH_UNKNOWN' },
      'a wrong key is refused',
    )
    t.equal(auth.default, 'key', 'the default requires a key')
  },
)

t.test('credential extraction: removes the query key before forwarding', async t => {
  const { forward } = auth.setup(['key', 'query-key'], host)
  const forwardedPath = async (path: string) => {
    const attempt = { request: { path } } as Attempt
    await forward?.(attempt, async () => {})
    return attempt.request.path
  }
  t.equal(await forwardedPath('/v1beta/x'), '/v1beta/x')
  t.equal(await forwardedPath('/v1beta/x?key=sk-1'), '/v1beta/x')
  t.equal(
    await forwardedPath('/v1beta/x?alt=sse&key=sk-1&q=a%20b+c&empty'),
    '/v1beta/x?alt=sse&q=a%20b+c&empty',
  )
  t.equal(
    await forwardedPath('/v1beta/x?k%65y=sk-1&key&key=sk-2&keys=1&monkey=2'),
    '/v1beta/x?keys=1&monkey=2',
  )
  t.equal(auth.setup('key', host).forward, undefined, 'other modes have no forward handler')
})

t.test('credential extraction: removes the subprotocol key before forwarding', async t => {
  const { forward } = auth.setup('key', hostOver(accounts.database, 'WS'))
  const forwardedHeaders = async (protocols?: string) => {
    const headers = protocols === undefined ? {} : { 'sec-websocket-protocol': protocols }
    await forward?.({ request: { headers } } as Attempt, async () => {})
    return headers
  }
  t.same(await forwardedHeaders('realtime, openai-insecure-api-key.sk-1,beta'), {
    'sec-websocket-protocol': 'realtime, beta',
  })
  t.same(
    await forwardedHeaders('openai-insecure-api-key.sk-1'),
    {},
    'the header is removed if it becomes empty',
  )
  t.same(await forwardedHeaders(), {})
})

t.test('credential extraction: explain names the kind and not the secret', async t => {
  const { explain } = auth.setup(['key', 'query-key'], host)
  const explanation = explain?.(exchangeOf({ headers: bearer(key.text) }))
  t.same(explanation, { takes: ['key', 'query-key'], given: 'an API key (sk-…)' })
  t.match(explain?.(exchangeOf({})), { given: 'none' })
  t.match(explain?.(exchangeOf({ query: 'key=a&key=b' })), { given: 'two that differ' })
  t.match(explain?.(exchangeOf({ query: `key=${token.text}` })), { given: 'a system token (st-…)' })
})
