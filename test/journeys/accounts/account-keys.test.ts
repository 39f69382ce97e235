/** API keys and system tokens that an account manages itself, over sockets and a real store: the
 *  secret is shown once, changes apply, a revoked key stops within a second, and other accounts
 *  cannot reach them. */
import t, { type Test } from 'tap'
import { eventually as waitFor } from '../../helpers/eventually.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'
import { gateway } from './account-gateway.ts'

const { ask } = gateway

const ann = await gateway.account('ann')
await gateway.credit(ann, 10n ** 12n)
const token = (await gateway.addToken(ann)).text
const eve = (await gateway.addToken(await gateway.account('eve'))).text

/** Milliseconds until every worker applies a change; the long form allows no slack for load. */
const DEADLINE = shortOrLong(10_000, 1_000)
const eventually = async (
  t: Test,
  look: () => Promise<boolean>,
  what: string,
  patience = DEADLINE,
): Promise<void> => {
  await waitFor(look, { patience, failure: () => `not yet: ${what}` })
  t.pass(what)
}
const admits = async (text: string, path = '/v1/dashboard/billing/usage') =>
  (await ask('GET', path, text)).status === 200

t.test('API key: created, shown once, listed without its secret, revoked', async t => {
  const expires = '2100-01-01T00:00:00.000Z'
  const limits = { requests: '60/min', concurrency: 5 }
  const options = { name: 'laptop', expires, models: ['plain', 'by-call'], limits, quota: 5_000 }
  const creation = await ask('POST', '/api/keys', token, options)
  t.equal(creation.status, 201)
  const { id, key } = creation.body.data
  t.match(key, /^sk-[0-9A-Za-z]{49}$/)
  t.ok(await admits(key))
  const listedKey = {
    ...options,
    id,
    key: `${key.slice(0, 4)}**********${key.slice(-4)}`,
    state: 'active',
    remaining_quota: 5_000,
    used_quota: 0,
    created: String,
  }
  t.match((await ask('GET', `/api/keys/${id}`, token)).body.data, listedKey)
  const list = await ask('GET', '/api/keys', token)
  t.match(list.body, { success: true, data: [listedKey], next: null })
  t.notMatch(list.text, key)
  const deletion = await ask('DELETE', `/api/keys/${id}`, token)
  t.match(deletion, { status: 200, body: { data: { id, state: 'revoked' } } })
  await eventually(t, async () => !(await admits(key)), 'the key is rejected')
  t.equal((await ask('DELETE', `/api/keys/${id}`, token)).status, 200, 'revoking it again succeeds')
  const after = await ask('PATCH', `/api/keys/${id}`, token, { name: 'again' })
  t.equal(after.status, 409)
  t.equal((await ask('GET', `/api/keys/${id}`, token)).body.data.name, 'laptop')
})

t.test('API key: a request without options gets the defaults', async t => {
  const { body } = await ask('POST', '/api/keys', token, {})
  t.match(body.data, {
    name: 'unnamed',
    expires: null,
    models: null,
    limits: null,
    quota: null,
    remaining_quota: null,
    used_quota: 0,
  })
})

t.test(
  'API key: a change sets the given fields, null removes a limit, the others stay',
  async t => {
    const options = {
      name: 'one',
      models: ['plain'],
      limits: { concurrency: 2 },
      expires: '2100-01-01',
    }
    const { id, key } = (await ask('POST', '/api/keys', token, options)).body.data
    const change = async (body: object) =>
      (await ask('PATCH', `/api/keys/${id}`, token, body)).body.data
    t.match(await change({ name: 'two' }), { ...options, name: 'two', expires: /^2100-01-01T/ })
    t.match(await change({ models: null, expires: null }), {
      name: 'two',
      models: null,
      expires: null,
      limits: { concurrency: 2 },
    })
    t.match(await change({ limits: { requests: '1/h' } }), { limits: { requests: '1/h' } })
    t.match(await change({ limits: null }), { name: 'two', limits: null })
    t.match(await change({}), { name: 'two' })
    t.ok(await admits(key))
    await change({ expires: new Date(Date.now() + 500).toISOString() })
    await eventually(t, async () => !(await admits(key)), 'the new expiry applies', DEADLINE + 500)
  },
)

