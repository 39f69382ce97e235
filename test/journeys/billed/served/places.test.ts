/** The places of an answer that name the tier which served it: headers, later events, other
 *  spellings and other members. */
import t, { type Test } from 'tap'
import { plain, stream, text } from '../../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../../fixtures/upstream/script.ts'
import {
  type Customer,
  chargeOf,
  postJson,
  prepareCustomer,
  UNIT,
  units,
  upstream,
} from '../../../helpers/money/billing-gateway.ts'

const FORMATS = {
  chat: 'openai-chat',
  text: 'openai-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'google-gemini',
  interactions: 'google-interactions',
} as const
const PRICE = `{ output: 0, input: [${[
  '{ price: 1 / 10, when: { service_tier: flex } }',
  '{ price: 4 / 10, when: { service_tier: priority } }',
  '{ price: 6 / 10, when: { speed: [fast, optimized] } }',
  '2 / 10',
].join(', ')}] }`
const ROUTES = `
pipeline: [errors, auth, account, model, meter, translate]
upstreams:
${Object.entries(FORMATS)
  .map(([name, format]) => `  ${name}: { url: '${upstream.url}/s/${name}', formats: [${format}] }`)
  .join('\n')}
models:
${Object.keys(FORMATS)
  .map(name => `  ${name}: { to: ${name}/there, price: ${PRICE}, context: 10000, output: 100 }`)
  .join('\n')}
  plain: { to: gemini/there, price: { input: 2 / 10, output: 0 }, context: 10000, output: 100 }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: 'POST /v1/completions', auth: key, model: body, translate: openai-completions, errors: openai }
  - { path: 'POST /v1/responses', auth: key, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1/messages', auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/interactions', auth: key, model: body, translate: google-interactions, errors: google }
`
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000_000n * UNIT)
})
const costOf = async (t: Test, path: string, body: object): Promise<number> => {
  const { response, text, id } = await postJson(customer.key, path, body)
  t.equal(response.status, 200, text)
  return units((await chargeOf(id)).amount)
}
const eventsOf = (...events: readonly object[]): string =>
  events.map(each => `data: ${JSON.stringify(each)}\n\n`).join('')
const streamWith = (headers: string, bytes: string): Step[] => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
  return [text(`${head}${headers}content-length: ${bytes.length}\r\n\r\n${bytes}`)]
}

const TURN = [{ role: 'user', content: 'hi' }]
const chat = { model: 'chat', messages: TURN, max_tokens: 5 }
const messages = { ...chat, model: 'messages' }
const contents = {
  contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  generationConfig: { maxOutputTokens: 5 },
}
const interaction = { model: 'interactions', input: 'hi' }
const GENERATE = '/v1beta/models/gemini:generateContent'
const STREAM = '/v1beta/models/gemini:streamGenerateContent?alt=sse'

const geminiAnswer = (usage: object = {}) => ({
  responseId: 'g',
  candidates: [{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 0, totalTokenCount: 10, ...usage },
})
const interactionAnswer = {
  id: 'i',
  status: 'completed',
  steps: [{ type: 'model_output', content: [{ type: 'text', text: 'x' }] }],
  usage: { total_input_tokens: 10, total_output_tokens: 0, total_tokens: 10 },
}
const messageAnswer = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'x' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 0 },
}
const GOOGLE = 'x-gemini-service-tier'
const AMAZON = 'x-amzn-bedrock-service-tier'
for (const [header, script, path, request, answer, cost] of [
  [
    `${GOOGLE}: standard`,
    'gemini',
    GENERATE,
    { ...contents, serviceTier: 'priority' },
    geminiAnswer(),
    2,
  ],
  [`${GOOGLE}: priority`, 'gemini', GENERATE, contents, geminiAnswer(), 4],
  [`${GOOGLE}: flex`, 'gemini', STREAM, contents, geminiAnswer(), 1],
  [
    `${GOOGLE}: flex`,
    'gemini',
    '/v1/chat/completions',
    { ...chat, model: 'gemini', stream: true },
    geminiAnswer(),
    1,
  ],
  [
    `${GOOGLE}: standard`,
    'interactions',
    '/v1beta/interactions',
    { ...interaction, service_tier: 'priority' },
    interactionAnswer,
    2,
  ],
  [`${AMAZON}: priority`, 'messages', '/v1/messages', messages, messageAnswer, 4],
  [
    'x-amzn-bedrock-performanceconfig-latency: optimized',
    'messages',
    '/v1/messages',
    messages,
    messageAnswer,
    6,
  ],
  [`${GOOGLE}: priority`, 'gemini', GENERATE, contents, geminiAnswer({ serviceTier: 'flex' }), 1],
] as const)
  t.test(`header ${header}: decides the price of ${path}`, async t => {
    const isStream = path === STREAM || 'stream' in request
    const steps = isStream
      ? streamWith(`${header}\r\n`, eventsOf(answer))
      : [plain(answer, '200 OK', `${header}\r\n`)]
    await upstream.script(script, steps)
    t.equal(await costOf(t, path, request), cost)
  })

