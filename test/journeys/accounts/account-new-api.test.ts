/** The account surface of new-api over sockets and a real store: a client of it lists, creates,
 *  changes and deletes keys, and reads its logs; other accounts are out of its reach. */
import t from 'tap'
import { addFailedCall } from '../../../plugins/calls/statements.ts'
import { eventually } from '../../helpers/eventually.ts'
import { gateway } from './account-gateway.ts'

const MINUTE = 60_000
const NOW = Date.now()
const ask = async (method: string, path: string, credential?: string, body?: unknown) => {
  const { status, text } = await gateway.ask(method, path, credential, body)
  const reply = JSON.parse(text)
  return { status, success: reply.success, message: reply.message, data: reply.data }
}
const account = await gateway.account('newa')
await gateway.credit(account, 10n ** 12n)
const token = (await gateway.addToken(account)).text
const stranger = (await gateway.addToken(await gateway.account('newb'))).text

t.test('new-api tokens: created and shown once, listed, changed, deleted', async t => {
  const creation = await ask('POST', '/api/token/', token, {
    name: 'phone',
    remain_quota: 5_000,
    expired_time: Math.floor(NOW / 1_000) + 3_600,
    unlimited_quota: false,
    model_limits_enabled: true,
    model_limits: 'plain,by-call',
    allow_ips: '',
    group: 'default',
    cross_group_retry: false,
  })
  t.match(creation, { status: 200, success: true, message: '' })
  const { id, key } = creation.data
  t.match(key, /^sk-\w{49}$/)
  const call = await gateway.ask('POST', '/v1/chat/completions', key, {
    model: 'plain',
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 5,
  })
  t.equal(call.status, 200, 'the key works')
  const details = (await ask('GET', `/api/token/${id}`, token)).data
  t.match(details, {
    id,
    user_id: account,
    status: 1,
    name: 'phone',
    unlimited_quota: false,
    model_limits_enabled: true,
    model_limits: 'plain,by-call',
    expired_time: Math.floor(NOW / 1_000) + 3_600,
  })
  t.equal(details.key.includes(key.slice(8, -4)), false, 'masked')
  t.equal(details.remain_quota + details.used_quota, 5_000)
  t.ok(details.used_quota > 0)

  const change = { ...details, name: 'desk', remain_quota: 9_000, expired_time: -1 }
  const changed = (await ask('PUT', '/api/token/', token, change)).data
  t.match(changed, { id, name: 'desk', remain_quota: 9_000, expired_time: -1 })
  t.equal(changed.used_quota, details.used_quota)
  const endless = { id, unlimited_quota: true, model_limits_enabled: false, model_limits: '' }
  t.match((await ask('PUT', '/api/token/', token, endless)).data, {
    unlimited_quota: true,
    model_limits_enabled: false,
    model_limits: '',
    name: 'desk',
  })
  t.match((await ask('PUT', '/api/token/?status_only=1', token, { id, status: 1 })).data, { id })

  for (const name of ['b', 'c']) await ask('POST', '/api/token/', token, { name })
  const page = (await ask('GET', '/api/token/?p=1&page_size=2', token)).data
  t.match(page, { page: 1, page_size: 2, total: 3, items: [{ name: 'c' }, { name: 'b' }] })
  t.match(page.items[0], { unlimited_quota: true, remain_quota: 0 })
  t.match((await ask('GET', '/api/token/?p=2&size=2', token)).data.items, [{ name: 'desk' }])
  t.match((await ask('DELETE', `/api/token/${id}`, token)).success, true)
  t.equal((await ask('GET', '/api/token/?p=0', token)).data.total, 2)
  await eventually(
    async () => (await gateway.ask('GET', '/v1/dashboard/billing/usage', key)).status === 401,
  )
})

