/** Without a configured upstream, every shipped JSON route answers from the sandbox and marks its
 *  response. */
import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import type { Case } from '../../fixtures/upstream/cases/case.ts'
import { writePng } from '../../helpers/formats/png.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { assemble, NAME, runCase } from './sdk-cases.ts'

// No environment variables, as after a fresh installation.
const gateway = await startGateway()
t.teardown(() => gateway.stop())
const key = await gateway.key()
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: gateway.url } })

const rows = [Uint8Array.of(1, 2, 3, 255)]
const PIXEL = writePng({ width: 1, rows, type: 6, depth: 8, filters: [0] })
const CHAT = { messages: [{ role: 'user', content: 'Hello' }] }
const PARTS = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }
const CONTENT = { content: { parts: [{ text: 'Hello' }] } }
const EMBED = 'v1beta/models/gx-embedding-001'
const BODIES: readonly (readonly [path: string, body: object])[] = [
  ['v1/chat/completions', { model: 'gp-4.1', ...CHAT }],
  ...['gp-4o-image', 'dall-e-3', 'flux-1.1-pro', 'rc-v3', 'rc-v3-svg'].flatMap(
    model =>
      [
        ['v1/chat/completions', { model, ...CHAT }],
        ['v1/images/generations', { model, prompt: 'a cat' }],
      ] as const,
  ),
  ['v1/responses', { model: 'gp-4.1', input: 'Hello' }],
  ['v1/messages', { model: 'cl-sonnet-4-5', max_tokens: 64, ...CHAT }],
  ['v1/messages/count_tokens', { model: 'cl-sonnet-4-5', ...CHAT }],
  ['v1beta/models/gx-2.5-flash:generateContent', PARTS],
  ['v1beta/models/gx-2.5-flash:countTokens', PARTS],
  [`${EMBED}:embedContent`, CONTENT],
  [`${EMBED}:batchEmbedContents`, { requests: [CONTENT, CONTENT] }],
  ...['multimodal-embedding-v1', 'gp-embedding-3-small', 'gx-embedding-001'].map(
    model => ['v1/embeddings', { model, input: 'Hello' }] as const,
  ),
]

t.test('sandbox: answers every route and most models of each kind', async t => {
  for (const [path, body] of BODIES) {
    const name = `${path} ${'model' in body ? body.model : ''}`
    const response = await fetch(`${gateway.url}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    t.equal(response.status, 200, `${name} ${text.slice(0, 200)}`)
    // The gateway itself estimates token counts.
    const mark = /count/i.test(path) ? 'x-tollgate-estimated' : 'x-tollgate-sandbox'
    t.equal(response.headers.get(mark), 'true', name)
  }
})

t.test('sandbox: an image can be asked for as a task', async t => {
  const body = { model: 'gp-4o-image', prompt: 'a cat' }
  const headers = { prefer: 'respond-async' }
  const created = await openai.images.generate(body, { headers }).asResponse()
  const location = created.headers.get('location') ?? ''
  t.match(location, /^\/v1\/images\/generations\/\d{18}$/)
  t.match(
    { status: created.status, body: await created.json() },
    { status: 202, body: { id: String } },
  )
  const result = await eventually(async () => {
    const response = await openai.get(location.slice(3)).asResponse()
    return response.status === 202 ? undefined : ((await response.json()) as OpenAI.ImagesResponse)
  })
  t.ok(result.data?.[0]?.b64_json ?? result.data?.[0]?.url)
})

t.test('sandbox: official clients read embeddings and images', async t => {
  const model = 'gp-embedding-3-small'
  const { data, usage } = await openai.embeddings.create({
    model,
    input: ['a', 'b'],
    dimensions: 3,
  })
  t.same([data.map(({ embedding }) => embedding.length), usage.total_tokens > 0], [[3, 3], true])
  const floats = { model, input: 'a', dimensions: 3, encoding_format: 'float' } as const
  t.same((await openai.embeddings.create(floats)).data[0]?.embedding, data[0]?.embedding)
  const { embeddings } = await google.models.embedContent({
    model: 'gx-embedding-001',
    contents: 'a',
  })
  t.equal(embeddings?.[0]?.values?.length, 768)
  const image = await toFile(PIXEL, 'a.png', { type: 'image/png' })
  for (const model of ['gp-4o-image', 'rc-v3']) {
    const edit = await openai.images.edit({ model, image, prompt: 'x', n: 2 })
    t.equal(edit.data?.length, 2, model)
  }
  const stream = await openai.images.generate({ model: 'gp-4o-image', prompt: 'x', stream: true })
  for await (const event of stream) t.equal(event.type, 'image_generation.completed')
})

t.test('sandbox: official clients read chat answers, marked as sandbox', async t => {
  const names: string[] = []
  for await (const model of openai.models.list()) names.push(model.id)
  t.ok(names.includes(NAME))
  const plain: Case = { name: 'plain', body: '', sdk: {} }
  const tools = {
    tools: [
      {
        type: 'function',
        function: { name: 'weather', parameters: { type: 'object', properties: {} } },
      },
    ],
  }
  const usage = { stream_options: { include_usage: true } }
  const stream = { stream: true }
  const requests = [{}, stream, { ...stream, ...usage }, tools, { ...tools, ...stream }]
  for (const result of await Promise.all(
    requests.map(request => runCase(openai, { ...plain, request })),
  )) {
    t.equal(result.error, undefined)
    t.ok(result.sandbox, 'marked as sandbox')
    const { text, calls } = assemble(result.chunks)
    t.ok(text || calls?.length, 'an answer')
  }
})
