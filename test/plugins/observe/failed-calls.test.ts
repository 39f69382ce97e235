/** Failed calls over sockets and both stores: each is a row that its customer finds, with what the
 *  upstream said at each attempt. */
import http from 'node:http'
import t, { type Test } from 'tap'
import type { Json, Plugin, Statement } from '../../../engine/plugin.ts'
import { FailedCalls } from '../../../plugins/calls/failed-calls.ts'
import { failedCallRules } from '../../../plugins/calls/section.ts'
import type { FailedCall } from '../../../plugins/calls/statements.ts'
import { migrations } from '../../../plugins/calls/tables.ts'
import meter from '../../../plugins/meter.ts'
import { startMetered } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { ENGINES, sql, startBoth } from '../../helpers/store/store.ts'

const SECRET = 'sk-live0123456789abcdef'
const ROUTES = [
  { path: 'POST /v1/chat/completions', name: 'chat', model: 'body', translate: 'openai-chat' },
  {
    path: 'POST /v1/messages',
    name: 'messages',
    model: 'body',
    translate: 'anthropic-messages',
    errors: 'anthropic',
  },
  { path: 'GET /api/usage', name: 'usage', account: 'usage' },
  { path: 'GET /api/usage/{id}', name: 'receipt', account: 'receipt' },
]
const TALK = { model: 'talk', max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] }
const refusal = (message: string): Json => ({ error: { message, type: 'server_error' } })

interface Row {
  readonly [name: string]: unknown
}
const start = async (t: Test, engine: (typeof ENGINES)[number]) => {
  const gateway = await startMetered(t, engine, {
    routes: ROUTES,
    more: { meter: meter as Plugin },
    upstreams: { second: { url: 'http://127.0.0.1:9', key: 'k2', formats: ['openai-chat'] } },
    models: { two: { to: ['second/x', 'up/y'], free: true } },
  })
  const failed = async (query = ''): Promise<readonly Row[]> => {
    const { text } = await gateway.send('GET', `/api/usage?status=failed${query}`)
    return JSON.parse(text).data
  }
  return { ...gateway, failed }
}

const stores = await startBoth(t, migrations)

