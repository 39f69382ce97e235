/** Embeddings through the official SDKs: every form of input, both encodings, both formats on both
 *  sides, and errors. */
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { createValidator } from '../../helpers/formats/sdk-validator.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'

type Body = Readonly<Record<string, unknown>>
const VECTOR = [0.5, -0.25, 1]
/** The requests that the upstream received, and its next answer. */
const requests: { path: string; body: Body }[] = []
let nextAnswer: ((path: string, body: Body) => { status?: number; body: unknown }) | undefined
const answer = (path: string, body: Body): { status?: number; body: unknown } => {
  if (nextAnswer) return nextAnswer(path, body)
  if (path.endsWith(':embedContent')) return { body: { embedding: { values: VECTOR } } }
  if (path.endsWith(':batchEmbedContents'))
    return { body: { embeddings: (body.requests as unknown[]).map(() => ({ values: VECTOR })) } }
  const input = body.input as unknown
  const count = Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1
  const row = (index: number) => ({ object: 'embedding', index, embedding: VECTOR })
  // In any order, because each has an index.
  const rows = Array.from({ length: count }, (_, index) => row(index)).reverse()
  return { body: { object: 'list', data: rows, usage: { prompt_tokens: 7, total_tokens: 7 } } }
}
const url = await startTextUpstream(t, (text, response, request) => {
  const body = JSON.parse(text) as Body
  const path = request.url ?? ''
  requests.push({ path, body })
  const { status = 200, body: answerBody } = answer(path, body)
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answerBody))
})
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, validate, model, embed]
upstreams:
  em: { url: '${url}', key: k }
  gx: { url: '${url}', key: k, embeddings: google, fetch: [image] }
  both: { url: '${url}', key: k, formats: [openai-chat] }
  only: { url: '${url}', key: k, formats: [google-embeddings] }
