/** Charges for every part of a usage report, in plain answers and streams, passed through and
 *  translated. */
import t from 'tap'
import { plain, stream } from '../../fixtures/upstream/scenarios.ts'
import {
  type Customer,
  chargeOf,
  gateway,
  postJson,
  prepareCustomer,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'

const CHAT = 'openai-chat'
const ROUTES = `
pipeline: [errors, auth, account, model, meter, embed, translate]
upstreams:
  cl: { url: '${upstream.url}/s/cl', formats: [anthropic-messages] }
  gx: { url: '${upstream.url}/s/gx', formats: [google-gemini] }
  ms: { url: '${upstream.url}/s/ms/v1', formats: [openai-chat] }
  vo: { url: '${upstream.url}/s/vo/v1', formats: [openai-embeddings] }
models:
  claude: { to: cl/there, price: { input: 3 / 1M, output: 15 / 1M } }
  pictures: { to: gx/there, price: { input: 2 / 1M, output: 12 / 1M, image_output: 120 / 1M, cached: 1 / 1M, cached_image: 0.5 / 1M } }
  plain-pictures: { to: gx/there, price: { input: 2 / 1M, output: 12 / 1M } }
  kimi: { to: ms/there, price: { input: 4 / 1M, cached: 1 / 1M, output: 16 / 1M } }
  voyage: { to: vo/there, context: 32000, price: { input: 100 / 1M, image_input: 200 / 1M } }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: ${CHAT}, errors: openai }
  - { path: 'POST /v1/messages', auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1/embeddings', auth: key, model: body, embed: openai, errors: openai }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
`
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000n * UNIT)
})

const post = (path: string, body: object) => postJson(customer.key, path, body)
const metric = async (name: string) =>
  (await (await fetch(`${gateway.admin}/metrics`)).text())
    .split('\n')
    .filter(line => line.startsWith(name))
    .join('\n')
const sse = (events: readonly (readonly [name: string | undefined, data: object | string])[]) =>
  events
    .map(([name, data]) => {
      const text = typeof data === 'string' ? data : JSON.stringify(data)
      return `${name ? `event: ${name}\n` : ''}data: ${text}\n\n`
    })
    .join('')

const LARGE = 'x'.repeat(60_000)
const MESSAGES = [{ role: 'user', content: LARGE }]
const REQUEST = { max_tokens: 20_000, messages: MESSAGES }

// ---------------------------------------------------------------- iterations

const ITERATIONS = [
  { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 },
  { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
]
const COMPACTED = { input_tokens: 23_000, output_tokens: 1_000, iterations: ITERATIONS }
const message = (usage: object) => ({
  id: 'msg',
  type: 'message',
  role: 'assistant',
  model: 'there',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
})
const messageEvents = sse([
  [
    'message_start',
    {
      type: 'message_start',
      message: { ...message({ input_tokens: 23_000, output_tokens: 1 }), content: [] },
    },
  ],
  [
    'content_block_start',
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ],
  [
    'content_block_delta',
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  ],
  ['content_block_stop', { type: 'content_block_stop', index: 0 }],
  [
    'message_delta',
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: COMPACTED,
    },
  ],
  ['message_stop', { type: 'message_stop' }],
])
for (const path of ['/v1/messages', '/v1/chat/completions'])
  for (const isStream of [false, true])
    t.test(`iterations: all are charged, ${path}, ${isStream ? 'stream' : 'plain'}`, async t => {
      const steps = isStream ? stream(messageEvents, { piece: 200 }) : [plain(message(COMPACTED))]
      await upstream.script('cl', [{ do: 'body' }, ...steps])
      const { response, text } = await post(path, { ...REQUEST, model: 'claude', stream: isStream })
      t.equal(response.status, 200, text)
      t.match(await chargeOf(response.headers.get('x-request-id')), {
        state: 'settled',
        amount: (203_000 * 3 + 4_500 * 15) * 1_000,
        uncollected: 0,
        estimated: 0,
        usage: { input: 203_000, output: 4_500 },
      })
    })

// ---------------------------------------------------------------- output by modality

const GENERATED = {
  candidates: [
    {
      index: 0,
      finishReason: 'STOP',
      content: {
        role: 'model',
        parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }, { text: 'hi' }],
      },
    },
  ],
  modelVersion: 'there',
  responseId: 'r',
  usageMetadata: {
    promptTokenCount: 326,
    cachedContentTokenCount: 126,
    cacheTokensDetails: [
      { modality: 'IMAGE', tokenCount: 100 },
      { modality: 'TEXT', tokenCount: 26 },
    ],
    candidatesTokenCount: 2_340,
    thoughtsTokenCount: 337,
    candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 2_000 }],
    totalTokenCount: 3_003,
  },
}
const generatedEvents = sse([[undefined, GENERATED]])
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'draw' }] }] }
for (const isStream of [false, true]) {
  const verb = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  for (const [dialect, ask] of [
    ['google-gemini', (model: string) => post(`/v1beta/models/${model}:${verb}`, CONTENTS)],
    [
      CHAT,
      (model: string) => post('/v1/chat/completions', { ...REQUEST, model, stream: isStream }),
    ],
  ] as const)
    t.test(`output by modality: ${dialect}, ${isStream ? 'stream' : 'plain'}`, async t => {
      const steps = isStream ? stream(generatedEvents, { piece: 90 }) : [plain(GENERATED)]
      await upstream.script('gx', [{ do: 'body' }, ...steps])
      const { response, text } = await ask('pictures')
      t.equal(response.status, 200, text)
      t.match(await chargeOf(response.headers.get('x-request-id')), {
        state: 'settled',
        amount: (200 * 2 + 26 + 100 * 0.5 + 340 * 12 + 337 * 12 + 2_000 * 120) * 1_000,
        uncollected: 0,
        usage: {
          input: 200,
          cached: 26,
          cached_image: 100,
          output: 340,
          thinking: 337,
          image_output: 2_000,
        },
      })
      await upstream.script('gx', [{ do: 'body' }, ...steps])
      const bare = await ask('plain-pictures')
      t.match(await chargeOf(bare.response.headers.get('x-request-id')), {
        amount: (326 * 2 + 2_677 * 12) * 1_000,
      })
      const named = await metric('tollgate_unpriced_total')
      t.match(named, /model="plain-pictures",meter="image_output"/)
      t.notMatch(named, /model="plain-pictures",meter="cached_image"/, 'images cost what text does')
    })
}