for (const engine of ENGINES)
  t.test(`failed calls: customers find each kind of them (${engine})`, async t => {
    const { send, upstream, failed, rows } = await start(t, engine)
    const call = (body: object, path = '/v1/chat/completions', headers = {}) =>
      send('POST', path, headers, body)
    upstream.script = () => ({ status: 500, json: refusal(`no GPU for ${SECRET}`) })
    await call(TALK)
    await call(TALK, '/v1/messages')
    upstream.script = () => ({ status: 400, json: refusal('bad temperature') })
    await call(TALK)
    upstream.script = () => ({ status: 401, json: refusal(`Incorrect API key provided: k`) })
    await call(TALK)
    upstream.script = () => ({ cut: true })
    await call(TALK)
    await call({ ...TALK, model: 'nothing' })
    await call(TALK, '/v1/chat/completions', { account: '2' })
    await eventually(async () => (await failed()).length === 6)

    const list = (await failed()).toReversed()
    t.match(
      list.map(({ status, code, message, route }) => [status, code, message, route]),
      [
        [500, 'UPSTREAM_REFUSED', 'no GPU for [hidden]', 'chat'],
        [/5\d\d/, 'UPSTREAM_REFUSED', 'no GPU for [hidden]', 'messages'],
        [400, 'UPSTREAM_REFUSED', 'bad temperature', 'chat'],
        [502, 'UPSTREAM_KEY_REFUSED', /rejects the gateway's API key/, 'chat'],
        [502, /^TARGET_|^UPSTREAM_/, /./, 'chat'],
        [404, /^MODEL_/, /nothing/, 'chat'],
      ],
    )
    t.match(list[0], { model: 'talk', key: null, state: 'failed', cost: 0, omitted: 0 })
    const [other] = JSON.parse(
      (await send('GET', '/api/usage?status=failed', { account: '2' })).text,
    ).data
    t.match(other, { status: 403, code: /INSUFFICIENT|BALANCE/ })
    t.equal((await failed('&code=UPSTREAM_KEY_REFUSED')).length, 1)
    t.equal((await failed('&model=nothing')).length, 1)
    const first = JSON.parse((await send('GET', '/api/usage?status=failed&limit=4')).text)
    const rest = await failed(`&limit=4&cursor=${first.next}`)
    t.same([...first.data, ...rest], list.toReversed(), 'pages')
    const csv = (await send('GET', '/api/usage?status=failed&format=csv')).text
    t.match(csv, /^at,request_id,model,route,key,member,status,code,message,ms,cost/)
    t.equal(csv.split('\r\n').length, 8)

    const receipt = await send('GET', `/api/usage/${list[0]?.request_id}`)
    t.match(JSON.parse(receipt.text).data, {
      state: 'failed',
      cost: 0,
      failure: { status: 500, message: 'no GPU for [hidden]' },
    })
    t.equal((await send('GET', `/api/usage/${list[0]?.request_id}`, { account: '2' })).status, 404)
    const stored = await rows("SELECT attempts FROM failed_calls WHERE code <> '' ORDER BY at")
    const [, , , key] = stored.map(({ attempts }) => JSON.parse(String(attempts || '[]')))
    t.match(key, [{ upstream: 'up', target: 'talker', key: /^\w+$/, message: /Incorrect API key/ }])
    t.notMatch(JSON.stringify(stored), SECRET)
  })

t.test('failed calls: a retry says what each upstream answered', async t => {
  const { send, upstream, rows } = await start(t, 'sqlite')
  upstream.script = () => ({ status: 400, json: refusal('no such voice') })
  await send('POST', '/v1/chat/completions', {}, { ...TALK, model: 'two' })
  await eventually(async () => (await rows('SELECT 1 AS one FROM failed_calls')).length === 1)
  const [row] = await rows('SELECT attempts FROM failed_calls')
  t.match(JSON.parse(String(row?.attempts)), [
    { upstream: 'second', result: /^[A-Z_]+$/, cause: /ECONNREFUSED/ },
    { upstream: 'up', result: 400, message: 'no such voice' },
  ])
})

t.test('failed calls: a client that leaves is one', async t => {
  const { url, upstream, failed } = await start(t, 'sqlite')
  const { promise: arrival, resolve } = Promise.withResolvers<void>()
  const { promise: never } = Promise.withResolvers<never>()
  upstream.script = () => {
    resolve()
    return never
  }
  const request = http.request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  })
  request.on('error', () => {}).end(JSON.stringify(TALK))
  await arrival
  request.destroy()
  await eventually(async () => (await failed()).length === 1)
  t.match(await failed(), [{ status: 499, code: 'CLIENT_GONE', model: 'talk' }])
})

t.test('failed calls: wrong filters are refused, other requests are not listed', async t => {
  const { send, rows } = await start(t, 'sqlite')
  const wrong: [query: string, message: RegExp][] = [
    ['status=broken', /`status` must be failed/],
    ['status=failed&by=day', /filters `by=call`/],
    ['status=failed&state=open', /filter by `code`/],
    ['code=X', /`status=failed` only/],
    ['status=failed&sort=cost', /must be one of time/],
    ['by=failed', /must be one of call, day/],
    ['status=failed&cursor=x', /cursor/],
  ]
  for (const [query, message] of wrong) {
    const { status, text } = await send('GET', `/api/usage?${query}`)
    t.equal(status, 400, query)
    t.match(JSON.parse(text).error.message, message)
  }
  await send('POST', '/v1/chat/completions', {}, { ...TALK, model: 'nothing' })
  await eventually(async () => (await rows('SELECT route FROM failed_calls')).length > 0)
  t.same(await rows('SELECT route FROM failed_calls'), [{ route: 'chat' }])
})

