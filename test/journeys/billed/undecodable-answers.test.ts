/** Answers in a coding that the gateway does not know, or that do not fit their coding: attempts
 *  that failed. The next target answers; without another target the error names its cause and
 *  costs nothing. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'
import t from 'tap'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import {
  type Customer,
  chargeOf,
  gateway,
  prepareCustomer,
} from '../../helpers/money/billing-gateway.ts'

interface Endpoint {
  readonly path: string
  readonly format: string
  readonly body: object
  readonly type?: string
  readonly answer: string
}
const usage = { prompt_tokens: 4, total_tokens: 4 }
const CHAT = { id: 'c', created: 1, model: 'm' }
const message = { role: 'assistant', content: 'Hello.' }
const turn = { messages: [{ role: 'user', content: 'Hi' }] }
const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  chat: {
    path: '/v1/chat/completions',
    format: 'openai-chat',
    body: turn,
    answer: JSON.stringify({ ...CHAT, choices: [{ index: 0, message, finish_reason: 'stop' }] }),
  },
  stream: {
    path: '/v1/chat/completions',
    format: 'openai-chat',
    body: { ...turn, stream: true },
    type: 'text/event-stream',
    answer: [
      { ...CHAT, choices: [{ index: 0, delta: message, finish_reason: null }] },
      { ...CHAT, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ]
      .map(each => `data: ${JSON.stringify(each)}\n\n`)
      .concat('data: [DONE]\n\n')
      .join(''),
  },
  messages: {
    path: '/v1/messages',
    format: 'openai-chat',
    body: { ...turn, max_tokens: 9 },
    answer: JSON.stringify({ ...CHAT, choices: [{ index: 0, message, finish_reason: 'stop' }] }),
  },
  embeddings: {
    path: '/v1/embeddings',
    format: 'openai-embeddings',
    body: { input: 'Rome' },
    answer: JSON.stringify({
      object: 'list',
      model: 'm',
      data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
      usage,
    }),
  },
  images: {
    path: '/v1/images/generations',
    format: 'openai-images',
    body: { prompt: 'a cat' },
    answer: JSON.stringify({ created: 1, data: [{ b64_json: 'AAAA' }] }),
  },
  rerank: {
    path: '/v1/rerank',
    format: 'cohere-rerank',
    body: { query: 'Rome', documents: ['a', 'b'] },
    answer: JSON.stringify({ id: 'r', results: [{ index: 0, relevance_score: 0.5 }], meta: {} }),
  },
  moderations: {
    path: '/v1/moderations',
    format: 'openai-moderations',
    body: { input: 'Rome' },
    answer: JSON.stringify({
      id: 'm',
      model: 'm',
      results: [{ flagged: false, categories: {}, category_scores: {} }],
    }),
  },
  speech: {
    path: '/v1/audio/speech',
    format: 'openai-speech',
    body: { input: 'Rome', voice: 'alloy' },
    type: 'audio/mpeg',
    answer: 'ID3 sound',
  },
}
const MIB = 1024 * 1024
type Fault = 'unknown' | 'damaged' | 'short'
const FAULTS: Readonly<Record<Fault, { coding: string; body(text: string): Buffer }>> = {
  unknown: { coding: 'snappy', body: text => Buffer.from(text) },
  damaged: { coding: 'gzip', body: text => Buffer.from(text) },
  short: { coding: 'br', body: text => zlib.brotliCompressSync(text).subarray(0, 3) },
}
let fault: Fault = 'unknown'
let requests: string[] = []
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const [, target = '', name = ''] = request.url?.split('/') ?? []
  requests.push(target)
  const { type = 'application/json', answer } = ENDPOINTS[name] as Endpoint
  const isCoded = target === 'a'
  response.writeHead(200, {
    'content-type': type,
    ...(isCoded && { 'content-encoding': FAULTS[fault].coding }),
  })
  response.end(isCoded ? FAULTS[fault].body(answer) : answer)
})
/** Streams one event, and damages the rest once the client has read it. */
let damage: (() => void) | undefined
const damagedUrl = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
  const encoder = zlib.createGzip()
  encoder.pipe(response, { end: false })
  encoder.write(`${ENDPOINTS.stream?.answer.split('\n\n')[0]}\n\n`)
  encoder.flush()
  damage = () => {
    damage = undefined
    response.end(Buffer.alloc(64, 255))
  }
})
/** Requests for vectors by target: `a` sends more bytes than the gateway reads. */
const vectorRequests: string[] = []
const largeUrl = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const [, target = ''] = request.url?.split('/') ?? []
  vectorRequests.push(target)
  response.writeHead(200, { 'content-type': 'application/json' })
  const spaces = Buffer.alloc(MIB, ' ')
  const chunks =
    target === 'a'
      ? Array.from({ length: 257 }, () => spaces)
      : [Buffer.from(ENDPOINTS.embeddings?.answer ?? '')]
  await pipeline(Readable.from(chunks), response).catch(() => {})
})
const names = Object.keys(ENDPOINTS)
const upstreamOf = (target: string, name: string): string =>
  `  ${target}-${name}: { url: '${url}/${target}/${name}', key: k, health: { failures: 1000000 }, formats: [${ENDPOINTS[name]?.format}] }\n`
