/** Canned results of the sandbox: embeddings and images. */
import t from 'tap'
import type { Json, Stage } from '../../../engine/plugin.ts'
import { eventsIn } from '../../../plugins/formats/stream/sse.ts'
import sandbox from '../../../plugins/sandbox/index.ts'
import { readColours } from '../../helpers/formats/png.ts'
import {
  errorFrom,
  fakeAttempt,
  fakeExchange,
  fakeHost,
  readReply,
} from '../../helpers/gateway/fake-exchange.ts'

const upstreams = { gp: { inside: 'sandbox', options: {} } }
const url = (path: string): string => `https://gateway.example${path}`
const stage: Stage = sandbox.setup({}, { ...fakeHost({ upstreams }), url })

const ask = async (path: string, body: Json) => {
  const attempt = fakeAttempt(fakeExchange({ path, body }), { upstream: 'gp' })
  await stage.forward?.(attempt, attempt.next)
  const { status, headers } = attempt.reply
  const { text, bytes } = await readReply(attempt.reply)
  return { status, headers, text, bytes }
}
const norm = (vector: readonly number[]) => Math.hypot(...vector)

t.test('sandbox embeddings: are unit vectors, the same for the same text', async t => {
  const embed = async (body: Json, path = '/v1/embeddings') => {
    const { status, text, headers } = await ask(path, body)
    t.equal(headers['x-tollgate-sandbox'], 'true')
    return { status, ...JSON.parse(text) }
  }
  const both = await embed({ input: ['a', 'b'], dimensions: 8 })
  const [a, b] = both.data.map(({ embedding }: { embedding: number[] }) => embedding)
  t.equal(a.length, 8)
  t.ok(Math.abs(norm(a) - 1) < 1e-5 && Math.abs(norm(b) - 1) < 1e-5)
  t.notSame(a, b)
  t.match(both.usage, { prompt_tokens: Number, total_tokens: Number })
  const base64Answer = await embed({ input: 'a', dimensions: 8, encoding_format: 'base64' })
  const bytes = Buffer.from(base64Answer.data[0].embedding, 'base64')
  t.same([...new Float32Array(new Uint8Array(bytes).buffer)], a)
  t.equal((await embed({ input: [1, 2, 3] })).data.length, 1, 'tokens are one item')
  const content = { parts: [{ text: 'a' }] }
  const google = '/v1beta/models/g:batchEmbedContents'
  const { embeddings } = await embed({ requests: [{ content, outputDimensionality: 4 }] }, google)
  t.equal(embeddings[0].values.length, 4)
  const sizes = [4, 2].map(outputDimensionality => ({ content, outputDimensionality }))
  t.same(
    (await embed({ requests: sizes }, google)).embeddings.map(
      ({ values }: { values: number[] }) => values.length,
    ),
    [4, 2],
  )
  const { embedding } = await embed({ content }, '/v1beta/models/g:embedContent')
  t.equal(embedding.values.length, 768)
  for (const [model, size] of [
    ['multimodal-embedding-v1', 1_024],
    ['text-embedding-3-small', 1_536],
    ['text-embedding-3-large', 3_072],
    ['__proto__', 1_536],
  ] as const)
    t.equal((await embed({ model, input: 'a' })).data[0].embedding.length, size, model)
  const image = {
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${'A'.repeat(9_000)}` },
  }
  const mixed = await embed({ input: [{ type: 'text', text: 'a' }, image] })
  t.match(mixed, { data: { length: 2 }, usage: { prompt_tokens: 1_101 } }, 'an image is not text')
  for (const dimensions of [0, 1.5, 1e9])
    t.match(
      await errorFrom(() => embed({ input: 'a', dimensions })),
      { status: 400 },
      `${dimensions}`,
    )
})

t.test('sandbox rerank: sorts documents by the words that they share with the query', async t => {
  const documents = ['Bread is baked', { text: 'Rome is in Italy' }, 'Rome']
  const rerank = async (more: object = {}) => {
    const body = { model: 'r', query: 'where is rome', documents, ...more }
    return JSON.parse((await ask('/v1/rerank', body as Json)).text)
  }
  const { results, meta } = await rerank()
  t.same(
    results.map(({ index }: { index: number }) => index),
    [1, 0, 2],
  )
  t.match(results[0], { relevance_score: Number, document: undefined })
  t.same(meta.billed_units, { search_units: 1 })
  const top = await rerank({ top_n: 1, return_documents: true })
  t.match(top.results, [{ index: 1, document: { text: 'Rome is in Italy' } }])
  t.equal(top.results.length, 1)
  const many = await rerank({ documents: Array.from({ length: 101 }, () => 'a') })
  t.equal(many.meta.billed_units.search_units, 2)
})

t.test('sandbox moderations: has one result for each text, and one for typed parts', async t => {
  const moderate = async (input: Json) =>
    JSON.parse((await ask('/v1/moderations', { input })).text).results
  t.match(await moderate('hi'), [{ flagged: false, categories: { violence: false } }])
  t.match(await moderate('Violence!'), [{ flagged: true, categories: { violence: true } }])
  t.equal((await moderate(['a', 'b'])).length, 2)
  const image = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } }
  const [result, ...others] = await moderate([{ type: 'text', text: 'a' }, image])
  t.same(others, [])
  t.same(result.category_applied_input_types.hate, ['text', 'image'])
})

t.test('sandbox images: returns the requested number of images', async t => {
  const generate = async (body: Json, path = '/v1/images/generations') => {
    const { status, text } = await ask(path, body)
    return { status, ...JSON.parse(text) }
  }
  const { data, usage } = await generate({ prompt: 'x', n: 3, response_format: 'b64_json' })
  const images = data.map(({ b64_json }: { b64_json: string }) => Buffer.from(b64_json, 'base64'))
  t.equal(new Set(images.map(String)).size, 3)
  for (const png of images) {
    const { width, height, pixels } = readColours(png)
    t.same([width, height, pixels.length], [64, 64, 64 * 64 * 3])
  }
  t.match(usage, { input_tokens: 1, output_tokens: 48 })
  const colour = String.raw`^https://gateway\.example/sandbox/[0-9a-f]{6}\.`
  t.match((await generate({ prompt: 'x' })).data, [{ url: new RegExp(`${colour}png$`) }])
  t.match((await generate({ model: 'gpt-image-1' })).data, [{ b64_json: String }])
  t.match((await generate({ model: 'recraftv3_vector' })).data, [
    { url: new RegExp(`${colour}svg$`) },
  ])
  for (const n of [0, 11, 'many'])
    t.match(await errorFrom(() => generate({ n })), { status: 400 }, `${n}`)
  const stream = await ask('/v1/images/edits', { prompt: 'x', n: 2, stream: true })
  t.same(
    eventsIn(stream.bytes).map(({ name }) => name),
    ['image_edit.completed', 'image_edit.completed'],
  )
})
