/** The row of a charge says what served calls whose answers have no id: the id of the request in a
 *  header, the name of a signing credential, the region, the first bytes of a sound, a session. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { servedView } from '../../../../plugins/ledger/views/served-by.ts'
import { eventually } from '../../../helpers/gateway/primary.ts'
import { openSocket } from '../../../helpers/gateway/web-socket.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
} from '../../../helpers/money/billing-gateway.ts'

type Headers = Readonly<Record<string, string>>
/** An answer: its type and its text, or a value as JSON. */
type Typed = readonly [type: string, text: string]
type Answer = Typed | object
const isTyped = (answer: Answer): answer is Typed =>
  Array.isArray(answer) && typeof answer[0] === 'string'
/** The next answer of the upstream. */
let next: { readonly answer: Answer; readonly headers: Headers } = { answer: {}, headers: {} }
/** Ends the second part of a sound. */
let onSecondPart: Promise<void> | undefined
const upstream = createServer(async (request, response) => {
  for await (const _ of request);
  const { answer, headers } = next
  const own = request.headers['x-request-id'] ?? ''
  const all = Object.entries(headers).map(([name, value]) => [
    name,
    value.replace('{own}', `${own}`),
  ])
  const [type, text] = isTyped(answer) ? answer : ['application/json', JSON.stringify(answer)]
  response.writeHead(200, { ...Object.fromEntries(all), 'content-type': type })
  if (!onSecondPart) return response.end(text)
  response.write(text)
  await onSecondPart
  return response.end(text)
}).listen(0, '127.0.0.1')
const sockets = new WebSocketServer({ noServer: true })
sockets.on('headers', list => {
  for (const [name, value] of Object.entries(next.headers)) list.push(`${name}: ${value}`)
})
upstream.on('upgrade', (request, socket, head) =>
  sockets.handleUpgrade(request, socket, head, client => {
    for (const each of next.answer as readonly object[]) client.send(JSON.stringify(each))
  }),
)
await once(upstream, 'listening')
t.teardown(() => {
  upstream.closeAllConnections()
  upstream.close()
})
const { port } = upstream.address() as AddressInfo
const FORMATS = {
  chat: 'openai-chat',
  images: 'openai-images',
  drawings: 'recraft',
  speech: 'openai-speech',
  transcripts: 'openai-transcription',
  vectors: 'openai-embeddings',
  others: 'google-embeddings',
  ranks: 'cohere-rerank',
  command: 'cohere-chat',
} as const
const TIERS = 'price: { calls: { by: service_tier, price: { priority: 4, default: 1 } } }'
const ACCESS_KEY = 'AKIDEXAMPLE'
const SECRET = 'secret-of-the-access-key'
const PRICE = 'price: { calls: 1 / 10, cached_call: 1 / 100 }'
const ROUTES = `
pipeline: [errors, auth, form, model, meter, translate, cache, embed, realtime, account]
cache: { exact: { ttl: 1h, share: member, memory: 1MiB, store: 1MiB, largest: 64KiB } }
upstreams:
${Object.entries(FORMATS)
  .map(([name, format]) => `  ${name}: { url: 'http://127.0.0.1:${port}', formats: [${format}] }`)
  .join('\n')}
  signed: { url: 'http://127.0.0.1:${port}', formats: [bedrock-converse], auth: { aws: { region: eu-west-1, service: bedrock, id: ${ACCESS_KEY}, secret: ${SECRET} } } }
  live: { url: 'http://127.0.0.1:${port}' }
models:
${[...Object.keys(FORMATS), 'signed', 'live']
  .map(name => `  ${name}: { to: ${name}/there, ${PRICE}, context: 1000, output: 100 }`)
  .join('\n')}
  tiered: { to: command/there, ${TIERS}, context: 1000, output: 100 }
  tiered-vectors: { to: others/there, ${TIERS}, context: 1000, output: 100 }
  again: { to: chat/there, cache: exact, ${PRICE}, context: 1000, output: 100 }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: 'POST /v1/responses', auth: key, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1/images/generations', auth: key, model: body, translate: openai-images, errors: openai }
  - { path: 'POST /v1/audio/speech', auth: key, model: body, translate: openai-speech, errors: openai }
  - { path: 'POST /v1/audio/transcriptions', auth: key, form: { files: [file] }, model: body, translate: openai-transcription, errors: openai }
  - { path: 'POST /v1/embeddings', auth: key, model: body, embed: openai, errors: openai }
  - { path: 'POST /v1/rerank', auth: key, model: body, translate: cohere-rerank, errors: openai }
  - { path: 'WS /v1/realtime', auth: key, model: { query: model }, realtime: true, errors: openai }
  - { path: 'GET /api/usage/{request_id}', auth: key, account: receipt }
`
let customer: Customer
t.before(async () => {
  customer = await prepareCustomer(ROUTES, 100_000_000_000n)
})
const rowOf = async (id: string) => {
  const [row = {}] = await rows(`SELECT served, amount FROM charges WHERE request = '${id}'`)
  const stored = JSON.parse(String(row.served ?? '{}'))
  return { ...servedView(row), stored, cost: Number(row.amount ?? 0) / 1e9 }
}
const send = async (path: string, body: object | FormData) => {
  const isForm = body instanceof FormData
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${customer.key}`,
      ...(!isForm && { 'content-type': 'application/json' }),
    },
    body: isForm ? body : JSON.stringify(body),
  })
  return { response, id: response.headers.get('x-request-id') ?? '' }
}
/** The row of a call that gets this answer. */
const call = async (t: Test, [path, body, answer]: Case, headers: Headers) => {
  next = { answer, headers }
  const { response, id } = await send(path, body)
  t.equal(response.status, 200, await response.text())
  return { ...(await rowOf(id)), request: id }
}
const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)

type Case = readonly [path: string, body: object | FormData, answer: Answer]
const message = { role: 'assistant', content: 'Hello.' }
const USAGE = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 }
const CHAT = {
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage: USAGE,
}
const chat = (model: string, stream = false) => ({
  model,
  stream,
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Hi' }],
})
const events = (...list: readonly object[]): Answer => [
  'text/event-stream',
  list.map(each => `data: ${JSON.stringify(each)}\n\n`).join(''),
]
const transcript = (stream: boolean) => {
  const form = new FormData()
  form.append('model', 'transcripts')
  if (stream) form.append('stream', 'true')
  form.append('file', new Blob(['sound']), 'a.mp3')
  return form
}
const CONVERSE = {
  output: { message: { role: 'assistant', content: [{ text: 'Hello.' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 4, outputTokens: 2, totalTokens: 6 },
  trace: { promptRouter: { invokedModelId: 'routed' } },
}
const TOKENS = { input_tokens: 4, output_tokens: 2, total_tokens: 6 }
const IMAGE = { created: 1, data: [{ b64_json: 'aGk=' }], usage: TOKENS }
/** The header that each names the id in. */
const CASES: Readonly<Record<string, readonly [header: string, ...Case]>> = {
  chat: ['x-request-id', '/v1/chat/completions', chat('chat'), CHAT],
  'chat, streamed': [
    'apim-request-id',
    '/v1/chat/completions',
    chat('chat', true),
    events({ ...CHAT, choices: [{ index: 0, delta: message, finish_reason: 'stop' }] }),
  ],
  converse: ['x-amzn-requestid', '/v1/chat/completions', chat('signed'), CONVERSE],
  images: ['x-request-id', '/v1/images/generations', { model: 'images', prompt: 'x' }, IMAGE],
  'images, streamed': [
    'x-ms-request-id',
    '/v1/images/generations',
    { model: 'images', prompt: 'x', stream: true },
    events({ type: 'image_generation.completed', b64_json: 'aGk=', usage: TOKENS }),
  ],
  drawings: [
    'x-request-id',
    '/v1/images/generations',
    { model: 'drawings', prompt: 'x' },
    { created: 1, data: [{ url: 'http://127.0.0.1/a.png' }] },
  ],
  speech: [
    'request-id',
    '/v1/audio/speech',
    { model: 'speech', input: 'Hi', voice: 'a' },
    ['audio/mpeg', 'sound'],
  ],
  transcripts: ['x-request-id', '/v1/audio/transcriptions', transcript(false), { text: 'Hi.' }],
  'transcripts, streamed': [
    'dg-request-id',
    '/v1/audio/transcriptions',
    transcript(true),
    events(
      { type: 'transcript.text.segment', id: 'segment-1', text: 'Hi.' },
      { type: 'transcript.text.done', text: 'Hi.', usage: TOKENS },
    ),
  ],
  vectors: [
    'mistral-correlation-id',
    '/v1/embeddings',
    { model: 'vectors', input: 'Hi' },
    { data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 4, total_tokens: 4 } },
  ],
  'vectors of Gemini': [
    'x-goog-request-id',
    '/v1/embeddings',
    { model: 'others', input: 'Hi' },
    { embeddings: [{ values: [0.5] }] },
  ],
  ranks: [
    'x-debug-trace-id',
    '/v1/rerank',
    { model: 'ranks', query: 'x', documents: ['a'] },
    { results: [{ index: 0, relevance_score: 0.5 }] },
  ],
}
for (const [name, [header, ...each]] of Object.entries(CASES))
  t.test(`row of a charge: ${name}: a header names the id`, async t => {
    const row = await call(t, each, { [header]: `id in ${header}` })
    t.equal(row.response_id, `id in ${header}`)
    const receipt = await fetch(`${gateway.url}/api/usage/${row.request}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    })
    t.equal(receipt.status, 200)
    t.notMatch(await receipt.text(), header)
  })

