/** Endpoints of operators over HTTP against the shipped gateway: requests, upstreams,
 *  configuration, ledger, money, keys, deliveries; the bad input of each. */
import t, { type Test } from 'tap'
import { linkIn } from '../../helpers/console/console-gateway.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { gateway } from './shipped-console.ts'

const operator = await gateway.signIn({ token: gateway.token })
const ann = await gateway.customer('ann', 10)
const { body: key } = await ann.ask('POST', '/api/keys', { name: 'calls' })
const callModel = async (model: string) => {
  const headers = { authorization: `Bearer ${key.data.key}` }
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] }
  return gateway.ask('POST', '/v1/chat/completions', body, headers)
}
await callModel('gp-4.1')
await callModel('missing-model')

const read = async (path: string) => (await operator.ask('GET', `/api/admin/${path}`)).body
const refuse = async (t: Test, method: string, path: string, body: unknown, status: number) => {
  const reply = await operator.ask(method, `/api/admin/${path}`, body)
  t.equal(reply.status, status, `${path} ${JSON.stringify(body)}`)
  t.ok(reply.body.message.length > 5)
}

t.test('requests: filtered by account, model, status and key; bad filters are refused', async t => {
  const find = (query: string) =>
    eventually(async () => {
      const { data } = await read(`requests?${query}`)
      return data.length > 0 && data
    })
  const [failed] = await find('account=ann&status=4xx&model=missing-model')
  t.match(failed, { status: 404, account_name: 'ann', code: 'MODEL_UNKNOWN' })
  const [good] = await find('model=gp-4.1&status=200')
  t.match(good, { account_name: 'ann', upstream: 'gp', attempts: 1 })
  t.same((await read('requests?account=nobody')).data, [])
  for (const query of ['status=abc', 'status=9xx', 'cursor=zzz'])
    await refuse(t, 'GET', `requests?${query}`, undefined, 400)
})

t.test('changes: the log names the credential, the address and the request', async t => {
  const { status } = await operator.ask('POST', '/api/admin/accounts/credit', {
    account: 'ann',
    amount: '0.5',
    note: 'for the log',
  })
  t.equal(status, 200)
  const line = await eventually(() =>
    gateway
      .output()
      .split('\n')
      .find(each => each.includes('an admin change') && each.includes('for the log')),
  )
  t.match(JSON.parse(String(line)), {
    actor: 'admin',
    credential: /^session \d+$/,
    address: '127.0.0.1',
    request: /^req_/,
    endpoint: 'POST accounts/credit',
  })
})

t.test('story: log line, charge and formula of one request; an unknown id is 404', async t => {
  const { data: charges } = await read('charges?account=ann')
  const id = String(charges[0]?.request)
  const { data } = await read(`requests/story?id=${id}`)
  t.match(data, {
    request: { id, account_name: 'ann', version: 1, first_byte: Number },
    key_name: 'calls',
    trace_url: null,
    charges: [{ request: id, state: 'settled', formula: /input x/, hold: /./ }],
    task: null,
  })
  await refuse(t, 'GET', 'requests/story?id=req_nothing', undefined, 404)
  await refuse(t, 'GET', 'requests/story', undefined, 404)
})