t.test('API key: a quota for each month', async t => {
  const month = { quota: 100, quota_period: 'month' }
  const key = (await ask('POST', '/api/keys', token, month)).body.data
  t.match(key, { ...month, remaining_quota: 100, used_quota: 0 })
  const call = { account: ann, key: key.id, quota: 200_000n }
  await gateway.payCall({ ...call, request: 'month', cost: 60_000n })
  const change = (body: object) => ask('PATCH', `/api/keys/${key.id}`, token, body)
  t.match((await change({ name: 'n' })).body.data, { ...month, remaining_quota: 70 })
  const day = { quota: 40, quota_period: 'day' }
  t.match((await change(day)).body.data, { ...day, remaining_quota: 40, used_quota: 0 })
  t.match((await change({ quota: null })).body.data, { quota: null, quota_period: null })
  for (const wrong of [{ quota_period: 'month' }, { quota: 5, quota_period: 'week' }])
    t.match(await change(wrong), { status: 400, body: { success: false, message: /quota/ } })
})

t.test('API key: a new quota keeps the used amount', async t => {
  const key = (await ask('POST', '/api/keys', token, { quota: 100 })).body.data
  const change = (quota: unknown) => ask('PATCH', `/api/keys/${key.id}`, token, { quota })
  t.match((await change(50)).body.data, { quota: 50, remaining_quota: 50 }, 'before the first call')
  const call = { account: ann, key: key.id, quota: 100_000n }
  await gateway.payCall({ ...call, request: 'q1', cost: 60_000n })
  t.match((await change(200)).body.data, { quota: 200, remaining_quota: 170, used_quota: 30 })
  const balance = await ask('GET', `/api/token/balance?key=${key.key}`)
  t.match(balance.body.data, { remaining_quota: 170, used_quota: 30, total_quota: 200 })
  t.match(await change(29), {
    status: 409,
    body: { success: false, message: /already used or held by running calls/ },
  })
  t.match((await ask('GET', `/api/keys/${key.id}`, token)).body.data, {
    quota: 200,
    remaining_quota: 170,
  })
  t.test('removing the quota and setting it again', async t => {
    t.match((await change(null)).body.data, { quota: null, remaining_quota: null, used_quota: 30 })
    const all = await ask('GET', `/api/token/balance?key=${key.key}`)
    t.match(all.body.data, { unlimited_quota: true })
    t.match(await change(29), {
      status: 409,
      body: { message: /already used or held by running calls/ },
    })
    t.match((await change(30)).body.data, { quota: 30, remaining_quota: 0, used_quota: 30 })
    for (const wrong of [-1, 0, 1.5, '5', 1e300, true, [5]])
      t.equal((await change(wrong)).status, 400, `${wrong}`)
  })
  const free = (await ask('POST', '/api/keys', token, {})).body.data
  const first = await ask('PATCH', `/api/keys/${free.id}`, token, { quota: 5 })
  t.match(first.body.data, { quota: 5, remaining_quota: 5 })
})

t.test('key list: pages return every key once', async t => {
  const bob = await gateway.account('bob')
  const own = (await gateway.addToken(bob)).text
  for (let remaining = 5; remaining > 0; remaining--) await gateway.addKey(bob)
  const ids: number[] = []
  for (let cursor = ''; ; ) {
    const { body } = await ask('GET', `/api/keys?limit=2${cursor}`, own)
    ids.push(...body.data.map(({ id }) => id))
    if (body.next === null) break
    cursor = `&cursor=${body.next}`
  }
  t.equal(new Set(ids).size, 5)
  for (const query of ['limit=-1', 'cursor=1', 'cursor=!', 'cursor=a&cursor=b'])
    t.equal((await ask('GET', `/api/keys?${query}`, own)).status, 400, query)
})

