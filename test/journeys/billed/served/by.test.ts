/** A charge names what served its call: upstream, target, key, model, tier, id and times, for plain
 *  and streamed calls; operators see all of it, customers nothing that names the provider. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { servedView } from '../../../../plugins/ledger/views/served-by.ts'
import {
  answerChat,
  CHAT_FACTS,
  startTextUpstream,
} from '../../../helpers/gateway/chat-upstream.ts'
import { bearer, postTo } from '../../../helpers/gateway/post.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
} from '../../../helpers/money/billing-gateway.ts'

const MODEL = 'words-2026-10-01'
const upstream = await startTextUpstream(t, (text, response, { headers }) => {
  // The first key is limited: the second one serves.
  if (headers.authorization === 'Bearer sk-first-key-of-two')
    return response.writeHead(429, { 'retry-after': '60' }).end('{}')
  return answerChat(text, response, {
    facts: { ...CHAT_FACTS, model: MODEL, service_tier: 'flex' },
    pieces: ['', 'Hello.'],
  })
})
const SECOND_KEY = 'sk-second-key-of-two'
const ROUTES = `
pipeline: [errors, auth, model, meter, translate, account]
upstreams:
  up:
    url: '${upstream}'
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
      const response = await postTo(
        gateway.url + path,
        {
          model: 'words',
          max_tokens: 10,
          stream,
          messages: [{ role: 'user', content: 'Hi' }],
        },
        bearer(customer.key),
      )
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
