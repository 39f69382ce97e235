/** A charge names what served its call: upstream, target, key, model, tier, id and times, for plain
 *  and streamed calls; operators see all of it, customers nothing that names the provider. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { servedView } from '../../../../plugins/ledger/views/served-by.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
} from '../../../helpers/money/billing-gateway.ts'

const MODEL = 'words-2026-10-01'
const USAGE = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 }
const events = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] },
  { choices: [{ index: 0, delta: { content: 'Hello.' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage: USAGE },
].map(each => ({ id: 'resp-1', model: MODEL, service_tier: 'flex', created: 1, ...each }))
const upstream = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  // The first key is limited: the second one serves.
  if (request.headers.authorization === 'Bearer sk-first-key-of-two')
    return response.writeHead(429, { 'retry-after': '60' }).end('{}')
  if (JSON.parse(text).stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const each of events) response.write(`data: ${JSON.stringify(each)}\n\n`)
    return response.end('data: [DONE]\n\n')
  }
  const message = { role: 'assistant', content: 'Hello.' }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  response.writeHead(200, { 'content-type': 'application/json' })
  return response.end(JSON.stringify({ ...events[0], choices, usage: USAGE }))
}).listen(0, '127.0.0.1')
await once(upstream, 'listening')
t.teardown(() => {
  upstream.closeAllConnections()
  upstream.close()
})
const SECOND_KEY = 'sk-second-key-of-two'
const ROUTES = `
pipeline: [errors, auth, model, meter, translate, account]
upstreams:
  up:
    url: 'http://127.0.0.1:${(upstream.address() as AddressInfo).port}'
    formats: [openai-chat]
    key: [sk-first-key-of-two, ${SECOND_KEY}]
models:
  words: { to: up/words-of-up, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 }
routes:
  - { path: POST /chat, auth: key, model: body, translate: openai-chat, errors: openai, rewrite: '/' }
  - { path: POST /messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic, rewrite: '/' }
  - { path: 'GET /api/usage/{request_id}', auth: key, account: receipt }
  - { path: GET /api/usage, auth: key, account: usage }
`
let customer: Customer
t.before(async () => {
  customer = await prepareCustomer(ROUTES, 100_000_000_000n)
})
const get = async (path: string) => {
  const headers = { authorization: `Bearer ${customer.key}` }
  const response = await fetch(gateway.url + path, { headers })
  return { status: response.status, text: await response.text() }
}

for (const path of ['/chat', '/messages'])
  for (const stream of [false, true])
    t.test(`served by: ${path}, stream ${stream}`, async t => {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'words',
          max_tokens: 10,
          stream,
          messages: [{ role: 'user', content: 'Hi' }],
        }),
      })
      await response.text()
      t.equal(response.status, 200)
      const id = response.headers.get('x-request-id') ?? ''
      const [row] = await rows(`SELECT served FROM charges WHERE request = '${id}'`)
      t.notMatch(row?.served, SECOND_KEY)
      const served = servedView(row ?? {})
      t.match(served, {
        upstream: 'up',
        target: 'words-of-up',
        upstream_key: createHash('sha256').update(SECOND_KEY).digest('hex').slice(0, 12),
        served_model: MODEL,
        response_id: 'resp-1',
        tier: 'flex',
      })
      const { first_content_ms: first, ms } = served
      t.ok(first !== null && ms !== null && first >= 0 && first <= ms, `${first} of ${ms} ms`)
      const receipt = await get(`/api/usage/${id}`)
      t.equal(receipt.status, 200)
      t.match(JSON.parse(receipt.text).data, { tier: 'flex', ms, first_content_ms: first })
      t.notMatch(receipt.text, /words-of-up|resp-1|words-2026|upstream|target|"[0-9a-f]{12}"/)
    })

t.test('served by: the usage CSV of a customer has tier and times', async t => {
  const csv = await get('/api/usage?format=csv')
  t.equal(csv.status, 200)
  const [head = '', first = ''] = csv.text.split('\r\n')
  t.match(
    head,
    /,tier,speed,geography,zone,tags,rule,guard,first_content_ms,ms,input_tokens,cached_tokens,output_tokens$/,
  )
  t.match(first, /,flex,,,,,,,\d+,\d+,\d+,\d+,\d+$/)
  t.notMatch(csv.text, /words-of-up|resp-1|words-2026/)
})