const MINUTE = 60_000
const callAt = (at: number, more: Partial<FailedCall> = {}): FailedCall => ({
  request: `req_${at}`,
  at,
  account: 1,
  key: null,
  route: 'chat',
  model: 'm',
  status: 500,
  code: 'X',
  message: 'why',
  ms: 1,
  cost: 0n,
  attempts: [],
  ...more,
})
const createCalls = (
  database: { write(list: readonly Statement[]): Promise<never[]> },
  rules = {},
  { Class = FailedCalls, previous }: { Class?: typeof FailedCalls; previous?: FailedCalls } = {},
) => {
  const omitted: Record<string, number> = {}
  const metrics = {
    count: (_: string, { reason = '' }: Record<string, string>, by = 1) => {
      omitted[reason] = (omitted[reason] ?? 0) + by
    },
  }
  const section = <T>() => rules as T
  const parts = { database, log: SILENT_LOG, metrics }
  return { calls: new Class(parts, failedCallRules({ section }), previous), omitted }
}

t.test(
  'failed calls: beyond the rate they are counted, and the next row has their number',
  async t => {
    const statements: Statement[] = []
    const write = async (list: readonly Statement[]) => {
      statements.push(...list)
      return []
    }
    const { calls, omitted } = createCalls({ write }, { rate: '2/min' })
    for (let at = 0; at < 5; at++) calls.add(callAt(at))
    calls.add(callAt(5, { account: 2 }))
    calls.add(callAt(MINUTE))
    await calls.flush()
    const rows = statements.map(({ values }) => [values[0], values[12]])
    t.same(rows, [
      ['req_0', 0],
      ['req_1', 0],
      ['req_5', 0],
      [`req_${MINUTE}`, 3],
    ])
    t.same(omitted, { rate: 3 })
  },
)

t.test('failed calls: after a change of plugins the same windows go on', async t => {
  // A second copy of the module, as a changed plugin file makes one.
  const path = '../../../plugins/calls/failed-calls.ts?changed'
  const { FailedCalls: Changed } = (await import(path)) as { FailedCalls: typeof FailedCalls }
  const rules = { rate: '1/min' }
  const database = { write: async () => [] }
  const { calls } = createCalls(database, rules)
  calls.add(callAt(0))
  const next = createCalls(database, rules, { Class: Changed, previous: calls })
  next.calls.add(callAt(1))
  t.same(next.omitted, { rate: 1 })
})

t.test('failed calls: those that the store does not take are lost and counted', async t => {
  const { calls, omitted } = createCalls({ write: () => Promise.reject(new Error('away')) })
  calls.add(callAt(1))
  await calls.flush()
  t.same(omitted, { store: 1 })
  const many = createCalls({ write: async () => [] }, { rate: '999999/s' })
  for (let at = 0; at < 1_200; at++) many.calls.add(callAt(at))
  t.same(many.omitted, { store: 200 })
})

for (const { engine, database } of stores)
  t.test(`failed calls: old ones and those beyond the size are removed (${engine})`, async t => {
    const store = {
      write: (list: readonly Statement[]) => database.write(list) as Promise<never[]>,
    }
    const { calls } = createCalls(store, { keep: '1m', size: '2KiB', rate: '999999/s' })
    const now = 10 * MINUTE
    calls.add(callAt(now - MINUTE - 1))
    for (let at = 0; at < 20; at++) calls.add(callAt(now - at, { message: 'x'.repeat(300) }))
    await calls.flush()
    await calls.remove(now)
    const read = () => database.read(sql('ats', 'SELECT at FROM failed_calls ORDER BY at DESC'), [])
    t.same(
      (await read()).map(({ at }) => now - Number(at)),
      [0, 1, 2],
    )
    await calls.remove(now + 2 * MINUTE)
    t.same(await read(), [])
  })

t.test('failed calls: wrong rules of the section are refused by its schema', async t => {
  const { keep, size, rate } = failedCallRules({ section: <T>() => undefined as T })
  t.same([keep, size, rate.amount, rate.ms], [7 * 86_400_000, 64 * 2 ** 20, 60n, MINUTE])
})