t.test('row of a charge: the id in the answer comes before that in a header', async t => {
  const answer = { ...CHAT, id: 'chat-1' }
  const row = await call(t, ['/v1/chat/completions', chat('chat'), answer], { 'request-id': 'r1' })
  t.equal(row.response_id, 'chat-1')
})
t.test('row of a charge: an upstream that repeats our id names none', async t => {
  const each = ['/v1/chat/completions', chat('chat'), CHAT] as const
  const row = await call(t, each, { 'x-request-id': '{own}' })
  t.equal(row.response_id, null)
})
t.test('row of a charge: the region in a header is its geography', async t => {
  const each = ['/v1/chat/completions', chat('chat'), CHAT] as const
  t.equal((await call(t, each, { 'x-ms-region': 'East US' })).geography, 'East US')
})
t.test('row of a charge: a signing credential and a routed model are named', async t => {
  const row = await call(t, ['/v1/chat/completions', chat('signed'), CONVERSE], {})
  t.match(row, { upstream_key: hash(ACCESS_KEY), served_model: 'routed' })
  t.notMatch(JSON.stringify(row), new RegExp(`${ACCESS_KEY}|${SECRET}`))
})
t.test('row of a charge: compatible upstreams name the model of a transcript', async t => {
  const answer = { text: 'Hi.', model: 'whisper-3', x_groq: { id: 'req-1' } }
  const row = await call(t, ['/v1/audio/transcriptions', transcript(false), answer], {})
  t.match(row, { served_model: 'whisper-3', response_id: 'req-1' })
})