t.test('live: sends a request as it ends, and nothing that the filter leaves out', async t => {
  const stop = new AbortController()
  const response = await fetch(`${gateway.url}/api/admin/requests/live?account=ann&status=200`, {
    headers: { cookie: operator.cookie },
    signal: stop.signal,
  })
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  const read = async () => decoder.decode((await reader.read()).value)
  let text = await read()
  t.match(text, /^retry: \d+\n\n: open\n\n$/)
  await callModel('missing-model')
  await callModel('gp-4.1')
  while (!text.includes('"rows"')) text += await read()
  await callModel('gp-4.1')
  while (text.split('"rows"').length < 3) text += await read()
  stop.abort()
  t.match(text, /\}\n\n:\n\n/, 'a comment follows, so that no event waits for the next one')
  t.match(text, /data: \{"rows":\[\{.*"model":"gp-4\.1"/)
  t.notMatch(text, /missing-model/)
  const bad = await operator.ask('GET', '/api/admin/requests/live?status=x')
  t.equal(bad.status, 400)
})

t.test('live: ends when the session of its viewer ends', async t => {
  const other = await gateway.signIn({ token: gateway.token })
  const response = await fetch(`${gateway.url}/api/admin/requests/live?account=nobody`, {
    headers: { cookie: other.cookie },
  })
  await other.ask('DELETE', '/api/session')
  t.match(await response.text(), /event: signed-out\ndata: \{\}\n\n$/)
})

t.test('live: at most twenty views in a process', async t => {
  const stop = new AbortController()
  const open = () =>
    fetch(`${gateway.url}/api/admin/requests/live`, {
      headers: { cookie: operator.cookie },
      signal: stop.signal,
    })
  const views = await Promise.all(Array.from({ length: 20 }, open))
  t.ok(views.every(({ status }) => status === 200))
  t.equal((await open()).status, 429)
  stop.abort()
  await eventually(async () => {
    const again = new AbortController()
    const { status } = await fetch(`${gateway.url}/api/admin/requests/live`, {
      headers: { cookie: operator.cookie },
      signal: again.signal,
    })
    again.abort()
    return status === 200
  })
})

t.test('upstreams: lists health, tests one; an unknown one is 404', async t => {
  const { data } = await read('upstreams')
  t.match(data[0], { name: 'gp', title: 'gp', inside: 'sandbox', addresses: [{ state: 'ready' }] })
  const reply = await operator.ask('POST', '/api/admin/upstreams/test', { upstream: 'gp' })
  t.match(reply.body.data, [{ upstream: 'gp', answer: 'inside the gateway', fails: false }])
  await refuse(t, 'POST', 'upstreams/test', { upstream: 'pg' }, 404)
  await refuse(t, 'POST', 'upstreams/test', { upstream: 1 }, 400)
})

t.test('configuration: routes with places, versions, differences; bad versions', async t => {
  const { data: routes } = await read('routes')
  t.match(
    routes.find(({ name }) => name === 'chat'),
    { path: '/v1/chat/completions', place: { file: 'routes.yaml', line: Number } },
  )
  t.match((await read('configuration')).data, { version: 1, failure: null, versions: [{}] })
  t.same((await read('configuration/diff')).data, [])
  t.match((await read('configuration/change?version=1')).data, { before: null, files: [] })
  await refuse(t, 'GET', 'configuration/diff?from=x', undefined, 400)
  await refuse(t, 'GET', 'configuration/change?version=999', undefined, 404)
  await refuse(t, 'POST', 'configuration/rollback', { version: 0 }, 400)
  const { body } = await operator.ask('POST', '/api/admin/configuration/reload', {})
  t.match(body.data, { outcome: 'unchanged', version: 1 })
})

t.test('editor: is on by default, since the gateway listens on loopback', async t => {
  t.ok((await read('editor/files')).data)
})

t.test('money: debit, overdraft and refund change the ledger, and are logged', async t => {
  const change = async (path: string, body: object) =>
    (await operator.ask('POST', `/api/admin/${path}`, body)).body.data
  const { balance } = (await read('account?account=ann')).data
  const debited = await change('accounts/debit', { account: 'ann', amount: '2', note: 'mistake' })
  t.equal(Number(debited.balance), Number((Number(balance) - 2).toFixed(9)))
  const amount = '90071992.547409931'
  await change('accounts', { name: 'exact' })
  const credited = await change('accounts/credit', { account: 'exact', amount })
  t.equal(credited.balance, amount, 'a float would not have its digits')
  t.match(await change('accounts/overdraft', { account: 'ann', amount: 5 }), { overdraft: '5' })
  const { data } = await read('charges?account=ann&state=settled')
  const { request, cost } = data[0] ?? {}
  t.match(await change('charges/refund', { request }), { request, account: 'ann', refunded: cost })
  await refuse(t, 'POST', 'charges/refund', { request }, 409)
  await refuse(t, 'POST', 'charges/refund', { request: 'req_nothing' }, 404)
  await refuse(t, 'POST', 'accounts/debit', { account: 'ann', amount: 0 }, 400)
  await refuse(t, 'POST', 'accounts/debit', { account: 'ann', amount: 1e6 }, 409)
  await refuse(t, 'POST', 'accounts/overdraft', { account: 'nobody', amount: 1 }, 404)
  for (const path of ['credit', 'debit', 'overdraft']) {
    const body = { account: 'ann', amount: 'much' }
    const reply = await operator.ask('POST', `/api/admin/accounts/${path}`, body)
    t.match(reply, { status: 400, body: { param: 'amount' } }, `${path} names the field`)
  }
  const entry = await eventually(() =>
    gateway
      .output()
      .split('\n')
      .find(line => line.includes('accounts/debit')),
  )
  t.match(JSON.parse(entry), {
    actor: 'admin',
    object: `account ${debited.id}`,
    before: { balance },
    after: { debited: '2' },
  })
  t.match((await read('ledger/audit')).data, { balanced: true, findings: [] })
})

t.test('charges: search by state, model and key; bad filters are refused', async t => {
  t.equal((await read('charges?model=gp-4.1')).data.length > 0, true)
  t.same((await read('charges?uncollected=yes')).data, [])
  t.same((await read('charges?key=999')).data, [])
  for (const query of ['state=lost', 'key=x', 'cursor=x'])
    await refuse(t, 'GET', `charges?${query}`, undefined, 400)
  await refuse(t, 'GET', 'charges?account=nobody', undefined, 404)
})

t.test('accounts: found by a part of the name and by state', async t => {
  await operator.ask('POST', '/api/admin/accounts', { name: 'idle' })
  await operator.ask('POST', '/api/admin/accounts/suspend', { account: 'idle' })
  const names = async (query: string) =>
    (await read(`accounts?${query}`)).data.map(({ name }) => String(name))
  t.same(await names('state=suspended'), ['idle'])
  t.ok((await names('state=active')).includes('ann'))
  t.notOk((await names('state=active')).includes('idle'))
  t.same(await names('search=ID&state=suspended'), ['idle'])
  t.same(await names('search=id&state=active'), [])
  await refuse(t, 'GET', 'accounts?state=lost', undefined, 400)
})

t.test('accounts: a deleted account is neither listed nor changed', async t => {
  await operator.ask('POST', '/api/admin/accounts', { name: 'leaver' })
  const { id } = (await read('account?account=leaver')).data
  const env = { TOLLGATE_CONFIG: 'routes.yaml', TOLLGATE_DATA: gateway.data }
  t.match(await withOutput(t, ['accounts', 'delete', 'leaver'], env), { code: 0 })
  t.same((await read('accounts?search=leaver')).data, [])
  await refuse(t, 'GET', `account?account=${id}`, undefined, 404)
  for (const path of ['resume', 'suspend', 'link'])
    await refuse(t, 'POST', `accounts/${path}`, { account: id }, 404)
  await refuse(t, 'POST', 'accounts/credit', { account: id, amount: 5 }, 404)
})

t.test('accounts: operators cannot suspend their own account, another operator can', async t => {
  const post = (path: string, body: object, as = operator) =>
    as.ask('POST', `/api/admin/accounts/${path}`, body)
  for (const account of ['admin', 1, '1']) {
    const { status, body } = await post('suspend', { account })
    t.equal(status, 409)
    t.match(body, { param: 'account', message: /"admin".*lock yourself out/ })
  }
  t.match((await read('account?account=admin')).data, { state: 'active', calls: [] })
  const brief = (await read('accounts/show?account=admin&brief=true')).data
  t.match(brief, { state: 'active', holds: undefined, credentials: undefined })
  await operator.ask('POST', '/api/admin/accounts', { name: 'deputy', role: 'admin' })
  const { body } = await post('link', { account: 'deputy' })
  const deputy = await gateway.signIn({ link: linkIn(String(body.data.url)) })
  t.match((await post('suspend', { account: 'admin' }, deputy)).body.data, { state: 'suspended' })
  t.match((await post('resume', { account: 'admin' }, deputy)).body.data, { state: 'active' })
  await eventually(async () => (await operator.ask('GET', '/api/session')).status === 200)
})

t.test(
  'account limits: hold for all keys of the account at once, until they are removed',
  async t => {
    const bob = await gateway.customer('bob', 10)
    const keys = await Promise.all(
      ['one', 'two'].map(
        async name => (await bob.ask('POST', '/api/keys', { name })).body.data.key,
      ),
    )
    const call = async (key: unknown) => {
      const body = { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hello' }] }
      const headers = { authorization: `Bearer ${key}` }
      return (await gateway.ask('POST', '/v1/chat/completions', body, headers)).status
    }
    t.equal(await call(keys[0]), 200)
    const limits = { requests: '2/h' }
    const set = (limits: object | null) =>
      operator.ask('POST', '/api/admin/accounts/limits', { account: 'bob', limits })
    t.match((await set(limits)).body.data, { name: 'bob', limits })
    t.match((await read('account?account=bob')).data, { limits })
    await eventually(async () => (await call(keys[0])) === 429)
    t.equal(await call(keys[1]), 429, 'of the other key, too')
    t.match((await set(null)).body.data, { limits: null })
    await eventually(async () => (await call(keys[1])) === 200)
    await refuse(t, 'POST', 'accounts/limits', { account: 'bob', limits: { requests: 'x' } }, 400)
    await refuse(t, 'POST', 'accounts/limits', { account: 'bob', limits: { rpm: 1 } }, 400)
    await refuse(t, 'POST', 'accounts/limits', { account: 'nobody', limits: null }, 404)
    await refuse(t, 'POST', 'accounts/limits', { account: 'bob' }, 400)
  },
)

t.test('keys: an operator changes the limits of a key, and revokes it', async t => {
  const { data } = await read('keys?account=ann')
  const key = Number(data[0]?.id)
  const limits = { requests: '60/min', concurrency: 2 }
  const reply = await operator.ask('POST', '/api/admin/keys/limits', {
    key,
    quota: 900_000,
    limits,
  })
  t.match(reply.body.data, { quota: 900_000, limits })
  await refuse(t, 'POST', 'keys/limits', { key, limits: { requests: 'fast' } }, 400)
  await refuse(t, 'POST', 'keys/limits', { key: 999, quota: 5 }, 404)
  const ended = await operator.ask('POST', '/api/admin/keys/revoke', { key })
  t.match(ended.body.data, { state: 'revoked' })
  const again = await operator.ask('POST', '/api/admin/keys/revoke', { key })
  t.match(again, { status: 200, body: { data: { state: 'revoked' } } }, 'as often as you like')
  await refuse(t, 'POST', 'keys/revoke', { key: 'x' }, 400)
})

t.test('keys: an operator chooses a secret that no answer shows; a customer cannot', async t => {
  const call = async (secret: string) => {
    const body = { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hello' }] }
    const headers = { authorization: `Bearer ${secret}` }
    return (await gateway.ask('POST', '/v1/chat/completions', body, headers)).status
  }
  const secret = 'of-the-gateway-before-42'
  const create = { account: 'ann', name: 'moved', secret }
  const created = await operator.ask('POST', '/api/admin/keys', create)
  t.match(created, { status: 200, body: { data: { account: 'ann', name: 'moved' } } })
  // Each process learns within a second that there are secrets of such a form.
  await eventually(async () => (await call(secret)) === 200)
  const answers = [created.body, await read('keys?account=ann')]
  t.notMatch(JSON.stringify(answers), secret)
  t.notMatch(gateway.output(), secret)
  const again = await operator.ask('POST', '/api/admin/keys', { ...create, account: 'admin' })
  t.ok(again.status >= 400, 'no two keys have one secret')

  const own = 'a-customer-would-like-this-one'
  const id = Number(created.body.data.id)
  for (const [path, body] of [
    ['/api/keys', { name: 'own', secret: own }],
    [`/api/keys/${id}/rotate`, { secret: own }],
    ['/api/system-tokens', { name: 'own', secret: own }],
  ] as const)
    t.equal((await ann.ask('POST', path, body)).status, 400, path)
  t.equal(await call(own), 401)
  t.equal(await call(secret), 200)
})

t.test('tasks and deliveries: lists, and refusals of bad ids and states', async t => {
  t.same((await read('tasks?state=unknown')).data, [])
  t.same((await read('deliveries?state=failed')).data, [])
  for (const path of ['tasks?state=lost', 'deliveries?state=lost'])
    await refuse(t, 'GET', path, undefined, 400)
  await refuse(t, 'POST', 'tasks/resolve', { task: 'none', outcome: 'charge' }, 404)
  await refuse(t, 'POST', 'tasks/resolve', { task: 'none', outcome: 'keep' }, 400)
  await refuse(t, 'POST', 'deliveries/replay', { event: 'msg_none' }, 404)
  await refuse(t, 'POST', 'webhooks/replay', { event: 'msg_none' }, 404)
  for (const path of ['tasks/retry', 'tasks/cancel'])
    await refuse(t, 'POST', path, { task: 'none' }, 404)
  await refuse(t, 'GET', 'tasks/show?task=none', undefined, 404)
  const pause = (verb: string, upstream: string) =>
    operator.ask('POST', `/api/admin/tasks/${verb}`, { upstream })
  t.match((await pause('pause', 'vd')).body.data, [{ upstream: 'vd', waiting: 0 }])
  t.same((await pause('resume', 'vd')).body.data, [])
  await refuse(t, 'POST', 'tasks/pause', { upstream: 'nobody' }, 404)
})

t.test('CSRF: a change with a session needs the token', async t => {
  const headers = { cookie: operator.cookie, 'x-csrf-token': 'wrong' }
  for (const path of ['configuration/rollback', 'accounts/debit', 'deliveries/replay']) {
    const { status } = await gateway.ask('POST', `/api/admin/${path}`, {}, headers)
    t.equal(status, 403, path)
  }
})

t.test('keys: an operator makes one for an account, also with a secret of its choice', async t => {
  const create = (body: object) => operator.ask('POST', '/api/admin/keys', body)
  const { data } = (await create({ account: 'ann', name: 'made', quota: 900 })).body
  t.match(data, { account: 'ann', name: 'made', kind: 'key', key: /^sk-\w{49}$/, remaining: 900 })
  t.match((await read(`keys/show?key=${data.id}`)).data, { id: data.id, key: /^sk-\w{4}…/ })
  const token = (await create({ account: 'ann', kind: 'system-token' })).body.data
  t.match(token, { kind: 'system-token', key: /^st-/, quota: null })

  const secret = 'of-the-operators-own-choice-1'
  const reply = await create({ account: 'ann', name: 'moved', secret })
  t.equal(reply.status, 200)
  t.notMatch(JSON.stringify(reply.body), secret, 'no response shows it')
  t.notMatch(JSON.stringify((await read('keys?account=ann')).data), secret)
  const models = async (text: string) => {
    const headers = { authorization: `Bearer ${text}` }
    return (await gateway.ask('GET', '/v1/models', undefined, headers)).status
  }
  for (const text of [secret, `sk-${secret}`])
    await eventually(async () => (await models(text)) === 200)
  await refuse(t, 'POST', 'keys', { account: 'bob', secret }, 409)
  for (const wrong of ['st-abc', 'with space', '', 'é', 'x'.repeat(513), 7])
    await refuse(t, 'POST', 'keys', { account: 'ann', secret: wrong }, 400)
  for (const wrong of [
    { kind: 'system-token', secret: 'abc' },
    { kind: 'system-token', quota: 5 },
    { kind: 'session' },
    { expires: '2020-01-01' },
    { expires: 'never and ever' },
    { account: undefined },
  ])
    await refuse(t, 'POST', 'keys', { account: 'ann', ...wrong }, 400)
  await refuse(t, 'POST', 'keys', { account: 'nobody' }, 404)
  const own = await ann.ask('POST', '/api/keys', { secret: 'my-own-choice' })
  t.match(own, { status: 400, body: { param: 'secret' } }, 'customers cannot choose theirs')
})

t.test('keys: an operator changes name, expiry and models of a key', async t => {
  const { data } = (await ann.ask('POST', '/api/keys', { name: 'one' })).body
  const update = async (body: object) =>
    (await operator.ask('POST', '/api/admin/keys/update', { key: data.id, ...body })).body.data
  t.match(await update({ name: 'two', expires: '2100-01-01', models: ['gp-4.1'] }), {
    name: 'two',
    expires: '2100-01-01T00:00:00.000Z',
    models: ['gp-4.1'],
  })
  t.match(await update({ expires: null, models: null }), { expires: null, models: null })
  t.match((await ann.ask('GET', `/api/keys/${data.id}`)).body.data, { name: 'two' })
  const rotated = await operator.ask('POST', '/api/admin/keys/rotate', {
    key: data.id,
    overlap: '24h',
  })
  t.match(rotated.body.data, { key: /^sk-\w{49}$/, earlier: { expires: /Z$/ } })
  for (const overlap of ['soon', 0, '0h', 1.5])
    await refuse(t, 'POST', 'keys/rotate', { key: data.id, overlap }, 400)
})

t.test('accounts: an operator renames and deletes one', async t => {
  const post = (path: string, body: object) =>
    operator.ask('POST', `/api/admin/accounts/${path}`, body)
  await operator.ask('POST', '/api/admin/accounts', { name: 'first' })
  t.match((await post('rename', { account: 'first', name: 'second' })).body.data, {
    name: 'second',
  })
  for (const [name, status] of [
    ['ann', 409],
    ['42', 400],
    ['a:b', 400],
  ] as const)
    await refuse(t, 'POST', 'accounts/rename', { account: 'second', name }, status)
  await post('credit', { account: 'second', amount: '1' })
  await refuse(t, 'POST', 'accounts/delete', { account: 'second' }, 409)
  await refuse(t, 'POST', 'accounts/delete', { account: 'admin' }, 409)
  const deletion = await post('delete', { account: 'second', force: true })
  t.match(deletion.body.data, { name: 'second', state: 'deleted', keys: 0 })
  await refuse(t, 'POST', 'accounts/delete', { account: 'second' }, 404)
})

t.test(
  'keys: a model that does not exist is refused, for new keys and for changed ones',
  async t => {
    for (const [method, path] of [
      ['POST', '/api/keys'],
      ['PATCH', `/api/keys/${key.data.id}`],
    ] as const) {
      const { status, body } = await ann.ask(method, path, { name: 'x', models: ['gp-4.1', 'zz'] })
      t.equal(status, 400)
      t.match(body, { param: 'models', message: /no model "zz"/ })
    }
  },
)

t.test('GET / without a browser: an error that does not suggest itself', async t => {
  const response = await fetch(`${gateway.url}/`, { headers: { accept: '*/*' } })
  t.equal(response.status, 404)
  t.notMatch(await response.text(), /did you mean GET \/\?/)
})
