/** Legacy completions by the official SDK: over a target of chat, plain and streamed, over one that
 *  has the endpoint itself, with what is refused and what is named. */
import OpenAI from 'openai'
import t from 'tap'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { createUsageRecorder } from '../../helpers/gateway/usage-recorder.ts'

const USAGE = {
  prompt_tokens: 9,
  completion_tokens: 4,
  total_tokens: 13,
  prompt_tokens_details: { cached_tokens: 3 },
}
const METERS = { input: 6, cached: 3, output: 4 }
const token = (text: string) => ({
  token: text,
  logprob: -0.5,
  bytes: null,
  top_logprobs: [{ token: 'Oslo', logprob: -2, bytes: null }],
})
const LOGPROBS = { content: [token('Rome'), token(' is old.')], refusal: null }
const facts = { id: 'up-1', created: 1_700_000_000, model: 'm-1' }
const choice = (content: string, logprobs: object | null) => ({
  index: 0,
  message: { role: 'assistant', content },
  logprobs,
  finish_reason: 'stop',
})
const chunk = (
  delta: object,
  finish_reason: string | null = null,
  logprobs: object | null = null,
) =>
  `data: ${JSON.stringify({ ...facts, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason, logprobs }] })}\n\n`
const counts = `data: ${JSON.stringify({ ...facts, choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`
const CHAT = {
  plain: {
    ...facts,
    object: 'chat.completion',
    choices: [choice('Rome is old.', LOGPROBS)],
    usage: USAGE,
  },
  events: [
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning_content: 'Hm.' }),
    chunk({ content: 'Rome' }, null, { content: [token('Rome')], refusal: null }),
    chunk({ content: ' is old.' }, null, { content: [token(' is old.')], refusal: null }),
    chunk({}, 'stop'),
    counts,
  ].join(''),
}
const legacy = (text: string, finish_reason: string | null = null) => ({
  ...facts,
  object: 'text_completion',
  choices: [{ index: 0, text, logprobs: null, finish_reason }],
})
const NATIVE = {
  plain: { ...legacy('Rome is old.', 'stop'), usage: USAGE },
  events: `${['Rome', ' is old.'].map(text => `data: ${JSON.stringify(legacy(text))}\n\n`).join('')}data: ${JSON.stringify(legacy('', 'stop'))}\n\n${counts}`,
}

interface UpstreamRequest {
  readonly path: string | undefined
  readonly body: Readonly<Record<string, unknown>>
}
const requests: UpstreamRequest[] = []
let nextAnswer: { readonly status: number; readonly text: string } | undefined
const url = await startTextUpstream(t, (requestText, response, request) => {
  const body = JSON.parse(requestText)
  requests.push({ path: request.url, body })
  const answer = request.url === '/v1/completions' ? NATIVE : CHAT
  const { status, text } = nextAnswer ?? {
    status: 200,
    text: body.stream ? answer.events : JSON.stringify(answer.plain),
  }
  nextAnswer = undefined
  const isStream = body.stream === true && status === 200
  response.writeHead(status, {
    'content-type': isStream ? 'text/event-stream' : 'application/json',
  })
  response.end(text)
})
const usages = createUsageRecorder()
const gateway = await startGateway({
  inside: true,
  files: { 'plugins/usage-recorder.ts': usages.file },
  routes: `
pipeline: [errors, validate, model, usage-recorder, translate, sandbox]
upstreams:
  chat: { url: '${url}', key: k, formats: [openai-chat] }
  native: { url: '${url}', key: k, formats: [openai-completions] }
  cl: { url: 'sandbox:', formats: [anthropic-messages] }
  gx: { url: 'sandbox:', formats: [google-gemini] }
  own: { url: 'sandbox:', formats: [openai-completions] }
models:
  chat: { to: chat/m-1, free: true }
  native: { to: native/m-1, free: true }
  cl: { to: cl/m-1, free: true, output: 1000 }
  gx: { to: gx/m-1, free: true }
  own: { to: own/m-1, free: true }
routes:
  - { path: POST /v1/completions, validate: ${new URL('../../../schemas/completions.json', import.meta.url).pathname}, model: body, translate: openai-completions, errors: openai }
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
`,
})
t.teardown(() => gateway.stop())
t.beforeEach(() => {
  requests.length = 0
  usages.clear()
})
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })

/** All texts of a stream, and its last usage. */
const streamed = async (body: Omit<OpenAI.CompletionCreateParamsStreaming, 'stream'>) => {
  const stream = await openai.completions.create({ ...body, stream: true })
  const chunks: OpenAI.Completion[] = []
  for await (const each of stream) chunks.push(each)
  return {
    text: chunks.map(({ choices }) => choices[0]?.text ?? '').join(''),
    chunks,
    reason: chunks.findLast(({ choices }) => choices[0]?.finish_reason)?.choices[0]?.finish_reason,
    usage: chunks.at(-1)?.usage,
  }
}

for (const model of ['chat', 'native'])
  t.test(`completions: a target of ${model} answers, plain and streamed`, async t => {
    const plain = await openai.completions.create({ model, prompt: 'Where?', max_tokens: 7 })
    t.match(plain, {
      object: 'text_completion',
      model,
      choices: [{ index: 0, text: 'Rome is old.', finish_reason: 'stop' }],
      usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
    })
    t.same(await usages.next(), { meters: METERS, estimated: false })
    const question =
      model === 'chat'
        ? { messages: [{ role: 'user', content: 'Where?' }], max_completion_tokens: 7 }
        : { prompt: 'Where?', max_tokens: 7 }
    t.match(requests[0], {
      path: model === 'chat' ? '/v1/chat/completions' : '/v1/completions',
      body: { model: 'm-1', ...question },
    })
    const silent = await streamed({ model, prompt: 'Where?' })
    t.match(silent, { text: 'Rome is old.', reason: 'stop' })
    t.notOk(silent.usage, 'no counts that the client did not ask for')
    t.same(await usages.next(), { meters: METERS, estimated: false })
    const counted = await streamed({
      model,
      prompt: ['Where?'],
      stream_options: { include_usage: true },
    })
    t.match(counted, { text: 'Rome is old.', usage: { total_tokens: 13 } })
  })

