/** Prices by the served model, also beside chats: embeddings, lines of batches, realtime
 *  sessions. */
import t from 'tap'
import { plain } from '../../../fixtures/upstream/scenarios.ts'
import { eventually } from '../../../helpers/gateway/primary.ts'
import { openSocket } from '../../../helpers/gateway/web-socket.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
  UNIT,
  upstream,
} from '../../../helpers/money/billing-gateway.ts'

const PRICE = `{ output: 0, input: [{ price: 1 / 10, when: { service_tier: flex } }, { price: 4 / 10, when: { service_tier: priority } }, 2 / 10] }`
const SIZES = 'context: 1000, output: 100'
const ROUTES = `
pipeline: [errors, auth, model, files, batches, meter, realtime, embed, translate]
upstreams:
  em: { url: '${upstream.url}/s/em/v1', formats: [openai-embeddings] }
  ch: { url: '${upstream.url}/s/ch/v1', formats: [openai-chat] }
  live: { url: '${upstream.url}/s/live/v1' }
models:
  vectors: { to: em/there, price: ${PRICE}, ${SIZES} }
  chat: { to: ch/there, price: ${PRICE}, ${SIZES} }
  talk: { to: live/there, price: ${PRICE}, ${SIZES} }
routes:
  - { path: 'POST /v1/embeddings', auth: key, model: body, embed: openai, errors: openai }
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: 'POST /v1/files', auth: key, body: { limit: 2GiB }, files: upload, errors: openai }
  - { path: 'POST /v1/batches', auth: key, batches: create, errors: openai }
  - { path: 'GET /v1/batches/{id}', auth: key, batches: show, errors: openai }
  - { path: 'WS /v1/realtime', auth: key, model: { query: model }, realtime: true, errors: openai }
`
/** The tier that the request asks for, that of the answer, and the cost of ten tokens. */
const ROWS: readonly (readonly [wish: object, report: object, cost: number])[] = [
  [{ service_tier: 'priority' }, { service_tier: 'default' }, 2],
  [{ service_tier: 'auto' }, { service_tier: 'priority' }, 4],
  [{ service_tier: 'flex' }, { service_tier: 'flex' }, 1],
  [{ service_tier: 'flex' }, {}, 1],
  [{}, {}, 2],
]
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000_000n * UNIT)
})
const post = async (path: string, body: object | FormData): Promise<Response> => {
  const isForm = body instanceof FormData
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${customer.key}`,
      ...(!isForm && { 'content-type': 'application/json' }),
    },
    body: isForm ? body : JSON.stringify(body),
  })
}
/** Units that the calls of the account have cost since the last look, once none is open. */
let spent = 0
const newCost = async (): Promise<number> => {
  const before = spent
  const text = `SELECT state, amount FROM charges WHERE account = ${customer.account}`
  const all = await eventually(async () => {
    const charges = await rows(text)
    return charges.every(({ state }) => state !== 'open') && charges
  })
  spent = all.reduce((sum, { amount }) => sum + Number(amount), 0) / 1e9
  return Math.round((spent - before) * 1e3) / 1e3
}

t.test('embeddings: charged at the tier that the answer names', async t => {
  for (const [wish, report, cost] of ROWS) {
    const vectors = [{ object: 'embedding', index: 0, embedding: [0.5] }]
    const usage = { prompt_tokens: 10, total_tokens: 10 }
    await upstream.script('em', [plain({ object: 'list', data: vectors, usage, ...report })])
    const response = await post('/v1/embeddings', { model: 'vectors', input: 'hi', ...wish })
    t.equal(response.status, 200, await response.text())
    t.equal(await newCost(), cost, JSON.stringify([wish, report]))
  }
})

t.test('batch lines: charged at the tier that each answer names', async t => {
  for (const [wish, report, cost] of ROWS) {
    const message = { role: 'assistant', content: 'x' }
    const usage = { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const answer = { id: 'c', object: 'chat.completion', model: 'there', choices, usage, ...report }
    await upstream.script('ch', [plain(answer)])
    const messages = [{ role: 'user', content: 'hi' }]
    const line = {
      custom_id: 'a',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'chat', messages, max_tokens: 10, ...wish },
    }
    const form = new FormData()
    form.append('purpose', 'batch')
    form.append('file', new Blob([JSON.stringify(line)]), 'in.jsonl')
    const { id: input_file_id } = (await (await post('/v1/files', form)).json()) as { id: string }
    const created = await post('/v1/batches', {
      input_file_id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    })
    const { id } = (await created.json()) as { id: string }
    t.equal(created.status, 200)
    await eventually(async () => {
      const headers = { authorization: `Bearer ${customer.key}` }
      const batch = await (await fetch(`${gateway.url}/v1/batches/${id}`, { headers })).json()
      return (batch as { status: string }).status === 'completed'
    })
    t.equal(await newCost(), cost, JSON.stringify([wish, report]))
  }
})

t.test('realtime: charged at the tier that its last response names', async t => {
  for (const [report, cost] of [
    [{ service_tier: 'priority' }, 4],
    [{ service_tier: 'default' }, 2],
    [{}, 2],
  ] as const) {
    await upstream.script('live', [{ do: 'websocket', manner: 'echo' }])
    const client = await openSocket(`${gateway.url}/v1/realtime?model=talk`, [], {
      headers: { authorization: `Bearer ${customer.key}` },
    })
    const usage = { total_tokens: 10, input_tokens: 10, output_tokens: 0 }
    const response = { id: 'r', usage, ...report }
    client.socket.send(JSON.stringify({ type: 'response.done', response }))
    await client.until(1)
    client.socket.close()
    await client.closed
    t.equal(await newCost(), cost, JSON.stringify(report))
  }
})
