/** Balance, quota and prices of an account and its keys over sockets and a real store, and what
 *  requests without valid credentials receive. */
import t from 'tap'
import { gateway } from './account-gateway.ts'

const { ask } = gateway
const UNIT = 10n ** 9n

const ann = await gateway.account('anna')
await gateway.credit(ann, 10n * UNIT)
const [key, token] = [await gateway.addKey(ann), await gateway.addToken(ann)]
// One nano more than 0.5: rounding goes down, and the parts still add up.
await gateway.payCall({ account: ann, key: key.id, request: 's1', cost: UNIT / 2n + 1n })

t.test('user info: reports balance and quota in exact digits', async t => {
  for (const path of ['/api/user/info', '/api/user/self']) {
    const { status, text, body } = await ask('GET', path, token.text)
    t.equal(status, 200)
    t.same(body, {
      success: true,
      message: '',
      data: {
        id: ann,
        username: 'anna',
        display_name: 'anna',
        role: 'customer',
        group: 'default',
        balance: 9.499998,
        quota: 4_749_999,
        used_quota: 250_001,
        held: 0,
      },
    })
    t.match(text, `"id":${ann},`, 'a JSON integer')
    t.match(text, '"balance":9.499998,', 'a JSON number, digit by digit')
  }
  const bare = await fetch(`${gateway.url}/api/user/info`, {
    headers: { authorization: token.text },
  })
  t.equal(bare.status, 200, 'a system token without Bearer')
  t.equal(bare.headers.get('cache-control'), 'no-store')
  await bare.arrayBuffer()
})

t.test('user info: a large balance keeps all its digits', async t => {
  const rich = await gateway.account('rich')
  await gateway.credit(rich, 999_999_999n * UNIT + 999_998_000n)
  const { text } = await ask('GET', '/api/user/info', (await gateway.addToken(rich)).text)
  t.match(text, '"balance":999999999.999998,"quota":499999999999999,')
})

t.test('user info: an account without credit has a balance of 0', async t => {
  const poor = await gateway.account('poor')
  const { body } = await ask('GET', '/api/user/info', (await gateway.addToken(poor)).text)
  t.match(body.data, { balance: 0, quota: 0, used_quota: 0 })
})

t.test('user info: accepts only a system token', async t => {
  for (const credential of [
    key.text,
    undefined,
    'st-nonsense',
    "' OR 1=1 --",
    token.text.slice(1),
  ]) {
    const { status, body } = await ask('GET', '/api/user/info', credential)
    t.equal(status, 401)
    t.same(Object.keys(body), ['success', 'message'])
    t.equal(body.success, false)
  }
})

const balanceOf = (text: string) => ask('GET', `/api/token/balance?key=${encodeURIComponent(text)}`)

t.test('token balance: a key without a quota reports the balance of its account', async t => {
  const { status, body } = await balanceOf(key.text)
  t.equal(status, 200)
  t.same(body.data, {
    key: `${key.text.slice(0, 4)}**********${key.text.slice(-4)}`,
    remaining_quota: 4_749_999,
    used_quota: 250_001,
    total_quota: 5_000_000,
    unlimited_quota: true,
  })
})

t.test('token balance: a key with a quota reports its own quota', async t => {
  const own = await gateway.addKey(ann, { quota: { total: 1_000, period: null } })
  t.match((await balanceOf(own.text)).body.data, {
    remaining_quota: 1_000,
    used_quota: 0,
    total_quota: 1_000,
  })
  const quota = 2_000_000n
  await gateway.payCall({ account: ann, key: own.id, quota, request: 's2', cost: 1_999n })
  const { data } = (await balanceOf(own.text)).body
  t.same(data, { ...data, remaining_quota: 999, used_quota: 1, total_quota: 1_000 })
  t.notOk('unlimited_quota' in data)
})

t.test('token balance: exhausted and expired keys get their balance', async t => {
  const exhaustedKey = await gateway.addKey(ann, { quota: { total: 10, period: null } })
  await gateway.payCall({
    account: ann,
    key: exhaustedKey.id,
    quota: 20_000n,
    request: 's3',
    cost: 20_000n,
  })
  t.match(await balanceOf(exhaustedKey.text), {
    status: 200,
    body: { data: { remaining_quota: 0, used_quota: 10, total_quota: 10 } },
  })
  const expiredKey = await gateway.addKey(ann, { expires: 1 })
  t.equal((await balanceOf(expiredKey.text)).status, 200)
  t.equal((await ask('GET', '/v1/dashboard/billing/usage', expiredKey.text)).status, 401)
})

t.test('token balance: invalid credentials all get the same 401', async t => {
  const revokedKey = await gateway.addKey(ann)
  await ask('DELETE', `/api/keys/${revokedKey.id}`, token.text)
  const wrong = key.text.slice(0, -1) + (key.text.endsWith('x') ? 'y' : 'x')
  const answers = []
  for (const text of [
    revokedKey.text,
    wrong,
    token.text,
    'x',
    "sk-' OR '1'='1",
    '\0',
    'k'.repeat(4_000),
  ])
    answers.push(await balanceOf(text))
  for (const { status, text } of answers) {
    t.equal(status, 401)
    t.equal(text, answers[0]?.text, 'the same for all of them')
  }
  for (const query of ['', '?key=', '?key=a&key=b', '?Key=a'])
    t.match(await ask('GET', `/api/token/balance${query}`), {
      status: 400,
      body: { success: false, message: /\?key=/ },
    })
  const header = await ask('GET', '/api/token/balance', key.text)
  t.equal(header.status, 400, 'an Authorization header counts for nothing')
  const both = await ask('GET', `/api/token/balance?key=${key.text}`, 'nonsense')
  t.equal(both.status, 200)
})