t.test('row of a charge: the first content of a sound is its first bytes', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  onSecondPart = promise
  next = { answer: ['audio/mpeg', 'sound'], headers: {} }
  const { response, id } = await send('/v1/audio/speech', {
    model: 'speech',
    input: 'Hi',
    voice: 'a',
  })
  const reader = response.body?.getReader()
  await reader?.read()
  onSecondPart = undefined
  resolve()
  while (!(await reader?.read())?.done);
  t.type((await rowOf(id)).stored.first, 'number')
})

t.test('row of a charge: an answer from the cache names the call, and no provider', async t => {
  const answer = { ...CHAT, id: 'chat-1' }
  const rowsOf = []
  for (const stream of [false, true, false]) {
    const body = { ...chat('again', stream), temperature: 0 }
    rowsOf.push(await call(t, ['/v1/chat/completions', body, answer], {}))
  }
  const [miss, ...hits] = rowsOf
  t.match(miss, { cache: null, response_id: 'chat-1', served_model: 'm' })
  for (const hit of hits) {
    t.match(hit, { cache: miss?.request, upstream: 'chat', target: 'there', tier: null })
    t.match(hit, { upstream_key: null, response_id: null, served_model: null })
  }
})

t.test('row of a charge: a session names its id, or that of its last response', async t => {
  const created = { type: 'session.created', session: { id: 'session-1', model: 'live-2' } }
  const delta = { type: 'response.output_text.delta', delta: 'Hi.' }
  const tokens = { total_tokens: 6, input_tokens: 4, output_tokens: 2 }
  const done = (id: string) => ({
    type: 'response.done',
    response: { id, service_tier: 'flex', usage: tokens },
  })
  const transcribed = {
    type: 'conversation.item.input_audio_transcription.completed',
    usage: { type: 'tokens', ...tokens },
  }
  const rowFor = async (messages: readonly object[], headers: Headers) => {
    next = { answer: messages, headers }
    const client = await openSocket(`${gateway.url}/v1/realtime?model=live`, [], {
      headers: { authorization: `Bearer ${customer.key}` },
    })
    await client.until(messages.length)
    client.socket.close()
    await client.closed
    const id = String(client.headers['x-request-id'])
    return eventually(async () => {
      const row = await rowOf(id)
      return row.upstream !== null && row
    })
  }
  const responses = [created, delta, done('response-1'), delta, done('response-2')]
  const row = await rowFor(responses, { 'x-request-id': 'r1' })
  t.match(row, { response_id: 'response-2', served_model: 'live-2', tier: 'flex' })
  t.type(row.stored.first, 'number')
  const headers = { 'x-request-id': 'r1' }
  t.equal((await rowFor([created, transcribed], headers)).response_id, 'session-1')
  t.equal((await rowFor([transcribed], headers)).response_id, 'r1')
})

