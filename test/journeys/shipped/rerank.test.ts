/** Reranking and moderation through the shipped routes: bytes pass, and a call is charged by what
 *  the upstream reports. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { answers, checkCharge, errorOf, openai } from './audio.ts'
import { postWithKey, sentCalls, upstream } from './shipped-gateway.ts'

/** Nanos of a search unit: 2 USD for 1,000, at 7.2. */
const UNIT = 14_400_000
const request = {
  model: 'rerank-v3.5',
  query: 'Where is Rome?',
  documents: ['Rome is in Italy.', { text: 'Bread is baked.' }],
  top_n: 1,
  return_documents: true,
  max_chunks_per_doc: 4,
}
const answer = {
  id: 'r',
  results: [{ index: 0, relevance_score: 0.98, document: { text: 'Rome is in Italy.' } }],
  meta: { api_version: { version: '1' }, billed_units: { search_units: 1 } },
}
const rerank = (body: object, headers: object = {}) => postWithKey('/v1/rerank', body, headers)
const script = (body: object) => upstream.script('rr', [{ do: 'body' }, plain(body)])

t.test('rerank: bytes pass both ways, and the reported search units are charged', async t => {
  const text = JSON.stringify(answer, null, 1)
  await upstream.script('rr', answers('application/json', text))
  const response = await rerank(request)
  t.equal(await response.text(), text)
  const [upstreamRequest] = await upstream.events('request', 'rr')
  const [body] = await upstream.events('body', 'rr')
  t.equal(upstreamRequest?.head.target, '/s/rr/v1/rerank')
  t.match(upstreamRequest?.head.raw, /authorization: Bearer operators-cohere-key/i)
  t.equal(Buffer.from(body?.body.bytes ?? []).toString(), JSON.stringify(request))
  await checkCharge(t, response, UNIT, { search_units: 1 })

  const meta = { billed_units: { search_units: 3 } }
  await script({ ...answer, meta })
  const documents = Array.from({ length: 250 }, () => 'x')
  const more = await rerank({ ...request, documents })
  await more.text()
  await checkCharge(t, more, 3 * UNIT, { search_units: 3 })
})

t.test('rerank: without reported units they are counted by the documents', async t => {
  await script({ results: [], usage: { total_tokens: 12 } })
  const documents = Array.from({ length: 101 }, () => 'x')
  const response = await rerank({ ...request, documents })
  await response.text()
  await checkCharge(t, response, 2 * UNIT, { search_units: 2 }, 1)
})

t.test('rerank: errors of an upstream are written in the dialect of OpenAI', async t => {
  for (const [status, body, expected] of [
    ['400 Bad Request', { message: 'top_n is too large' }, 'top_n is too large'],
    ['422 Unprocessable', { detail: 'no such model' }, 'no such model'],
    ['429 Too Many Requests', { error: { message: 'slow down', type: 'x' } }, 'slow down'],
  ] as const) {
    await upstream.script('rr', answers('application/json', JSON.stringify(body), status))
    const response = await rerank(request)
    t.equal(response.status, Number(status.slice(0, 3)))
    t.match(await response.json(), { error: { message: expected, type: String } })
    t.equal(response.headers.get('x-tollgate-cost'), null, 'no charge')
  }
  await upstream.script('rr', answers('application/json', '{"message":"bad key"}', '401 No'))
  const refused = await rerank(request)
  t.equal(refused.status, 502)
  t.notMatch(await refused.text(), 'bad key')
})

t.test('rerank: refuses invalid requests without a call', async t => {
  const { query: _, ...withoutQuery } = request
  for (const body of [
    withoutQuery,
    { ...request, documents: [] },
    { ...request, documents: 'text' },
    { ...request, documents: [7] },
    { ...request, top_n: 0 },
    { ...request, return_documents: 'yes' },
  ]) {
    const response = await rerank(body)
    t.equal(response.status, 400)
    t.match(await response.json(), { error: { type: 'invalid_request_error', param: String } })
  }
  const chat = await rerank({ ...request, model: 'gp-4.1' })
  t.equal(chat.status, 404, 'a model of another kind')
  t.same(await sentCalls(), [])
})

const result = { flagged: true, categories: { violence: true }, category_scores: { violence: 0.9 } }
const moderation = { id: 'modr-1', model: 'omni-moderation-2024-09-26', results: [result] }

t.test(
  'moderations: the official SDK works, with and without a model, and is not charged',
  async t => {
    const inputs = ['I hit you', ['a', 'b'], [{ type: 'text', text: 'a' } as const]]
    for (const input of inputs)
      for (const model of [undefined, 'omni-moderation-latest']) {
        await upstream.forget()
        await upstream.script('gp', [{ do: 'body' }, plain(moderation)])
        const { data, response } = await openai.moderations
          .create({ input, ...(model !== undefined && { model }) })
          .withResponse()
        t.same(data, moderation)
        t.equal(Number(response.headers.get('x-tollgate-cost') ?? 0), 0)
        const [body] = await upstream.events('body', 'gp')
        t.same(JSON.parse(Buffer.from(body?.body.bytes ?? []).toString()).input, input)
      }
    const [upstreamRequest] = await upstream.events('request', 'gp')
    t.equal(upstreamRequest?.head.target, '/s/gp/v1/moderations')
  },
)

t.test('moderations: refuses invalid requests, and models of another kind', async t => {
  const refusalOf = (body: object) => errorOf(openai.moderations.create(body as never))
  t.match(await refusalOf({}), { status: 400, param: 'input' })
  t.match(await refusalOf({ input: 7 }), { status: 400 })
  t.match(await refusalOf({ input: [] }), { status: 400 })
  t.match(await refusalOf({ input: 'a', model: 'gp-4.1' }), { status: 404 })
  t.match(await refusalOf({ input: 'a', model: 'nosuch' }), {
    status: 404,
    code: 'model_not_found',
  })
  t.same(await sentCalls(), [])
})
