/** Requests are adapted to their upstream: its paths, query and body edits, for identical formats,
 *  translated requests, forms and direct calls. */
import t from 'tap'
import { ANSWER_OF_ALL_FORMATS } from '../../helpers/formats/plain-answers.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'

interface Received {
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}
const received: Received[] = []
const address = await startTextUpstream(t, (body, response, { url = '', headers }) => {
  received.push({ url, headers, body })
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(ANSWER_OF_ALL_FORMATS))
})

const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, form, model, translate, sandbox, adapt]
upstreams:
  az:
    url: ${address}/openai
    key: k
    auth: { header: api-key }
    formats: [openai-chat]
    paths: { openai-chat: '/deployments/{model}/chat/completions', openai-transcription: '/deployments/{model}/audio/{method}' }
    query: { api-version: 2024-10-21 }
  strict:
    url: ${address}/v1
    formats: [openai-chat]
    body: { rename: { max_completion_tokens: max_tokens }, drop: [store, stream_options], set: { safe: true } }
  vx:
    url: ${address}/v1/projects/p/locations/l
    formats: [google-gemini]
    paths:
      google-gemini: '/publishers/google/models/{model}:{method}'
      anthropic-messages: { plain: '/publishers/anthropic/models/{model}:rawPredict', stream: '/publishers/anthropic/models/{model}:streamRawPredict' }
    body: { anthropic-messages: { drop: [model], set: { anthropic_version: vertex-2023-10-16 } } }
  plain: { url: ${address}, formats: [openai-chat], paths: { /v1/chat/completions: /chat } }
  box: { url: 'sandbox:', formats: [openai-chat], paths: { openai-chat: /chat } }
models:
  az-4: { to: az/my-gpt }
  az-ear: { to: az/ear, only: [audio], traits: { formats: [openai-transcription] } }
  strict-1: { to: strict/large }
  gem: { to: vx/gemini-x }
  claude: { to: vx/claude-x@1, traits: { formats: [anthropic-messages] } }
  plain-1: { to: plain/m }
  box-1: { to: box/m }
routes:
  - { path: POST /v1/chat/completions, name: chat, model: body, translate: openai-chat, errors: openai }
  - { path: POST /strict, name: strict, model: body, translate: { format: openai-chat, strict: true }, rewrite: /v1/chat/completions, errors: openai }
  - { path: POST /unadapted, name: unadapted, model: body, translate: openai-chat, rewrite: /v1/chat/completions, adapt: false, errors: openai }
  - { path: POST /v1/messages, name: messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', name: gemini, model: { path: model }, translate: google-gemini, errors: google }
  - { path: POST /v1/audio/transcriptions, name: audio, form: { files: [file] }, model: body, translate: openai-transcription, errors: openai }
`,
})
t.teardown(() => gateway.stop())

const send = async (
  path: string,
  body: object | FormData,
  headers: Readonly<Record<string, string>> = {},
) => {
  received.length = 0
  const isForm = body instanceof FormData
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    body: isForm ? body : JSON.stringify(body),
    headers: { ...(!isForm && { 'content-type': 'application/json' }), ...headers },
  })
  await response.arrayBuffer()
  return { response, request: received[0] }
}
const messages = [{ role: 'user', content: 'hi' }]

t.test('adapt: fills the path of a deployment and adds fixed query parameters', async t => {
  const { response, request } = await send('/v1/chat/completions', { model: 'az-4', messages })
  t.equal(response.status, 200)
  t.equal(request?.url, '/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21')
  t.equal(request?.headers['api-key'], 'k')
})

t.test('adapt: edits bodies of identical formats and reports what it drops', async t => {
  const body = { model: 'strict-1', messages, store: true, max_completion_tokens: 7, seed: 1 }
  const { response, request } = await send('/v1/chat/completions', body)
  t.equal(
    request?.body,
    '{"model":"large","messages":[{"role":"user","content":"hi"}],"max_tokens":7,"seed":1,"safe":true}',
  )
  t.equal(Number(request?.headers['content-length']), request?.body.length)
  t.equal(response.headers.get('x-tollgate-dropped'), 'store')
})

t.test(
  'adapt: refuses a field that it would drop where the route or the client is strict',
  async t => {
    const body = { model: 'strict-1', messages, store: true }
    for (const [path, headers] of [
      ['/strict', {}],
      ['/v1/chat/completions', { 'x-tollgate-strict': 'true' }],
    ] as const) {
      const { response, request } = await send(path, body, headers)
      t.equal(response.status, 400)
      t.equal(request, undefined, 'not sent')
    }
  },
)

t.test('adapt: edits what translation writes', async t => {
  const { request } = await send('/v1/messages', { model: 'strict-1', max_tokens: 9, messages })
  const body = JSON.parse(request?.body ?? '')
  t.match(body, { model: 'large', max_tokens: 9, safe: true })
  t.notOk('max_completion_tokens' in body)
})

t.test('adapt: keeps method and query of a Gemini path', async t => {
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
  const { request } = await send('/v1beta/models/gem:streamGenerateContent?alt=sse', { contents })
  t.equal(
    request?.url,
    '/v1/projects/p/locations/l/publishers/google/models/gemini-x:streamGenerateContent?alt=sse',
  )
})

t.test('adapt: has edits for one format, and a path for streams', async t => {
  const base = '/v1/projects/p/locations/l/publishers/anthropic/models/claude-x%401'
  for (const [stream, method] of [
    [false, 'rawPredict'],
    [true, 'streamRawPredict'],
  ] as const) {
    const { request } = await send('/v1/messages', {
      model: 'claude',
      max_tokens: 9,
      messages,
      stream,
    })
    t.equal(request?.url, `${base}:${method}`)
    const body = JSON.parse(request?.body ?? '')
    t.equal(body.anthropic_version, 'vertex-2023-10-16')
    t.notOk('model' in body)
  }
  const gemini = await send('/v1/chat/completions', { model: 'gem', messages })
  t.notMatch(gemini.request?.body, /anthropic_version/)
})

t.test('adapt: a form gets the path, and its bytes stay', async t => {
  const form = new FormData()
  form.set('model', 'az-ear')
  form.set('file', new Blob(['RIFF']), 'a.wav')
  const { request } = await send('/v1/audio/transcriptions', form)
  t.equal(request?.url, '/openai/deployments/ear/audio/transcriptions?api-version=2024-10-21')
  t.match(request?.body, /name="model"\r\n\r\near\r\n/)
})

t.test(
  'adapt: a path of clients may be a key, a route may opt out, the sandbox is unaffected',
  async t => {
    const plain = await send('/v1/chat/completions', { model: 'plain-1', messages })
    t.equal(plain.request?.url, '/chat')
    const unadapted = await send('/unadapted', { model: 'strict-1', messages, store: true })
    t.match(unadapted.request?.body, /"store":true/)
    const sandbox = await send('/v1/chat/completions', { model: 'box-1', messages })
    t.equal(sandbox.response.status, 200)
  },
)