const COHERE = {
  id: 'c1',
  finish_reason: 'COMPLETE',
  message: { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
  usage: { billed_units: { input_tokens: 4, output_tokens: 2 } },
}
const COHERE_EVENTS = [
  { type: 'message-start', id: 'c1', delta: { message: { role: 'assistant', content: [] } } },
  { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
  { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Hello.' } } } },
  { type: 'content-end', index: 0 },
  { type: 'message-end', delta: { finish_reason: 'COMPLETE', usage: COHERE.usage } },
]
const VECTOR = { embeddings: [{ values: [0.5] }], usageMetadata: { promptTokenCount: 4 } }
for (const [path, body, answer] of [
  ['/v1/chat/completions', chat('tiered'), COHERE],
  ['/v1/chat/completions', chat('tiered', true), events(...COHERE_EVENTS)],
  ['/v1/responses', { model: 'tiered', input: 'Hi' }, COHERE],
  ['/v1/responses', { model: 'tiered', input: 'Hi', stream: true }, events(...COHERE_EVENTS)],
  ['/v1/embeddings', { model: 'tiered-vectors', input: 'Hi' }, VECTOR],
] as const)
  t.test(`tier that a target does not carry: ${path}, stream ${'stream' in body}`, async t => {
    next = { answer, headers: {} }
    const { response, id } = await send(path, { ...body, service_tier: 'priority' })
    const text = await response.text()
    t.equal(response.status, 200, text)
    t.equal(response.headers.get('x-tollgate-dropped'), 'service_tier')
    t.notMatch(text, /"service_tier":"priority"/, 'the answer does not repeat it')
    t.match(await rowOf(id), { tier: 'default', cost: 1 }, 'charged at the standard')
  })

t.test('tier that chunks name: the last event of a response names it', async t => {
  const chunk = { ...CHAT, id: 'chat-1', service_tier: 'flex' }
  next = {
    answer: events({ ...chunk, choices: [{ index: 0, delta: message, finish_reason: 'stop' }] }),
    headers: {},
  }
  const { response } = await send('/v1/responses', { model: 'chat', input: 'Hi', stream: true })
  const [, completed = ''] = (await response.text()).split('event: response.completed')
  t.match(completed, '"service_tier":"flex"')
})