models:
  'any-*': { to: em/*, free: true }
  'all-*': { to: only/*, free: true }
  'own-*': { to: both/*, traits: { formats: [openai-embeddings] }, free: true }
  'chat-*': { to: both/*, free: true }
  multi: { to: em/multimodal-embedding-v1, free: true }
  gx-embedding: { to: gx/gemini-embedding-001, free: true }
routes:
  - { path: POST /v1/embeddings, model: body, embed: openai, errors: openai }
  - { path: POST /strict/embeddings, model: body, embed: { format: openai, strict: true }, errors: openai }
  - { path: 'POST /v1beta/models/{model}:embedContent', model: { path: model }, embed: google, errors: google }
  - { path: 'POST /v1beta/models/{model}:batchEmbedContents', model: { path: model }, embed: google, errors: google }
`,
})
t.teardown(() => gateway.stop())
t.afterEach(() => {
  requests.length = 0
  nextAnswer = undefined
})
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const google = new GoogleGenAI({
  apiKey: 'k',
  httpOptions: { baseUrl: gateway.url, apiVersion: 'v1beta', retryOptions: { attempts: 1 } },
})
const embed = (input: unknown, more: object = {}) =>
  openai.embeddings.create({ model: 'multi', input: input as string, ...more })
/** The error that the SDK's user catches. */
const errorOf = (call: Promise<unknown>): Promise<object> =>
  call.then(
    () => ({ accepted: true }),
    error => error as object,
  )
const vectors = (data: readonly { embedding: number[] }[]) =>
  data.map(({ embedding }) => [...embedding])

t.test('embeddings: one vector per text or list of tokens', async t => {
  for (const [input, count] of [
    ['hi', 1],
    [['a', 'b'], 2],
    [[1, 2, 3], 1],
    [[[1, 2], [3]], 2],
  ] as const) {
    const { data, usage, model } = await embed(input)
    t.same(vectors(data), Array(count).fill(VECTOR), JSON.stringify(input))
    t.same(
      data.map(({ index }) => index),
      Array.from({ length: count }, (_, index) => index),
    )
    t.match({ usage, model }, { usage: { prompt_tokens: 7 }, model: 'multi' })
  }
  t.same(
    requests.map(({ body }) => body.input),
    ['hi', ['a', 'b'], [1, 2, 3], [[1, 2], [3]]],
    'passed unchanged',
  )
})
t.test('embeddings: accept input objects with texts and images, in order', async t => {
  const text = { type: 'text', text: 'a cat' }
  const image = { type: 'image_url', image_url: { url: 'https://a.example/cat.png' } }
  t.equal((await embed(text)).data.length, 1)
  t.equal((await embed([text, image, text])).data.length, 3)
  t.same(requests[1]?.body.input, ['a cat', image, 'a cat'])
})
t.test('embeddings: return floats and base64 whatever the upstream sends', async t => {
  const judge = createValidator('embeddings')
  const ask = async (encoding?: string) => {
    const response = await postTo(`${gateway.url}/v1/embeddings`, {
      model: 'multi',
      input: 'x',
      encoding_format: encoding,
    })
    const body = (await response.json()) as { readonly data: readonly { embedding: unknown }[] }
    // Packed vectors are outside of the types; the SDK unpacks them.
    if (encoding !== 'base64') t.equal(judge.errorIn('answer', structuredClone(body)), undefined)
    return body.data[0]?.embedding
  }
  const encodedPayload = Buffer.from(new Float32Array(VECTOR).buffer).toString('base64')
  t.same(await ask(), VECTOR)
  t.equal(await ask('base64'), encodedPayload)
  nextAnswer = () => ({ body: { data: [{ index: 0, embedding: encodedPayload }] } })
  t.same(await ask('float'), VECTOR)
})
t.test('embeddings: pass dimensions on, to Google under another name', async t => {
  await embed('x', { dimensions: 3 })
  await openai.embeddings.create({ model: 'gx-embedding', input: 'x', dimensions: 3 })
  t.match(
    requests.map(({ body }) => body),
    [
      { dimensions: 3 },
      { requests: [{ outputDimensionality: 3, content: { parts: [{ text: 'x' }] } }] },
    ],
  )
  t.equal(requests[1]?.path, '/v1beta/models/gemini-embedding-001:batchEmbedContents')
})
t.test('embeddings: estimate missing usage and report it to the client', async t => {
  const { usage } = await embed(['four', 'letters'], { model: 'gx-embedding' })
  t.same(usage, { prompt_tokens: 3, total_tokens: 3 })
  t.equal((await embed('x')).usage.prompt_tokens, 7, 'the upstream’s own usage wins')
})
t.test('embeddings: the Google SDK works with both formats of upstreams', async t => {
  for (const model of ['gx-embedding', 'multi']) {
    const { embeddings } = await google.models.embedContent({ model, contents: ['a', 'b'] })
    t.same(
      embeddings?.map(({ values }) => values),
      [VECTOR, VECTOR],
      model,
    )
  }
  const response = await postTo(`${gateway.url}/v1beta/models/multi:embedContent`, {
    content: { parts: [{ text: 'a' }] },
    task_type: 'CLUSTERING',
  })
  t.equal(response.headers.get('x-tollgate-dropped'), 'task_type', 'in the client’s spelling')
  t.match(await response.json(), { embedding: { values: VECTOR } })
})
t.test('embeddings: reject images by private URL, and tokens for Google', async t => {
  const url = 'http://127.0.0.1:1/x.png'
  const image = { type: 'image_url', image_url: { url } }
  const ask = (input: unknown) =>
    openai.embeddings.create({ model: 'gx-embedding', input: input as string })
  t.match(await errorOf(ask([image])), { status: 400, param: 'input[0]' })
  t.match(await errorOf(ask([1, 2])), { status: 400, param: 'input' })
})
t.test('embeddings: name the invalid field', async t => {
  for (const [input, more, param] of [
    [undefined, {}, 'input'],
    [[], {}, 'input'],
    [[[1.5]], {}, 'input[0]'],
    [[{ type: 'smell' }], {}, 'input[0].type'],
    [[{ type: 'text' }], {}, 'input[0].text'],
    ['x', { encoding_format: 'hex' }, 'encoding_format'],
    ['x', { dimensions: 'many' }, 'dimensions'],
  ] as const)
    t.match(await errorOf(embed(input, more)), { status: 400, param }, param)
})
t.test('embeddings: report too few vectors, invalid bodies and errors of an upstream', async t => {
  nextAnswer = () => ({ body: { data: [{ index: 0, embedding: VECTOR }] } })
  t.match(await errorOf(embed(['a', 'b'])), { status: 502 })
  nextAnswer = () => ({ body: { data: [{ index: 0, embedding: [] }] } })
  t.match(await errorOf(embed('a')), { status: 502 })
  nextAnswer = () => ({ body: [] })
  t.match(await errorOf(embed('a')), { status: 502 })
  nextAnswer = () => ({
    status: 429,
    body: { error: { message: 'slowly', type: 'rate_limit_error' } },
  })
  t.match(await errorOf(embed('a')), { status: 429, message: /slowly/ })
  nextAnswer = () => ({ status: 401, body: { error: { message: 'sk-secret' } } })
  t.match(await errorOf(embed('a')), {
    status: 502,
    message: /The operator finds the details in the log/,
  })
})
t.test('embeddings: whole upstreams embed only if configured', async t => {
  const ask = (model: string) => openai.embeddings.create({ model, input: 'x' })
  for (const model of ['any-a', 'all-a', 'own-a']) t.equal((await ask(model)).data.length, 1, model)
  t.same(
    requests.map(({ path }) => path),
    ['/v1/embeddings', '/v1beta/models/a:batchEmbedContents', '/v1/embeddings'],
  )
  t.match(await errorOf(ask('chat-a')), { status: 404, code: 'model_not_found', param: 'model' })
  t.equal(requests.length, 3)
})
t.test('embeddings: a strict route rejects unsupported fields, others report them', async t => {
  const ask = (model: string, headers: Readonly<Record<string, string>> = {}) =>
    postTo(`${gateway.url}/strict/embeddings`, { model, input: 'x', user: 'ann' }, headers)
  const rejection = await ask('gx-embedding')
  t.equal(rejection.status, 400)
  t.match(await rejection.json(), {
    error: { param: 'user', message: /allows no field to be dropped/ },
  })
  t.equal(requests.length, 0)
  const lenient = await ask('gx-embedding', { 'x-tollgate-strict': 'false' })
  t.match([lenient.status, lenient.headers.get('x-tollgate-dropped')], [200, 'user'])
  t.equal((await ask('multi')).status, 200, 'no field is dropped')
})

t.test('embeddings: an image that is not base64 is refused where it is translated', async t => {
  const image_url = { url: 'data:image/png;base64,***' }
  const body = { model: 'gx-embedding', input: [{ type: 'image_url', image_url }] }
  const response = await postTo(`${gateway.url}/v1/embeddings`, body)
  t.equal(response.status, 400)
  t.match(await response.json(), { error: { type: 'invalid_request_error', message: /base64/ } })
  t.same(requests, [])
})