t.test('completions: settings reach a chat target; log probabilities come back', async t => {
  const settings = { temperature: 0.5, top_p: 0.9, n: 2, seed: 3, user: 'ann', stop: ['x'] }
  const body = { model: 'chat', prompt: 'Where?', ...settings, logprobs: 1 }
  const { choices } = await openai.completions.create(body)
  t.match(requests[0]?.body, { ...settings, logprobs: true, top_logprobs: 1 })
  const logprobs = {
    tokens: ['Rome', ' is old.'],
    token_logprobs: [-0.5, -0.5],
    top_logprobs: [{ Oslo: -2 }, { Oslo: -2 }],
    text_offset: [0, 4],
  }
  t.same(choices[0]?.logprobs, logprobs)
  const { chunks } = await streamed(body)
  const parts = chunks.flatMap(each => each.choices[0]?.logprobs ?? [])
  t.same(
    parts.map(each => each.text_offset),
    [[0], [4]],
  )
  await openai.completions.create({ ...body, n: null, logprobs: 0 })
  t.match(requests.at(-1)?.body, { logprobs: true })
  t.notOk('top_logprobs' in (requests.at(-1)?.body ?? {}))
})

t.test('completions: an echo begins each answer of a chat target', async t => {
  const body = { model: 'chat', prompt: 'Where? ', echo: true }
  t.match(await openai.completions.create(body), { choices: [{ text: 'Where? Rome is old.' }] })
  t.match(await streamed(body), { text: 'Where? Rome is old.' })
})

t.test('completions: the sandbox answers over targets of other formats', async t => {
  for (const model of ['cl', 'gx', 'own']) {
    const { choices } = await openai.completions.create({ model, prompt: 'Hello', max_tokens: 99 })
    t.match(choices[0]?.text, /You wrote: "Hello"/, model)
    t.equal((await streamed({ model, prompt: 'Hello' })).text, choices[0]?.text, model)
  }
})

t.test('completions: what a target lacks is named', async t => {
  const call = openai.completions.create({ model: 'chat', prompt: 'x', best_of: 3, n: 1 })
  const { response } = await call.withResponse()
  t.equal(response.headers.get('x-tollgate-dropped'), 'best_of')
  const strict = { headers: { 'x-tollgate-strict': 'true' } }
  const request = { model: 'cl', prompt: 'x', seed: 3, logprobs: 2 }
  const other = await openai.completions.create(request).withResponse()
  t.equal(other.response.headers.get('x-tollgate-dropped'), 'seed, logprobs')
  await t.rejects(openai.completions.create(request, strict), { status: 400, message: /seed/ })
})

const REFUSED: readonly (readonly [body: object, param: string, message: RegExp])[] = [
  [{ prompt: 'x', suffix: 'end' }, 'suffix', /only at the end/],
  [{ prompt: ['a', 'b'] }, 'prompt', /one text/],
  [{ prompt: [1, 2] }, 'prompt', /not tokens/],
  [{ prompt: [[1, 2]] }, 'prompt', /not tokens/],
  [{ prompt: '' }, 'prompt', /not empty/],
  [{}, 'prompt', /prompt/],
  [{ prompt: 'x', echo: true, logprobs: 1 }, 'logprobs', /echo/],
  [{ prompt: 'x', stream: 'yes' }, 'stream', /stream/],
  [{ prompt: 'x', logprobs: true }, 'logprobs', /logprobs/],
]
t.test('completions: what a chat target cannot do is refused by name', async t => {
  for (const [body, param, message] of REFUSED)
    await t.rejects(
      openai.completions.create({ model: 'chat', ...body } as never),
      { status: 400, param, message },
      JSON.stringify(body),
    )
  t.same(requests, [], 'nothing was sent')
  await openai.completions.create({ model: 'native', prompt: ['a', 'b'], suffix: 'x' })
  t.match(requests[0]?.body, { prompt: ['a', 'b'], suffix: 'x' }, 'its own endpoint gets all')
})

t.test('completions: a conversation is refused by a target of texts', async t => {
  const user = { role: 'user' as const, content: 'Where?' }
  const ask = (messages: OpenAI.ChatCompletionMessageParam[]) =>
    openai.chat.completions.create({ model: 'native', messages })
  t.match(await ask([user]), { choices: [{ message: { content: 'Rome is old.' } }] })
  t.match(requests[0], { path: '/v1/completions', body: { prompt: 'Where?' } })
  await t.rejects(ask([{ role: 'system', content: 'Be short.' }, user]), {
    status: 400,
    message: /one text/,
  })
})

t.test('completions: errors and broken streams are in the dialect of OpenAI', async t => {
  nextAnswer = { status: 429, text: '{"error":{"message":"slow down","type":"rate_limit_error"}}' }
  await t.rejects(openai.completions.create({ model: 'chat', prompt: 'x' }), {
    status: 429,
    message: /slow down/,
  })
  for (const [model, { events }] of [
    ['chat', CHAT],
    ['native', NATIVE],
  ] as const) {
    nextAnswer = { status: 200, text: events.slice(0, events.indexOf(' is old.')) }
    await t.rejects(streamed({ model, prompt: 'x' }), model)
  }
})