t.test('token usage: has the shape of new-api', async t => {
  const expires = Date.UTC(2100, 0, 1)
  const own = await gateway.addKey(ann, {
    quota: { total: 500, period: null },
    models: ['plain'],
    expires,
    name: 'laptop',
  })
  const { body } = await ask('GET', '/api/usage/token', own.text)
  t.same(body, {
    code: true,
    message: 'ok',
    data: {
      object: 'token_usage',
      name: 'laptop',
      unlimited_quota: false,
      total_granted: 500,
      total_used: 0,
      total_available: 500,
      model_limits: { plain: true },
      model_limits_enabled: true,
      expires_at: expires / 1_000,
    },
  })
  t.match((await ask('GET', '/api/usage/token', key.text)).body.data, {
    unlimited_quota: true,
    model_limits: {},
    model_limits_enabled: false,
    expires_at: 0,
  })
  t.match(await ask('GET', '/api/usage/token'), {
    status: 401,
    body: { success: false, message: 'No Authorization header' },
  })
  for (const text of ['sk-x', token.text, 'a b'])
    t.match(await ask('GET', '/api/usage/token', text), {
      status: 401,
      body: { success: false, message: 'Invalid Bearer token' },
    })
})

t.test('site status: quotas divided by its unit and times its rate are the balance', async t => {
  const { status, body } = await ask('GET', '/api/status')
  t.equal(status, 200)
  t.match(body, { success: true, data: { quota_per_unit: 3_600_000, usd_exchange_rate: 7.2 } })
  t.equal((body.data as unknown as { quota_display_type: string }).quota_display_type, 'CNY')
  const { body: user } = await ask('GET', '/api/user/self', token.text)
  const { quota, balance } = user.data as unknown as { quota: number; balance: number }
  t.equal(((quota / 3_600_000) * 7.2).toFixed(6), balance.toFixed(6))
})

t.test('user models: are names, for the account alone', async t => {
  t.same((await ask('GET', '/api/user/models', token.text)).body, {
    success: true,
    message: '',
    data: ['plain', 'by-call', 'only-responses'],
  })
  t.match(await ask('GET', '/api/user/models'), { status: 401, body: { success: false } })
})

t.test('billing dashboard: reports subscription and usage in dollars', async t => {
  const bob = await gateway.account('bobby')
  // In yuan, at 7.2 for a dollar.
  await gateway.credit(bob, 10n * UNIT)
  const own = await gateway.addKey(bob)
  await gateway.payCall({ account: bob, key: own.id, request: 's4', cost: UNIT + UNIT / 4n })
  const subscription = '/v1/dashboard/billing/subscription'
  t.same((await ask('GET', subscription, own.text)).body, {
    object: 'billing_subscription',
    has_payment_method: true,
    access_until: 0,
    soft_limit_usd: 1.388889,
    hard_limit_usd: 1.388889,
    system_hard_limit_usd: 1.388889,
  })
  const plain = await ask('GET', '/dashboard/billing/subscription', own.text)
  t.match(plain, { status: 200, body: { hard_limit_usd: 1.388889 } })
  const dates = '?start_date=2026-01-01&end_date=nonsense'
  const usage = await ask('GET', `/v1/dashboard/billing/usage${dates}`, own.text)
  t.same(usage.body, { object: 'list', total_usage: 17.361111 }, 'cents')
  t.match(await ask('GET', subscription, token.text), {
    status: 401,
    body: { error: { code: 'invalid_api_key' } },
  })
})

t.test('price list: public, with the models of every endpoint', async t => {
  const { status, body } = await ask('GET', '/api/models')
  t.equal(status, 200)
  t.same((await ask('GET', '/api/pricing', 'whatever')).body, body)
  t.match(body, {
    success: true,
    currency: 'CNY',
    group_ratio: { default: 1 },
    supported_endpoint: { openai: { method: 'POST', path: '/v1/chat/completions' } },
  })
  const rows = Object.fromEntries(body.data.map(row => [row.model_name, row]))
  t.same(Object.keys(rows), ['plain', 'by-call', 'only-responses', 'gift-*'])
  t.match(rows.plain, {
    owner_by: 'up',
    description: 'Plain',
    quota_type: 0,
    model_price: 0,
    model_ratio: 1,
    completion_ratio: 4,
    cache_ratio: 0.25,
    enable_groups: ['default'],
    supported_endpoint_types: ['openai', 'openai-response'],
    prices: [{ meter: 'input', price: '14.4 / 1M' }, {}, { meter: 'output', price: '57.6 / 1M' }],
  })
  t.match(rows['by-call'], { owner_by: 'us', quota_type: 1, model_price: 0.1, model_ratio: 0 })
  t.match(rows['gift-*'], { free: true, model_ratio: 0, prices: [] })
  t.same(rows['only-responses']?.supported_endpoint_types, ['openai-response'])
})