// ---------------------------------------------------------------- usage in a choice

const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'there' }
const KIMI = { prompt_tokens: 2_989, completion_tokens: 500, cached_tokens: 2_989 }
const kimiChunks = (usage: object) => [
  {
    ...CHUNK,
    choices: [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: null }],
  },
  { ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...usage },
]
const inChoice = [
  kimiChunks({})[0] as object,
  { ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: KIMI }] },
]
for (const [what, chunks] of [
  ['a choice', inChoice],
  ['an extension', kimiChunks({ x_groq: { id: 'g', usage: KIMI } })],
] as const)
  for (const path of ['/v1/chat/completions', '/v1/messages'])
    t.test(`usage in ${what} of a stream: is charged, ${path}`, async t => {
      const events = sse([
        ...chunks.map(chunk => [undefined, chunk] as const),
        [undefined, '[DONE]'],
      ])
      await upstream.script('ms', [{ do: 'body' }, ...stream(events, { piece: 120 })])
      const { response, text } = await post(path, { ...REQUEST, model: 'kimi', stream: true })
      t.equal(response.status, 200, text)
      t.match(await chargeOf(response.headers.get('x-request-id')), {
        state: 'settled',
        amount: (2_989 + 500 * 16) * 1_000,
        estimated: 0,
        usage: { cached: 2_989, output: 500 },
      })
    })
for (const path of ['/v1/chat/completions', '/v1/messages'])
  t.test(`usage in a choice of a plain answer: is charged, ${path}`, async t => {
    const { id, created, model } = CHUNK
    const choice = {
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'hi' },
      usage: KIMI,
    }
    const answer = { id, created, model, object: 'chat.completion', choices: [choice] }
    await upstream.script('ms', [{ do: 'body' }, plain(answer)])
    const { response } = await post(path, { ...REQUEST, model: 'kimi' })
    t.match(await chargeOf(response.headers.get('x-request-id')), {
      amount: (2_989 + 500 * 16) * 1_000,
      estimated: 0,
    })
  })

t.test(
  'searches of a chat answer: its own count replaces one concluded from citations',
  async t => {
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://example.com' } }]
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      server_tool_use: { web_search_requests: 3 },
    }
    const message = { role: 'assistant', content: 'hi', annotations }
    const answer = { id: 'c', object: 'chat.completion', usage }
    const choices = [{ index: 0, finish_reason: 'stop', message }]
    const chunks = sse([
      [undefined, { ...CHUNK, choices: [{ index: 0, delta: message, finish_reason: 'stop' }] }],
      [undefined, { ...CHUNK, choices: [], usage }],
      [undefined, '[DONE]'],
    ])
    for (const steps of [[plain({ ...answer, choices })], stream(chunks)])
      for (const path of ['/v1/chat/completions', '/v1/messages']) {
        await upstream.script('ms', [{ do: 'body' }, ...steps])
        const request = { ...REQUEST, model: 'kimi', stream: steps.length > 1 }
        const tools =
          path === '/v1/messages'
            ? { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }
            : { web_search_options: {} }
        const { response, text } = await post(path, { ...request, ...tools })
        t.equal(response.status, 200, text)
        const { usage: charged } = await chargeOf(response.headers.get('x-request-id'))
        t.same(charged, { input: 1, output: 1, web_search: 3 })
      }
  },
)

// ---------------------------------------------------------------- embeddings

const VECTORS = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] }
for (const [what, report, usage] of [
  ['a total alone', { usage: { total_tokens: 50 } }, { input: 50 }],
  ['input tokens', { usage: { input_tokens: 50 } }, { input: 50 }],
  ['billed units', { meta: { billed_units: { input_tokens: 50 } } }, { input: 50 }],
  [
    'image tokens',
    { usage: { prompt_tokens: 50, prompt_tokens_details: { image_tokens: 30 } } },
    { input: 20, image_input: 30 },
  ],
] as const)
  t.test(`embeddings: charged by ${what}`, async t => {
    await upstream.script('vo', [{ do: 'body' }, plain({ ...VECTORS, ...report })])
    const { response, text } = await post('/v1/embeddings', { model: 'voyage', input: LARGE })
    t.equal(response.status, 200, text)
    const row = await chargeOf(response.headers.get('x-request-id'))
    t.match(row, { state: 'settled', estimated: 0, uncollected: 0 })
    t.same(row.usage, usage)
  })
t.test('embeddings: an estimate has no output', async t => {
  await upstream.script('vo', [{ do: 'body' }, plain(VECTORS)])
  const { response } = await post('/v1/embeddings', { model: 'voyage', input: 'hi there' })
  const row = await chargeOf(response.headers.get('x-request-id'))
  t.match(row, { state: 'settled', estimated: 1 })
  t.same(row.usage, { input: 2 })
})
