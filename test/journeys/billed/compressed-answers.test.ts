/** An upstream that compresses its answers without being asked: the client gets what it asked for,
 *  and pays for the usage in the decoded bytes, in every path. */
import zlib from 'node:zlib'
import t from 'tap'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
} from '../../helpers/money/billing-gateway.ts'

const ENCODERS = {
  gzip: zlib.gzipSync,
  deflate: zlib.deflateSync,
  br: zlib.brotliCompressSync,
  zstd: zlib.zstdCompressSync,
} as const
type Coding = keyof typeof ENCODERS

let coding: Coding = 'gzip'
let answer = { status: 200, type: 'application/json', body: '' }
const url = await startHttpUpstream(t, (request, response) => {
  request.resume()
  const body = ENCODERS[coding](answer.body)
  response.writeHead(answer.status, {
    'content-type': answer.type,
    'content-encoding': coding,
    'content-length': body.length,
  })
  response.end(body)
})
const ROUTES = `
pipeline: [errors, auth, model, meter, embed, translate]
upstreams:
  up: { url: '${url}', formats: [openai-chat] }
  vectors: { url: '${url}' }
models:
  words: { to: up, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 }
  vector: { to: vectors, price: { input: 1 / 1k } }
routes:
  - { path: POST /chat, auth: key, model: body, translate: openai-chat, errors: openai, rewrite: '/' }
  - { path: POST /messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic, rewrite: '/' }
  - { path: POST /embeddings, auth: key, model: body, embed: openai, errors: openai, rewrite: '/' }
`
let customer: Customer
t.before(async () => {
  customer = await prepareCustomer(ROUTES, 100_000_000_000n)
})
const ask = async (path: string, body: object, accept = 'identity') => {
  const response = await postTo(gateway.url + path, body, {
    ...bearer(customer.key),
    'accept-encoding': accept,
  })
  const text = await response.text()
  const id = response.headers.get('x-request-id') ?? ''
  const { status, headers } = response
  return { status, text, id, coding: headers.get('content-encoding') }
}
/** The usage and the mark of the charge of a request. */
const chargeOf = async (id: string) => {
  const [row] = await rows(`SELECT usage, estimated, state FROM charges WHERE request = '${id}'`)
  return row && { state: row.state, estimated: row.estimated, usage: JSON.parse(String(row.usage)) }
}
const USAGE = { prompt_tokens: 40, completion_tokens: 20, total_tokens: 60 }
const choice = (part: object, finish_reason: string | null) => ({
  id: 'c1',
  created: 1,
  model: 'words',
  choices: [{ index: 0, finish_reason, ...part }],
})
const WHOLE = JSON.stringify({
  ...choice({ message: { role: 'assistant', content: 'Hello. '.repeat(200) } }, 'stop'),
  object: 'chat.completion',
  usage: USAGE,
})
const STREAM = [
  ...Array.from({ length: 200 }, () => choice({ delta: { content: 'Hello. ' } }, null)),
  choice({ delta: {} }, 'stop'),
  { ...choice({}, null), choices: [], usage: USAGE },
]
  .map(each => `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...each })}\n\n`)
  .concat('data: [DONE]\n\n')
  .join('')

for (const each of Object.keys(ENCODERS) as Coding[])
  for (const path of ['/chat', '/messages'])
    for (const stream of [false, true])
      t.test(`compressed answers: ${each}, ${path}, stream ${stream}`, async t => {
        coding = each
        answer = stream
          ? { status: 200, type: 'text/event-stream', body: STREAM }
          : { status: 200, type: 'application/json', body: WHOLE }
        const messages = [{ role: 'user', content: 'word '.repeat(2_000) }]
        for (const accept of ['identity', `${each}, identity`]) {
          const reply = await ask(
            path,
            { model: 'words', max_tokens: 900, stream, messages },
            accept,
          )
          t.equal(reply.status, 200)
          t.match(reply.text, /Hello\. /)
          if (accept === 'identity') t.equal(reply.coding, null)
          t.match(await chargeOf(reply.id), {
            state: 'settled',
            estimated: 0,
            usage: { input: 40, output: 20 },
          })
        }
      })

t.test('compressed answers: embeddings are read', async t => {
  coding = 'br'
  const vectors = [{ object: 'embedding', index: 0, embedding: [0.5, 1] }]
  const usage = { prompt_tokens: 9, total_tokens: 9 }
  const body = JSON.stringify({ object: 'list', model: 'vector', data: vectors, usage })
  answer = { status: 200, type: 'application/json', body }
  const reply = await ask('/embeddings', { model: 'vector', input: 'Hello' })
  t.equal(reply.status, 200)
  t.match(JSON.parse(reply.text), { data: [{ embedding: [0.5, 1] }] })
  t.match(await chargeOf(reply.id), { estimated: 0, usage: { input: 9 } })
})

t.test('compressed answers: errors are read', async t => {
  coding = 'gzip'
  const error = { message: 'The input is too long.', type: 'invalid_request_error', param: null }
  answer = { status: 400, type: 'application/json', body: JSON.stringify({ error }) }
  const messages = [{ role: 'user', content: 'Hello' }]
  for (const path of ['/chat', '/messages']) {
    const reply = await ask(path, { model: 'words', max_tokens: 9, messages })
    t.equal(reply.status, 400)
    t.match(reply.text, /The input is too long\./)
    t.equal(reply.coding, null)
  }
  const key = { message: 'Incorrect API key provided: sk-1', code: 'invalid_api_key' }
  answer = { status: 401, type: 'application/json', body: JSON.stringify({ error: key }) }
  const refused = await ask('/chat', { model: 'words', max_tokens: 9, messages })
  t.equal(refused.status, 502, 'the key of the gateway is not blamed on the client')
  t.notMatch(refused.text, /sk-1/)
})

t.test('compressed answers: a damaged one is a 502 that costs nothing', async t => {
  coding = 'gzip'
  answer = { status: 200, type: 'application/json', body: WHOLE }
  const own = ENCODERS.gzip
  t.teardown(() => void Object.assign(ENCODERS, { gzip: own }))
  Object.assign(ENCODERS, { gzip: (text: string) => Buffer.from(text) })
  const messages = [{ role: 'user', content: 'Hello' }]
  for (const path of ['/chat', '/messages']) {
    const reply = await ask(path, { model: 'words', max_tokens: 9, messages })
    t.equal(reply.status, 502)
    t.match(reply.text, /is not valid gzip/)
    t.equal((await chargeOf(reply.id))?.state ?? 'released', 'released')
  }
})