const price = 'price: { calls: 5 }'
const ROUTES = `
pipeline: [errors, auth, model, meter, translate, embed]
upstreams:
  damaged: { url: '${damagedUrl}', key: k, formats: [openai-chat] }
  large-a: { url: '${largeUrl}/a', key: k, formats: [openai-embeddings] }
  large-b: { url: '${largeUrl}/b', key: k, formats: [openai-embeddings] }
${names.map(name => upstreamOf('a', name) + upstreamOf('b', name)).join('')}
models:
  large: { to: [large-a/m, large-b/m], ${price} }
  damaged: { to: [damaged/m, b-stream/m], price: { input: 1 / 1k, output: 1 / 1k }, output: 100 }
${names.map(name => `  both-${name}: { to: [a-${name}/m, b-${name}/m], ${price} }\n  alone-${name}: { to: a-${name}/m, ${price} }\n`).join('')}
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/embeddings, auth: key, model: body, embed: openai, errors: openai }
  - { path: POST /v1/images/generations, auth: key, model: body, translate: openai-images, errors: openai }
  - { path: POST /v1/rerank, auth: key, model: body, translate: cohere-rerank, errors: openai }
  - { path: POST /v1/moderations, auth: key, model: body, translate: openai-moderations, errors: openai }
  - { path: POST /v1/audio/speech, auth: key, model: body, translate: openai-speech, errors: openai }
`

let customer: Customer
t.before(async () => {
  customer = await prepareCustomer(ROUTES, 2_000_000_000_000n)
})
/** Holds of refused calls are released behind the response. */
const closedCharge = (response: Response) =>
  eventually(async () => {
    const charge = await chargeOf(response.headers.get('x-request-id'))
    return charge.state === 'open' ? undefined : charge
  })
const ask = async ({ path, body }: Endpoint, model: string) => {
  const response = await postTo(gateway.url + path, { model, ...body }, bearer(customer.key))
  const text = await response.text()
  const charge = await closedCharge(response)
  return { status: response.status, text, charge }
}

for (const [name, endpoint] of Object.entries(ENDPOINTS))
  for (const each of Object.keys(FAULTS) as Fault[])
    t.test(`undecodable answers: ${name}, ${each}`, async t => {
      fault = each
      requests = []
      const both = await ask(endpoint, `both-${name}`)
      t.equal(both.status, 200, both.text)
      t.same(requests, ['a', 'b'])
      t.match(both.charge, { state: 'settled', amount: 5_000_000_000 })
      requests = []
      const alone = await ask(endpoint, `alone-${name}`)
      t.equal(alone.status, 502, alone.text)
      t.match(
        alone.text,
        each === 'unknown' ? /was not asked for: snappy/ : /is not valid (gzip|br)/,
      )
      t.same(requests, ['a'])
      t.equal(alone.charge.state ?? 'released', 'released')
    })

t.test('undecodable answers: vectors above the limit are not asked of another target', async t => {
  const { status, text, charge } = await ask(ENDPOINTS.embeddings as Endpoint, 'large')
  t.equal(status, 502, text)
  t.same(vectorRequests, ['a'])
  t.equal(charge.state ?? 'released', 'released')
})

for (const path of ['/v1/chat/completions', '/v1/messages'])
  t.test(`undecodable answers: a stream damaged behind its first content, ${path}`, async t => {
    const response = await postTo(
      gateway.url + path,
      { ...turn, model: 'damaged', max_tokens: 50, stream: true },
      bearer(customer.key),
    )
    t.equal(response.headers.get('content-encoding'), null)
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      if (/Hello\./.test(text)) damage?.()
    }
    t.match(text, /Hello\./, 'passed on before the stream ends')
    t.match(text, /error/)
    t.notMatch(text, /\[DONE\]|message_stop/)
    const charge = await closedCharge(response)
    t.match(charge, { state: 'settled', uncollected: 0, estimated: 1 })
    t.ok(Number(charge.amount) > 0, 'charged for what was delivered')
  })
