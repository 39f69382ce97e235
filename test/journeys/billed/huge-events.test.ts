/** Events of more than 32 MiB, as images make them: the client gets them whole, and pays for the
 *  usage that they report, whether they pass or are translated. */
import t from 'tap'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
} from '../../helpers/money/billing-gateway.ts'

const MIB = 1024 * 1024
const IMAGE = 'QUJD'.repeat((45 * MIB) / 4)

let events: readonly object[] = []
let isStream = true
const url = await startHttpUpstream(t, (request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
  if (!isStream) return response.end(JSON.stringify(events[0]))
  for (const each of events) {
    const name = 'type' in each ? `event: ${each.type}\n` : ''
    response.write(`${name}data: ${JSON.stringify(each)}\n\n`)
  }
  return response.end('choices' in (events[0] ?? {}) ? 'data: [DONE]\n\n' : '')
})
const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams:
  g: { url: '${url}', formats: [google-gemini] }
  r: { url: '${url}', formats: [openai-responses] }
  c: { url: '${url}', formats: [openai-chat] }
models:
  gem: { to: g, price: { input: 2 / 1M, output: 12 / 1M }, output: 4000 }
  resp: { to: r, price: { input: 2 / 1M, output: 12 / 1M }, output: 4000 }
  words: { to: c, price: { input: 2 / 1M, output: 12 / 1M }, output: 4000 }
routes:
  - { path: POST /chat, auth: key, model: body, translate: openai-chat, errors: openai, rewrite: '/' }
  - { path: POST /messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic, rewrite: '/' }
  - { path: POST /responses, auth: key, model: body, translate: openai-responses, errors: openai, rewrite: '/' }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
`
let customer: Customer
t.before(async () => {
  customer = await prepareCustomer(ROUTES, 100_000_000_000n)
})
const ask = async (path: string, body: object) => {
  const response = await postTo(gateway.url + path, body, bearer(customer.key))
  let size = 0
  let end = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    end = (end + decoder.decode(chunk, { stream: true })).slice(-2_000)
  }
  const id = response.headers.get('x-tollgate-request') ?? response.headers.get('x-request-id')
  const [row] = await rows(`SELECT usage, estimated FROM charges WHERE request = '${id}'`)
  return {
    status: response.status,
    size,
    end,
    charge: row && { estimated: row.estimated, usage: JSON.parse(String(row.usage)) },
  }
}
const CHARGED = { estimated: 0, usage: { input: 20, output: 2_000 } }
const HELLO = [{ role: 'user', content: 'Draw.' }]

const gemini = (more: object = {}) => ({
  candidates: [
    {
      index: 0,
      content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: IMAGE } }] },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 2_000, totalTokenCount: 2_020 },
  ...more,
})
const contents = [{ role: 'user', parts: [{ text: 'Draw.' }] }]

for (const method of ['streamGenerateContent?alt=sse', 'generateContent'])
  t.test(`huge events: Gemini, ${method}`, async t => {
    isStream = method.startsWith('stream')
    events = [gemini()]
    const reply = await ask(`/v1beta/models/gem:${method}`, { contents })
    t.equal(reply.status, 200)
    t.ok(reply.size > 45 * MIB)
    t.notMatch(reply.end, /"error"/)
    t.match(reply.charge, CHARGED)
  })

for (const stream of [true, false])
  t.test(`huge events: Gemini as chat, stream ${stream}`, async t => {
    isStream = stream
    events = [gemini()]
    const reply = await ask('/chat', { model: 'gem', stream, messages: HELLO })
    t.equal(reply.status, 200)
    t.ok(reply.size > 45 * MIB, `${reply.size} bytes`)
    t.notMatch(reply.end, /"error"/)
    t.match(reply.charge, CHARGED)
  })

t.test('huge events: the image result of a response', async t => {
  isStream = true
  const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: IMAGE }
  const usage = { input_tokens: 20, output_tokens: 2_000, total_tokens: 2_020 }
  const response = { id: 'resp_1', object: 'response', status: 'completed', output: [item], usage }
  events = [
    {
      type: 'response.created',
      response: { ...response, status: 'in_progress', output: [], usage: null },
    },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ]
  const reply = await ask('/responses', { model: 'resp', stream: true, input: 'Draw.' })
  t.equal(reply.status, 200)
  t.ok(reply.size > 90 * MIB)
  t.match(reply.charge, CHARGED)
})

for (const path of ['/chat', '/messages'])
  t.test(`huge events: one delta of a chat, ${path}`, async t => {
    isStream = true
    const choice = (delta: object, finish_reason: string | null = null) => ({
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'words',
      choices: [{ index: 0, delta, finish_reason }],
    })
    const usage = { prompt_tokens: 20, completion_tokens: 2_000, total_tokens: 2_020 }
    events = [
      choice({ role: 'assistant', content: IMAGE }),
      choice({}, 'stop'),
      { ...choice({}), choices: [], usage },
    ]
    const body = { model: 'words', stream: true, max_tokens: 4_000, messages: HELLO }
    const reply = await ask(path, body)
    t.equal(reply.status, 200)
    t.ok(reply.size > 45 * MIB)
    t.notMatch(reply.end, /"error"/)
    t.match(reply.charge, CHARGED)
  })