t.test('spelling of libraries: SERVICE_TIER_PRIORITY is priority', async t => {
  await upstream.script('gemini', [plain(geminiAnswer())])
  t.equal(await costOf(t, GENERATE, { ...contents, serviceTier: 'SERVICE_TIER_PRIORITY' }), 4)
  await upstream.script('gemini', [plain(geminiAnswer({ serviceTier: 'SERVICE_TIER_FLEX' }))])
  t.equal(await costOf(t, GENERATE, contents), 1)
  const standard = { ...contents, serviceTier: 'SERVICE_TIER_STANDARD' }
  const path = '/v1beta/models/plain:generateContent'
  const { response } = await postJson(customer.key, path, standard)
  t.equal(response.headers.get('x-tollgate-dropped'), null)
})

const usage = { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 }
t.test('legacy completions: the tier of the answer, plain and streamed', async t => {
  const choice = { index: 0, text: 'x', finish_reason: 'stop' }
  const answer = { id: 'c', object: 'text_completion', choices: [choice], usage }
  const request = { model: 'text', prompt: 'hi', max_tokens: 5 }
  await upstream.script('text', [plain({ ...answer, service_tier: 'default' })])
  t.equal(await costOf(t, '/v1/completions', { ...request, service_tier: 'priority' }), 2)
  const first = { ...answer, choices: [{ ...choice, finish_reason: null }], usage: null }
  const events = eventsOf(first, { ...answer, service_tier: 'priority' })
  await upstream.script('text', stream(`${events}data: [DONE]\n\n`))
  t.equal(await costOf(t, '/v1/completions', { ...request, stream: true }), 4)
})

t.test('chat stream: a later null does not take back the tier of a middle event', async t => {
  const chunk = (delta: object, service_tier: string | null, finish_reason: string | null = null) =>
    eventsOf({
      id: 'c',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason }],
      service_tier,
    })
  const chunks = [
    chunk({ role: 'assistant', content: '' }, null),
    chunk({ content: 'x' }, 'priority'),
    chunk({}, null, 'stop'),
    eventsOf({ id: 'c', object: 'chat.completion.chunk', choices: [], usage }),
    'data: [DONE]\n\n',
  ]
  let length = 0
  const cuts = chunks.map(each => (length += each.length))
  await upstream.script('chat', stream(chunks.join(''), { cuts }))
  t.equal(await costOf(t, '/v1/chat/completions', { ...chat, stream: true }), 4)
})

t.test('messages stream: the speed of the last event, in one read with the first', async t => {
  const usage = { input_tokens: 10, output_tokens: 0 }
  const events = [
    {
      type: 'message_start',
      message: { ...messageAnswer, content: [], usage: { ...usage, speed: 'standard' } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 0, speed: 'fast' },
    },
    { type: 'message_stop' },
  ]
  const bytes = events.map(each => `event: ${each.type}\n${eventsOf(each)}`).join('')
  await upstream.script('messages', streamWith('', bytes))
  t.equal(await costOf(t, '/v1/messages', { ...messages, stream: true }), 6)
})

t.test('responses: a tier that is in the counts', async t => {
  const output = [
    {
      type: 'message',
      id: 'm',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'x', annotations: [] }],
    },
  ]
  const counts = { input_tokens: 10, output_tokens: 0, total_tokens: 10, service_tier: 'priority' }
  const answer = { id: 'r', object: 'response', status: 'completed', output, usage: counts }
  await upstream.script('responses', [plain(answer)])
  t.equal(await costOf(t, '/v1/responses', { model: 'responses', input: 'hi' }), 4)
})
