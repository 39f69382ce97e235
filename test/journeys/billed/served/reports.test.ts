/** Attributes of a price that compatible upstreams report in members of their own: charged before
 *  the request's, held at the dearest that the request permits. */
import t, { type Test } from 'tap'
import { formatOf } from '../../../../plugins/formats/index.ts'
import { plain, stream } from '../../../fixtures/upstream/scenarios.ts'
import {
  type Customer,
  chargeOf,
  postJson,
  prepareCustomer,
  UNIT,
  units,
  upstream,
} from '../../../helpers/money/billing-gateway.ts'

const PRICE = `{ output: 0, input: [${[
  '{ price: 1 / 10, when: { service_tier: flex } }',
  '{ price: 4 / 10, when: { service_tier: priority } }',
  '2 / 10',
].join(', ')}] }`
const SEARCHES =
  '{ input: 0, output: 0, web_search: { by: search_context_size, price: { low: 5, medium: 8, high: 12 } } }'
const SIZES = 'context: 1000, output: 100'
const ROUTES = `
pipeline: [errors, auth, account, model, meter, embed, translate]
upstreams:
  chat: { url: '${upstream.url}/s/chat/v1', formats: [openai-chat] }
  responses: { url: '${upstream.url}/s/responses/v1', formats: [openai-responses] }
  gemini: { url: '${upstream.url}/s/gemini', formats: [google-gemini] }
  vectors: { url: '${upstream.url}/s/vectors/v1', formats: [openai-embeddings] }
  rank: { url: '${upstream.url}/s/rank/v1', formats: [cohere-rerank] }
  moderate: { url: '${upstream.url}/s/moderate/v1', formats: [openai-moderations] }
models:
${['chat', 'responses', 'gemini', 'vectors', 'rank', 'moderate']
  .map(name => `  ${name}: { to: ${name}/there, price: ${PRICE}, ${SIZES} }`)
  .join('\n')}
  standard: { to: chat/there, price: { input: 2 / 10, output: 0 }, ${SIZES} }
  sonar: { to: chat/there, price: ${SEARCHES}, max_calls: { web_search: 1 }, ${SIZES} }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: 'POST /v1/responses', auth: key, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1/embeddings', auth: key, model: body, embed: openai, errors: openai }
  - { path: 'POST /v1/rerank', auth: key, model: body, translate: cohere-rerank, errors: openai }
  - { path: 'POST /v1/moderations', auth: key, model: body, translate: openai-moderations, errors: openai }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
`
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000_000n * UNIT)
})
const ask = async (t: Test, path: string, body: object) => {
  const { response, text, id } = await postJson(customer.key, path, body)
  t.equal(response.status, 200, text)
  const row = await chargeOf(id)
  return { cost: units(row.amount), hold: units(row.held), row, headers: response.headers }
}

// ---------------------------------------------------------------- chat, plain and streamed

const USAGE = { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 }
interface Report {
  readonly usage?: object
  readonly [member: string]: unknown
}
const scriptChat = async ({ usage, ...members }: Report, isStream: boolean): Promise<void> => {
  const counts = { ...USAGE, ...usage }
  const base = { id: 'c', model: 'there', ...members }
  const choice = { index: 0, finish_reason: 'stop' }
  if (!isStream) {
    const message = { role: 'assistant', content: 'x' }
    return upstream.script('chat', [
      plain({
        ...base,
        object: 'chat.completion',
        choices: [{ ...choice, message }],
        usage: counts,
      }),
    ])
  }
  const object = 'chat.completion.chunk'
  const delta = { role: 'assistant', content: 'x' }
  const events = [
    { ...base, object, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...base, object, choices: [{ ...choice, delta: {} }] },
    { ...base, object, choices: [], usage: counts },
  ]
  const bytes = events.map(each => `data: ${JSON.stringify(each)}\n\n`).join('')
  return upstream.script('chat', stream(`${bytes}data: [DONE]\n\n`))
}
const TURN = [{ role: 'user', content: 'hi' }]
const chat = { model: 'chat', messages: TURN, max_tokens: 5 }
const traffic = (type: string) => ({ extra_properties: { google: { traffic_type: type } } })
const TIERS: readonly (readonly [wish: object, report: Report, cost: number])[] = [
  // Cerebras repeats the wish and names the served tier beside it.
  [{ service_tier: 'auto' }, { service_tier: 'auto', service_tier_used: 'priority' }, 4],
  [{ service_tier: 'auto' }, { service_tier: 'auto', service_tier_used: 'flex' }, 1],
  [{ service_tier: 'priority' }, { service_tier: 'priority', service_tier_used: 'default' }, 2],
  // A chained gateway: the member of the answer is open, that of the usage is not.
  [{ service_tier: 'auto' }, { service_tier: 'auto', usage: { service_tier: 'priority' } }, 4],
  // Vertex AI in the format of chat.
  [{}, { usage: traffic('ON_DEMAND_PRIORITY') }, 4],
  [{ service_tier: 'priority' }, { usage: traffic('ON_DEMAND') }, 2],
  [{ service_tier: 'flex' }, { usage: traffic('TRAFFIC_TYPE_UNSPECIFIED') }, 1],
  // Groq.
  [{ service_tier: 'flex' }, { service_tier: 'on_demand' }, 2],
  [{ service_tier: 'auto' }, { service_tier: 'flex', x_groq: { id: 'req' } }, 1],
]
for (const isStream of [false, true])
  t.test(`reports of tiers in chat: ${isStream ? 'streamed' : 'plain'}`, async t => {
    for (const [wish, report, cost] of TIERS) {
      await scriptChat(report, isStream)
      const served = await ask(t, '/v1/chat/completions', { ...chat, ...wish, stream: isStream })
      t.equal(served.cost, cost, JSON.stringify([wish, report]))
      t.match(served.row, { uncollected: 0 })
      t.ok(served.hold >= cost)
    }
  })