t.test('system token: created, renamed, listed without its secret, revoked', async t => {
  const ciToken = (await ask('POST', '/api/system-tokens', token, { name: 'ci' })).body.data
  t.match(ciToken, { name: 'ci', token: /^st-/, state: 'active', expires: null })
  t.notOk('quota' in ciToken)
  const path = `/api/system-tokens/${ciToken.id}`
  t.ok(await admits(ciToken.token, '/api/user/info'))
  t.match((await ask('PATCH', path, ciToken.token, { name: 'CI 2' })).body.data, { name: 'CI 2' })
  const list = await ask('GET', '/api/system-tokens', token)
  t.equal(list.body.data.length, 2)
  t.notMatch(list.text, ciToken.token)
  t.match(await ask('PATCH', path, token, { quota: 5 }), { status: 400, body: { success: false } })
  t.equal((await ask('DELETE', path, ciToken.token)).status, 200, 'also by itself')
  await eventually(
    t,
    async () => !(await admits(ciToken.token, '/api/user/info')),
    'the token is rejected',
  )
})

t.test('keys: an account cannot read, change or revoke those of another account', async t => {
  const { id, key } = (await ask('POST', '/api/keys', token, { name: 'mine' })).body.data
  const [own] = (await ask('GET', '/api/system-tokens', token)).body.data
  t.same((await ask('GET', '/api/keys', eve)).body.data, [])
  const before = (await ask('GET', `/api/keys/${id}`, token)).text
  for (const path of [`/api/keys/${id}`, `/api/system-tokens/${own?.id}`]) {
    t.equal((await ask('GET', path, eve)).status, 404)
    t.equal((await ask('PATCH', path, eve, { name: 'hers' })).status, 404)
    t.equal((await ask('DELETE', path, eve)).status, 404)
    t.equal((await ask('DELETE', path, key)).status, 401, 'nor an API key’s')
    t.equal((await ask('DELETE', path)).status, 401)
  }
  t.equal((await ask('GET', `/api/keys/${id}`, token)).text, before)
  t.ok(await admits(key))
})

t.test('API key: invalid options are refused and create nothing', async t => {
  const count = async () => (await ask('GET', '/api/keys?limit=1000', token)).body.data.length
  const before = await count()
  const INVALID_BODIES: readonly unknown[] = [
    { quota: -1 },
    { quota: 0 },
    { quota: 1.5 },
    { quota: 1e15 },
    { quota: '500' },
    { quota: true },
    { name: '' },
    { name: 5 },
    { name: null },
    { name: 'a\nb' },
    { name: 'x'.repeat(65) },
    { expires: 'tomorrow' },
    { expires: '2020-01-01' },
    { expires: 4_102_444_800 },
    { expires: '2030-02-31' },
    { models: [] },
    { models: 'plain' },
    { models: ['a b'] },
    { models: [1] },
    { models: ['a', 'a'] },
    { limits: {} },
    { limits: { requests: '60/day' } },
    { limits: { concurrency: 0 } },
    { limits: { burst: 1 } },
    { account: 1 },
    { role: 'admin' },
    { id: 1 },
    [],
    null,
    'x',
    5,
    '{"name":',
    '{"a":1}{}',
  ]
  for (const body of INVALID_BODIES) {
    const { status, body: reply } = await ask('POST', '/api/keys', token, body)
    t.match(
      { status, reply },
      { status: 400, reply: { success: false, message: /\S/ } },
      String(body),
    )
  }
  t.equal(await count(), before)
  for (const id of ['0', '-1', '1.5', 'x', '99999999999999999999', "1'--", '1%20OR%201=1', '%00'])
    t.match((await ask('GET', `/api/keys/${id}`, token)).status, /^40[04]$/, id)
})
