/** Live parts of the console over HTTP, on PostgreSQL: events of calls and tasks, files of results
 *  through the gateway, and usage with its filters, orders and overview. */
import t from 'tap'
import { type ConsoleClient, startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { sharedPostgres } from '../../helpers/store/postgres.ts'

const postgres = await sharedPostgres()
const gateway = await startConsole(t, { env: { DATABASE_URL: await postgres.create() } })
const [ann, bob] = [await gateway.customer('ann', 100), await gateway.customer('bob', 100)]
const keyOf = async (client: ConsoleClient): Promise<object> => {
  const { body } = await client.ask('POST', '/api/keys', { name: 'calls' })
  return { authorization: `Bearer ${body.data.key}` }
}
const [annKey, bobKey] = [await keyOf(ann), await keyOf(bob)]
const chat = (headers: object, model = 'gp-4.1') =>
  gateway.ask(
    'POST',
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'Hello' }] },
    headers,
  )

/** The events of a stream so far, and whether it has ended. */
const openEvents = async (path: string, client: ConsoleClient) => {
  const { cookie } = client
  const abort = new AbortController()
  const response = await fetch(gateway.url + path, { headers: { cookie }, signal: abort.signal })
  const rows: Readonly<Record<string, unknown>>[][] = []
  const read = async () => {
    let rest = ''
    for await (const chunk of response.body ?? []) {
      const blocks = (rest + Buffer.from(chunk).toString()).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks)
        if (block.startsWith('data: ')) rows.push(JSON.parse(block.slice(6)).rows)
    }
  }
  const ended = read().catch(() => {})
  t.teardown(() => abort.abort())
  return { response, rows, ended, close: () => abort.abort() }
}

t.test('events: report the calls of the account, and of no other', async t => {
  const events = await openEvents('/api/usage/events', ann)
  t.match(events.response.headers.get('content-type'), /^text\/event-stream/)
  await eventually(() => events.rows.length === 1)
  t.same(events.rows, [[]], 'the first event has no rows, and arrives without any change')
  await chat(bobKey)
  await chat(annKey)
  const settled = () => events.rows.flat().filter(({ state }) => state === 'settled')
  await eventually(() => settled().length === 1)
  const { body } = await ann.ask('GET', '/api/usage?limit=1')
  t.equal(settled()[0]?.id, body.data[0]?.request_id)
  const ids = new Set(events.rows.flat().map(({ id }) => id))
  t.equal(ids.size, 1, 'the call of the other account is not reported')
  events.close()
})

t.test('events: need a session or a system token', async t => {
  for (const kind of ['usage', 'tasks', 'batches']) {
    t.equal((await gateway.ask('GET', `/api/${kind}/events`)).status, 401, kind)
    const withKey = await gateway.ask('GET', `/api/${kind}/events`, undefined, annKey)
    t.equal(withKey.status, 401, kind)
  }
})

t.test('task: events report its states, its file passes through the gateway', async t => {
  const events = await openEvents('/api/tasks/events', ann)
  await eventually(() => events.rows.length === 1)
  const clip = { model: 'vdq3', prompt: 'A tree', duration: 1, resolution: '540p' }
  const { body: created } = await gateway.ask('POST', '/ent/v2/text2video', clip, annKey)
  const { task_id: id } = created as unknown as { readonly task_id: string }
  await eventually(() => events.rows.flat().some(row => row.id === id && row.state === 'succeeded'))
  events.close()
  const path = `/api/tasks/${id}/results/0/url`
  const get = (client: ConsoleClient, headers = {}, method = 'GET') =>
    fetch(gateway.url + path, { method, headers: { cookie: client.cookie, ...headers } })
  const file = await get(ann)
  t.equal(file.status, 200)
  t.match(file.headers.get('content-type'), /^video\//)
  t.equal(file.headers.get('x-content-type-options'), 'nosniff')
  const size = (await file.arrayBuffer()).byteLength
  t.ok(size > 100)
  const part = await get(ann, { range: 'bytes=0-9' })
  t.equal(part.status, 206)
  t.equal((await part.arrayBuffer()).byteLength, 10)
  const head = await get(ann, {}, 'HEAD')
  t.equal(head.status, 200)
  t.match(head.headers.get('content-type'), /^video\//)
  t.equal((await get(bob)).status, 404, 'a stranger')
  t.equal((await fetch(gateway.url + path)).status, 401)
  for (const wrong of ['9/url', '0/prompt', '0/__proto__', '-1/url', 'x/url']) {
    const reply = await ann.ask('GET', `/api/tasks/${id}/results/${wrong}`)
    t.equal(reply.status, 404, wrong)
  }
})

t.test('usage on PostgreSQL: filters, orders, CSV and overview agree', async t => {
  for (const model of ['cl-haiku-4-5', 'gx-2.5-flash', 'cl-haiku-4-5']) await chat(annKey, model)
  const { body: whole } = await ann.ask('GET', '/api/usage')
  const all = whole.data as readonly Readonly<Record<string, unknown>>[]
  const list = async (query: string) => (await ann.ask('GET', `/api/usage?${query}`)).body.data
  t.equal((await list('model=cl-haiku-4-5')).length, 2)
  t.equal((await list(`key=${all[0]?.key}&state=settled`)).length, all.length)
  t.equal((await list('state=released')).length, 0)
  const costs = (await list('sort=cost&order=desc')).map(({ cost }) => Number(cost))
  t.same(
    costs,
    costs.toSorted((a, b) => b - a),
  )
  const models = (await list('sort=model&order=asc')).map(({ model }) => String(model))
  t.same(models, models.toSorted())
  const sums = await list('by=model&sort=calls&order=desc')
  t.match(sums[0], { model: 'cl-haiku-4-5', calls: 2 })
  const csv = await ann.ask('GET', '/api/usage?format=csv&model=cl-haiku-4-5')
  t.equal(String(csv.body).trimEnd().split('\r\n').length, 3)
  const { body: overview } = await ann.ask('GET', '/api/usage/overview')
  const sum = (rows: readonly Readonly<Record<string, unknown>>[]) =>
    rows.reduce((total, { cost }) => total + Math.round(Number(cost) * 1e9), 0)
  t.equal(sum(overview.data), sum(all), 'the overview has the sum of all calls')
  t.same((await ann.ask('GET', '/api/usage?sort=size')).status, 400)
})