t.test(
  'tier of a provider that the model does not price: left out, named, cost as standard',
  async t => {
    for (const service_tier of ['performance', 'scale', 'reserved', 'fast', 'on_demand_priority']) {
      await scriptChat({ service_tier: 'default' }, false)
      const body = { ...chat, model: 'standard', service_tier }
      const { cost, headers } = await ask(t, '/v1/chat/completions', body)
      t.equal(cost, 2)
      t.equal(headers.get('x-tollgate-dropped'), 'service_tier', service_tier)
    }
  },
)

// ---------------------------------------------------------------- searches by their size

const size = (search_context_size: string) => ({ web_search_options: { search_context_size } })
const SEARCH: readonly (readonly [
  wish: object,
  report: string | undefined,
  cost: number,
  hold: number,
])[] = [
  [size('low'), undefined, 5, 5],
  [size('high'), undefined, 12, 12],
  [size('high'), 'low', 5, 12],
  [{ web_search_options: {} }, 'medium', 8, 12],
  [{ web_search_options: {} }, undefined, 12, 12],
]
for (const isStream of [false, true])
  t.test(`size of a search: ${isStream ? 'streamed' : 'plain'}`, async t => {
    for (const [wish, search_context_size, cost, hold] of SEARCH) {
      const usage = { num_search_queries: 1, ...(search_context_size && { search_context_size }) }
      await scriptChat({ usage }, isStream)
      const body = { ...chat, ...wish, model: 'sonar', stream: isStream }
      const served = await ask(t, '/v1/chat/completions', body)
      t.same([served.cost, served.hold], [cost, hold], JSON.stringify([wish, search_context_size]))
    }
  })

// ---------------------------------------------------------------- other formats

t.test('responses: a tier beside the counts, if the answer repeats the wish', async t => {
  const content = [{ type: 'output_text', text: 'x', annotations: [] }]
  const output = [{ type: 'message', id: 'm', status: 'completed', role: 'assistant', content }]
  const usage = { input_tokens: 10, output_tokens: 0, total_tokens: 10, service_tier: 'priority' }
  const answer = { id: 'r', object: 'response', status: 'completed', output, usage }
  await upstream.script('responses', [plain({ ...answer, service_tier: 'auto' })])
  const { cost } = await ask(t, '/v1/responses', { model: 'responses', input: 'hi' })
  t.equal(cost, 4)
})
t.test('gemini: the type of traffic, if the tier is open', async t => {
  const parts = [{ text: 'x' }]
  const answer = {
    candidates: [{ finishReason: 'STOP', content: { role: 'model', parts } }],
    usageMetadata: {
      promptTokenCount: 10,
      candidatesTokenCount: 0,
      serviceTier: 'unspecified',
      trafficType: 'ON_DEMAND_PRIORITY',
    },
  }
  await upstream.script('gemini', [plain(answer)])
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
  const body = { contents, generationConfig: { maxOutputTokens: 5 } }
  const { cost } = await ask(t, '/v1beta/models/gemini:generateContent', body)
  t.equal(cost, 4)
})
t.test('types of traffic: rows name the usual one as Google does', async t => {
  const { served } = formatOf('google-gemini') ?? {}
  for (const [trafficType, service_tier] of [
    ['ON_DEMAND', 'standard'],
    ['on_demand_flex', 'flex'],
    ['PROVISIONED_THROUGHPUT', 'provisioned'],
  ] as const)
    t.same(served?.read({ usageMetadata: { trafficType } }).attributes, { service_tier })
})
const SHORT: Readonly<Record<string, readonly [script: string, body: object, answer: object]>> = {
  '/v1/embeddings': [
    'vectors',
    { model: 'vectors', input: 'hi' },
    { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] },
  ],
  '/v1/rerank': [
    'rank',
    { model: 'rank', query: 'q', documents: ['a long document of several words'] },
    { id: 'k', results: [{ index: 0, relevance_score: 0.5 }] },
  ],
  '/v1/moderations': [
    'moderate',
    { model: 'moderate', input: 'a text of several words' },
    { id: 'm', results: [{ flagged: false, categories: {}, category_scores: {} }] },
  ],
}
for (const [path, [script, body, answer]] of Object.entries(SHORT))
  t.test(`reports of tiers: ${path}`, async t => {
    const usage = { prompt_tokens: 10, total_tokens: 10 }
    for (const [wish, report, cost] of [
      [{ service_tier: 'priority' }, { service_tier: 'default', usage }, 2],
      [{ service_tier: 'auto' }, { service_tier: 'priority', usage }, 4],
      [{ service_tier: 'auto' }, { usage: { ...usage, service_tier: 'flex' } }, 1],
      [{ service_tier: 'flex' }, { usage }, 1],
    ] as const) {
      // The member of its counts is `meta`.
      if (script === 'rank' && 'service_tier' in report.usage) continue
      await upstream.script(script, [{ do: 'body' }, plain({ ...answer, ...report })])
      const served = await ask(t, path, { ...body, ...wish })
      t.equal(served.cost, cost, JSON.stringify([wish, report]))
    }
  })