t.test('new-api tokens: bad input and keys of others are refused', async t => {
  const { id } = (await ask('POST', '/api/token/', token, { name: 'own' })).data
  const REFUSED: readonly (readonly [string, string, object | undefined, number, RegExp])[] = [
    ['POST', '/api/token/', { name: 'x', status: 2 }, 400, /cannot be disabled/],
    ['POST', '/api/token/', { name: 'x', allow_ips: '192.0.2.1' }, 400, /cannot be bound/],
    ['POST', '/api/token/', { name: 5 }, 400, /name/],
    ['POST', '/api/token/', { remain_quota: -1 }, 400, /remain_quota/],
    ['POST', '/api/token/', { remain_quota: 0, unlimited_quota: false }, 400, /quota/],
    ['POST', '/api/token/', { expired_time: 1 }, 400, /past/],
    ['POST', '/api/token/', { model_limits_enabled: true, model_limits: '' }, 400, /models/],
    ['PUT', '/api/token/', { id: 999_999, name: 'x' }, 404, /./],
    ['PUT', '/api/token/', { name: 'x' }, 404, /./],
    ['GET', '/api/token/x', undefined, 404, /./],
    ['GET', '/api/token/?p=x', undefined, 400, /`p`/],
    ['GET', '/api/token/?p=5000&page_size=100', undefined, 400, /10,000/],
  ]
  for (const [method, path, body, status, message] of REFUSED)
    t.match(await ask(method, path, token, body), { status, success: false, message }, path)
  for (const [method, path, body] of [
    ['GET', `/api/token/${id}`],
    ['PUT', '/api/token/', { id, name: 'stolen' }],
    ['DELETE', `/api/token/${id}`],
  ] as const)
    t.equal((await ask(method, path, stranger, body)).status, 404, `${method} by a stranger`)
  t.equal((await ask('GET', '/api/token/', stranger)).data.total, 0)
  t.equal((await gateway.ask('GET', '/api/token/')).status, 401)
})

t.test('new-api logs: calls and failed calls, in pages, filtered', async t => {
  const [one, other] = [
    await gateway.addKey(account, { name: 'one' }),
    await gateway.addKey(account, { name: 'other' }),
  ]
  const at = NOW - 60 * MINUTE
  for (let index = 0; index < 5; index++)
    await gateway.payCall({
      account,
      key: index < 4 ? one.id : other.id,
      request: `log_${index}`,
      model: index % 2 === 0 ? 'plain' : 'by-call',
      at: at + index * MINUTE,
      meters: { input: 100, cached: 20, output: 7, thinking: 3 },
      cost: 4_000_000n,
    })
  const end = Math.floor((at + 30 * MINUTE) / 1_000)
  const logs = async (query: string, credential = token) =>
    (await ask('GET', `/api/log/self?end_timestamp=${end}&${query}`, credential)).data
  const all = await logs('p=1&page_size=3')
  t.match(all, { page: 1, page_size: 3, total: 5 })
  t.match(all.items[0], {
    user_id: account,
    type: 2,
    username: 'newa',
    token_name: 'other',
    token_id: other.id,
    model_name: 'plain',
    quota: 2_000,
    prompt_tokens: 120,
    completion_tokens: 10,
    created_at: Math.floor((at + 4 * MINUTE) / 1_000),
    request_id: 'log_4',
    other: /"cache_tokens":20/,
  })
  const ids = (page: { items: readonly { request_id: string }[] }) =>
    page.items.map(({ request_id: id }) => id)
  t.same(ids(await logs('p=2&page_size=3')), ['log_1', 'log_0'])
  t.match(await logs('token_name=one&model_name=plain'), { total: 2 })
  t.match(await logs('token_name=nobody'), { total: 0, items: [] })
  t.match(await logs(`start_timestamp=${Math.floor((at + 3 * MINUTE) / 1_000)}`), { total: 2 })
  t.match(await logs('type=1'), { total: 0 })
  t.match(await logs('', stranger), { total: 0, items: [] }, 'another account')

  const failed = {
    request: 'log_failed',
    at: at + MINUTE,
    account,
    key: one.id,
    route: 'chat',
    model: 'plain',
    status: 502,
    code: 'UPSTREAM_REFUSED',
    message: 'no GPU',
    ms: 2_400,
    cost: 0n,
    attempts: [],
  }
  await gateway.database.write([addFailedCall(failed, 0)])
  t.match(await logs('type=5'), {
    total: 1,
    items: [{ type: 5, content: 'no GPU', token_name: 'one', use_time: 2, quota: 0 }],
  })
  const ofKey = (await ask('GET', '/api/log/token', one.text)).data
  t.same(
    ofKey.map(({ request_id: id }: { request_id: string }) => id),
    ['log_3', 'log_2', 'log_1', 'log_0'],
  )
  t.equal((await ask('GET', '/api/log/token', token)).status, 401)
  for (const query of ['start_timestamp=now', 'p=-1', 'p=1&p=2'])
    t.match(await ask('GET', `/api/log/self?${query}`, token), { status: 400, success: false })
})
