/** Without a configured upstream, every shipped JSON route answers from the sandbox and marks its
 *  response; official clients read its answers as they read a provider's. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import { type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import t from 'tap'
import { blockOf, sessionOf } from '../../docs/blocks.ts'
import type { Case } from '../../fixtures/upstream/cases/case.ts'
import { writePng } from '../../helpers/formats/png.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { assemble, NAME, runCase } from './sdk-cases.ts'

// No upstream is configured, as after a fresh installation. Its own files may be fetched.
const gateway = await startGateway({ env: { EGRESS_ALLOW: '127.0.0.1/32' } })
t.teardown(() => gateway.stop())
const key = await gateway.key()
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: gateway.url } })

const rows = [Uint8Array.of(1, 2, 3, 255)]
const PIXEL = writePng({ width: 1, rows, type: 6, depth: 8, filters: [0] })
const messages = [{ role: 'user', content: 'Hello' } as const]
const PARTS = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }
const CONTENT = { content: { parts: [{ text: 'Hello' }] } }
const EMBED = 'v1beta/models/gx-embedding-001'
const video = { type: 'image_url', image_url: { url: `${gateway.url}/sandbox/clip.mp4` } }
const chatText = (content: RegExp) => ({ choices: [{ message: { content } }] })
const preset = (name: string) => ({
  model: 'gx-2.5-flash',
  messages,
  tools: [{ type: 'function', function: { name, description: 'x' } }],
})
const FILE_URL = String.raw`http://127\.0\.0\.1:\d+/sandbox/[0-9a-f]{6}`
const NO_TOKENS = { usage: { prompt_tokens: 0 } }
const fileUrls = { data: [{ url: new RegExp(`^${FILE_URL}`) }] }

/** Path and body of a request, and a part of its answer. */
const REQUESTS: readonly (readonly [path: string, body: object, answer?: object])[] = [
  ['v1/chat/completions', { model: 'gp-4.1', messages }, chatText(/answering as gpt-4.1/)],
  [
    'v1beta/interactions',
    { model: 'gx-2.5-flash', input: 'Hello' },
    { steps: [{ type: 'model_output', content: [{ text: /answering as gemini-2.5-flash/ }] }] },
  ],
  ['v1/chat/completions', preset('gx_search'), chatText(/^A page .*You wrote: "Hello"/)],
  [
    'v1/chat/completions',
    preset('code_execution'),
    chatText(/^```python[\s\S]*The tool returned: "sandbox"/),
  ],
  [
    'v1/chat/completions',
    { model: 'gx-2.5-pro-preview-05-06', messages: [{ role: 'user', content: [video] }] },
    chatText(/^I see an inline MP4 video of \d+ bytes/),
  ],
  [
    'v1/chat/completions',
    { model: 'gp-4-gizmo-g-2Xy9', messages },
    chatText(/answering as gpt-4-gizmo-g-2Xy9/),
  ],
  ['v1/chat/completions', { model: 'gp-4o-image', messages }, chatText(/^!\[image\]\(.+\)$/)],
  ...['dall-e-3', 'flux-1.1-pro'].map(
    model =>
      [
        'v1/chat/completions',
        { model, messages },
        chatText(new RegExp(`^!\\[image\\]\\(${FILE_URL}\\.png\\)$`)),
      ] as const,
  ),
  [
    'v1/chat/completions',
    { model: 'rc-v3', messages },
    { ...chatText(new RegExp(`^${FILE_URL}\\.png$`)), ...NO_TOKENS },
  ],
  [
    'v1/chat/completions',
    { model: 'rc-v3-svg', messages, n: 2 },
    { ...chatText(new RegExp(`^${FILE_URL}\\.svg$`)), choices: { length: 2 } },
  ],
  ...['gp-4.1', 'cl-sonnet-4-5', 'gx-2.5-flash'].map(
    model =>
      [
        'v1/responses/compact',
        { model, input: 'Hello' },
        {
          object: 'response.compaction',
          output: [{ role: 'user' }, { type: 'compaction', encrypted_content: String }],
        },
      ] as const,
  ),
  ...['gp-4.1', 'cl-sonnet-4-5', 'gx-2.5-flash'].map(
    model =>
      [
        'v1/completions',
        { model, prompt: 'Hello', echo: true },
        { object: 'text_completion', choices: [{ text: /^Hello.*You wrote: "Hello"$/s }] },
      ] as const,
  ),
  [
    'v1/images/generations',
    { model: 'gp-4o-image', prompt: 'x' },
    { data: [{ b64_json: String }] },
  ],
  ...['dall-e-3', 'flux-1.1-pro', 'rc-v3', 'rc-v3-svg'].map(
    model => ['v1/images/generations', { model, prompt: 'a cat' }, fileUrls] as const,
  ),
  ...['gp-4.1', 'o3-pro', 'code-mini-latest'].map(
    model =>
      [
        'v1/responses',
        { model, input: messages },
        { output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text' }] }] },
      ] as const,
  ),
  ['v1/messages', { model: 'cl-sonnet-4-5', max_tokens: 64, messages }, { type: 'message' }],
  ['v1/messages/count_tokens', { model: 'cl-sonnet-4-5', messages }, { input_tokens: Number }],
  [
    `v1beta/models/gx-2.5-flash:generateContent?key=${key}`,
    PARTS,
    {
      candidates: [{ content: { role: 'model' }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { totalTokenCount: Number },
    },
  ],
  ['v1beta/models/gx-2.5-flash:countTokens', PARTS, { totalTokens: Number }],
  [`${EMBED}:embedContent`, CONTENT, { embedding: { values: { length: 3_072 } } }],
  [`${EMBED}:batchEmbedContents`, { requests: [CONTENT, CONTENT] }, { embeddings: { length: 2 } }],
  ...['gp-embedding-3-small', 'gx-embedding-001'].map(
    model => ['v1/embeddings', { model, input: 'Hello' }] as const,
  ),
  [
    'v1/embeddings',
    { model: 'multimodal-embedding-v1', input: { type: 'text', text: 'Hello' } },
    { data: [{ object: 'embedding', embedding: { length: 1_024 } }] },
  ],
]
const post = (path: string, body: object): Promise<Response> =>
  postTo(`${gateway.url}/${path}`, body, bearer(key))

t.test('sandbox: answers every route and most models of each kind', async t => {
  for (const [path, body, answer = {}] of REQUESTS) {
    const name = `${path.replace(key, '')} ${JSON.stringify(body).slice(0, 80)}`
    const response = await post(path, body)
    const text = await response.text()
    t.equal(response.status, 200, `${name} ${text.slice(0, 200)}`)
    t.match(JSON.parse(text), answer, name)
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
  const answer = await eventually(async () => {
    const response = await openai.get(location.slice(3)).asResponse()
    return response.status === 202 ? undefined : response
  })
  t.equal(answer.headers.get('x-tollgate-sandbox'), 'true', 'what the gateway said is kept')
  const result = (await answer.json()) as OpenAI.ImagesResponse
  t.ok(result.data?.[0]?.b64_json ?? result.data?.[0]?.url)
})

t.test('sandbox: the commands of docs/tasks.md make a clip and an image', async t => {
  const outputOf = async (command: string, id = '') => {
    const own = command.replace('127.0.0.1:8080', new URL(gateway.url).host)
    const env = { ...process.env, KEY: key, ID: id }
    return (await promisify(execFile)('bash', ['-c', own], { env })).stdout
  }
  const run = async (command: string, id = '') =>
    JSON.parse(await outputOf(command, id)) as Readonly<Record<string, unknown>>
  const commands = sessionOf('docs/tasks.md').match(/^curl (?:.*\\\n)*.*$/gm) ?? []
  const [createClip, query, imagine, fetchImage, speed, respondAsync = '', ...others] = commands
  t.same(others, [])
  const [clip, image] = [await run(createClip ?? ''), await run(imagine ?? '')]
  t.match(clip, { task_id: /^\d{18}$/, state: 'created' })
  t.match(image, { code: 1, description: '成功', result: /^\d{18}$/ })
  t.match(await outputOf(respondAsync), /^HTTP\/1\.1 202 [\s\S]*^location: /im)
  t.match(await run(speed ?? ''), { code: 1, result: { running: Number, capacity: 27 } })
  const end = (command = '', id: unknown = '') =>
    eventually(async () => {
      const json = await run(command, String(id))
      return /success/i.test(String(json.status ?? json.state)) ? json : undefined
    })
  const { creations } = (await end(query, clip.task_id)) as { creations: { url: string }[] }
  const { imageUrl, progress } = await end(fetchImage, image.result)
  t.equal(progress, '100%')
  for (const [url, type] of [
    [creations[0]?.url, 'video/mp4'],
    [imageUrl, 'image/png'],
  ] as const)
    t.equal((await fetch(String(url))).headers.get('content-type'), type)
})

t.test('sandbox: the commands of docs/batches.md run the requests of its file', async t => {
  const cwd = t.testdir({ 'lines.jsonl': blockOf('docs/batches.md', 'json').trim() })
  const session = sessionOf('docs/batches.md').replaceAll(
    '127.0.0.1:8080',
    new URL(gateway.url).host,
  )
  const env = { ...process.env, KEY: key }
  const { stdout } = await promisify(execFile)('bash', ['-c', session], { env, cwd })
  const [id = ''] = /\bbatch_\w+/.exec(stdout) ?? []
  t.match(stdout, /"object":"batch".*"object":"list"/s)
  const batch = await eventually(async () => {
    const latest = await openai.batches.retrieve(id)
    return latest.status === 'completed' && latest
  })
  t.match(batch.request_counts, { total: 1, completed: 1, failed: 0 })
})

t.test('sandbox: serves the files that its answers name', async t => {
  for (const [model, type] of [
    ['rc-v3', 'image/png'],
    ['rc-v3-svg', 'image/svg+xml'],
  ] as const) {
    const { data: images } = await openai.images.generate({ model, prompt: 'a cat' })
    const file = await fetch(images?.[0]?.url ?? '')
    t.same([file.status, file.headers.get('content-type')], [200, type])
    await file.arrayBuffer()
  }
})

// ---------------------------------------------------------------- thoughts

/** The parts of an answer that a client reads. */
interface ThoughtfulAnswer {
  readonly thought: string
  readonly text: string
  /** Whether the thought is signed; absent in formats without signatures. */
  readonly isSigned?: boolean
  readonly thoughtTokens: number | undefined
}
type Message = Anthropic.Message
const inMessage = ({ content, usage }: Message): ThoughtfulAnswer => {
  const [thought, text] = content
  if (thought?.type !== 'thinking' || text?.type !== 'text') throw new Error('another order')
  const { thinking_tokens: thoughtTokens } = usage.output_tokens_details ?? {}
  const isSigned = thought.signature.length > 50
  return { thought: thought.thinking, text: text.text, isSigned, thoughtTokens }
}
const inContents = (answers: readonly GenerateContentResponse[]): ThoughtfulAnswer => {
  const parts = answers.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
  const textOf = (isThought: boolean) =>
    parts.map(({ text = '', thought = false }) => (thought === isThought ? text : '')).join('')
  const { thoughtsTokenCount: thoughtTokens } = answers.at(-1)?.usageMetadata ?? {}
  return { thought: textOf(true), text: textOf(false), thoughtTokens }
}
const inResponse = ({ output, output_text: text, usage }: OpenAI.Responses.Response) => {
  const [item] = output
  const thought = item?.type === 'reasoning' ? (item.summary[0]?.text ?? '') : ''
  return { thought, text, thoughtTokens: usage?.output_tokens_details.reasoning_tokens }
}
type ReasoningMember = { readonly reasoning_content?: string }
const chatRequest = (model: string) => ({ model, messages: [...messages], reasoning_effort: null })
const inChat = async (model: string): Promise<ThoughtfulAnswer> => {
  const { choices, usage } = await openai.chat.completions.create(chatRequest(model))
  const message = choices[0]?.message
  return {
    thought: (message as ReasoningMember).reasoning_content ?? '',
    text: message?.content ?? '',
    thoughtTokens: usage?.completion_tokens_details?.reasoning_tokens,
  }
}
const inChatStream = async (model: string): Promise<ThoughtfulAnswer> => {
  const options = { stream: true, stream_options: { include_usage: true } } as const
  const stream = await openai.chat.completions.create({ ...chatRequest(model), ...options })
  let [thought, text, thoughtTokens]: [string, string, number | undefined] = ['', '', undefined]
  for await (const { choices, usage } of stream) {
    const delta = choices[0]?.delta
    thought += (delta as ReasoningMember | undefined)?.reasoning_content ?? ''
    text += delta?.content ?? ''
    thoughtTokens = usage?.completion_tokens_details?.reasoning_tokens ?? thoughtTokens
  }
  return { thought, text, thoughtTokens }
}
const thinking = { type: 'enabled', budget_tokens: 1_024 } as const
const claude = (model: string) => ({ model, max_tokens: 4_096, messages: [...messages] })
const gemini = {
  model: 'gx-2.5-pro',
  contents: 'Hello',
  config: { thinkingConfig: { includeThoughts: true } },
}
const reasoning = { model: 'o3-pro', input: 'Hello', reasoning: { summary: 'auto' } } as const
const listOf = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
const THINKING: Readonly<
  Record<string, { plain(): Promise<ThoughtfulAnswer>; streamed(): Promise<ThoughtfulAnswer> }>
> = {
  'messages with `thinking`': {
    plain: async () =>
      inMessage(await anthropic.messages.create({ ...claude('cl-sonnet-4-5'), thinking })),
    streamed: async () =>
      inMessage(
        await anthropic.messages.stream({ ...claude('cl-sonnet-4-5'), thinking }).finalMessage(),
      ),
  },
  'messages of a model that thinks by default': {
    plain: async () => inMessage(await anthropic.messages.create(claude('cl-opus-4-5-thinking'))),
    streamed: async () =>
      inMessage(await anthropic.messages.stream(claude('cl-opus-4-5-thinking')).finalMessage()),
  },
  'generateContent with includeThoughts': {
    plain: async () => inContents([await google.models.generateContent(gemini)]),
    streamed: async () =>
      inContents(await listOf(await google.models.generateContentStream(gemini))),
  },
  'responses with a summary': {
    plain: async () => inResponse(await openai.responses.create(reasoning)),
    streamed: async () => inResponse(await openai.responses.stream(reasoning).finalResponse()),
  },
  'chat with a -thinking model': {
    plain: () => inChat('cl-sonnet-4-5-thinking'),
    streamed: () => inChatStream('cl-sonnet-4-5-thinking'),
  },
}
t.test('sandbox: thinks where asked, plain and streamed', { jobs: 5 }, async t => {
  for (const [name, { plain, streamed }] of Object.entries(THINKING))
    t.test(`sandbox thoughts: ${name}`, async t => {
      const answer = await plain()
      t.match(answer, { thought: /It says: "Hello"$/, text: /You wrote: "Hello"$/ })
      t.ok(Number(answer.thoughtTokens) > 10, `${answer.thoughtTokens} tokens`)
      t.not(answer.isSigned, false)
      t.same(await streamed(), answer, 'the stream holds the same')
    })
})

// ---------------------------------------------------------------- hosted web search

/** The parts of an answer after a web search that a client reads, and the id of its request. */
interface SearchedAnswer {
  readonly id: string | null | undefined
  readonly call: object
  readonly citation: object | undefined
  /** The words that the page supports. */
  readonly cited: string | undefined
}
const search = { name: 'web_search', type: 'web_search_20250305' } as const
const searchResponse = async (type: 'web_search' | 'web_search_preview') => {
  const { data, request_id: id } = await openai.responses
    .create({ model: NAME, input: 'Hello', tools: [{ type }] })
    .withResponse()
  const [call, message] = data.output
  const [part] = message?.type === 'message' ? message.content : []
  const citation = part?.type === 'output_text' ? part.annotations[0] : undefined
  const isUrl = citation?.type === 'url_citation'
  const cited = isUrl && data.output_text.slice(citation.start_index, citation.end_index)
  return { id, call: call ?? {}, citation, cited: cited || undefined }
}
const searchChat = async (request: object): Promise<SearchedAnswer> => {
  const { data, request_id: id } = await openai.chat.completions
    .create(request as OpenAI.ChatCompletionCreateParamsNonStreaming)
    .withResponse()
  const message = data.choices[0]?.message
  const citation = message?.annotations?.[0]?.url_citation
  return { id, call: {}, citation, cited: message?.content?.slice(0, citation?.end_index) }
}
const page = { url: 'https://example.com/sandbox', title: String }
const SEARCHES: readonly {
  readonly name: string
  ask(): Promise<SearchedAnswer>
  readonly call?: object
  readonly citation: object
}[] = [
  ...(['web_search', 'web_search_preview'] as const).map(type => ({
    name: `responses with ${type}`,
    ask: () => searchResponse(type),
    call: { type: 'web_search_call', id: /^ws_/, status: 'completed', action: { query: 'Hello' } },
    citation: { type: 'url_citation', ...page },
  })),
  {
    name: 'chat with web_search_options',
    ask: () => searchChat({ model: NAME, messages, web_search_options: {} }),
    citation: page,
  },
  { name: 'chat with gx_search', ask: () => searchChat(preset('gx_search')), citation: page },
  {
    name: 'messages',
    ask: async () => {
      const { data, request_id: id } = await anthropic.messages
        .create({ ...claude('cl-sonnet-4-5'), tools: [search] })
        .withResponse()
      const text = data.content.find(block => block.type === 'text')
      const { content, usage } = data
      return { id, call: { content, usage }, citation: text?.citations?.[0], cited: text?.text }
    },
    call: {
      content: [
        {
          type: 'server_tool_use',
          id: /^srvtoolu_/,
          name: 'web_search',
          input: { query: 'Hello' },
        },
        { type: 'web_search_tool_result', content: [{ ...page, encrypted_content: /./ }] },
      ],
      usage: { server_tool_use: { web_search_requests: 1 } },
    },
    citation: { type: 'web_search_result_location', ...page, encrypted_index: /./ },
  },
  {
    name: 'generateContent with googleSearch',
    ask: async () => {
      const config = { tools: [{ googleSearch: {} }] }
      const answer = await google.models.generateContent({ ...gemini, config })
      const { webSearchQueries, groundingChunks, groundingSupports } =
        answer.candidates?.[0]?.groundingMetadata ?? {}
      return {
        id: answer.sdkHttpResponse?.headers?.['x-request-id'],
        call: { webSearchQueries },
        citation: groundingChunks?.[0]?.web,
        cited: groundingSupports?.[0]?.segment?.text,
      }
    },
    call: { webSearchQueries: ['Hello'] },
    citation: { uri: page.url, title: String },
  },
]
/** The receipt of a request, once its charge is closed. */
const settledReceipt = (id: string | null | undefined): Promise<object> =>
  eventually(async () => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${gateway.url}/api/usage/${id}`, { headers })
    const { data } = (await response.json()) as { readonly data: { readonly state: string } }
    return data.state === 'open' ? undefined : data
  })
t.test('sandbox: searches the web where asked, and the search is charged', async t => {
  for (const { name, ask, call = {}, citation } of SEARCHES) {
    const answer = await ask()
    t.match(answer, { call, citation, cited: /^A page of the sandbox says .*\. $/ }, name)
    const receipt = await settledReceipt(answer.id)
    t.match(receipt, { state: 'settled', estimated: false, usage: { web_search: 1 } }, name)
  }
})

t.test('sandbox: a stream announces the search before the message', async t => {
  const tools = [{ type: 'web_search' } as const]
  const stream = await openai.responses.create({ model: NAME, input: 'x', tools, stream: true })
  const events = (await listOf(stream)).map(({ type }) => type)
  const started = events.indexOf('response.web_search_call.in_progress')
  t.same(events.slice(started - 1, started + 4), [
    'response.output_item.added',
    'response.web_search_call.in_progress',
    'response.web_search_call.searching',
    'response.web_search_call.completed',
    'response.output_item.done',
  ])
  t.ok(events.indexOf('response.output_text.annotation.added') > started)
})

// ---------------------------------------------------------------- realtime

/** The types of the events of a response; `kind`: the events of its text. */
const responseTypes = (...kinds: readonly string[]) => [
  'response.created',
  'response.output_item.added',
  'conversation.item.added',
  'response.content_part.added',
  ...kinds.map(kind => `response.output_${kind}`),
  'response.content_part.done',
  'conversation.item.done',
  'response.output_item.done',
  'response.done',
]
t.test('sandbox: a realtime client talks in text and audio, and is charged', async t => {
  // The client requires TLS, which this gateway has not.
  const options = { createConnection: () => connect(gateway.port, '127.0.0.1') }
  const client = new OpenAIRealtimeWS({ model: 'gp-realtime', options }, openai)
  const events: { readonly type: string; readonly [member: string]: unknown }[] = []
  client.on('event', event => void events.push(event as never))
  const takeUntilDone = async () => {
    await new Promise<void>(resolve => client.on('response.done', () => resolve()))
    return events.splice(0)
  }
  /** Of several deltas in a row one. */
  const typesOf = (list: typeof events) =>
    list.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1])
  const opened = once(client.socket, 'open')
  const [{ headers }] = await once(client.socket, 'upgrade')
  await opened
  t.equal(headers['x-tollgate-sandbox'], 'true')
  const content = [{ type: 'input_text', text: 'Hello' } as const]
  const item = { type: 'message', role: 'user', content } as const
  client.send({
    type: 'session.update',
    session: { type: 'realtime', output_modalities: ['text'] },
  })
  client.send({ type: 'conversation.item.create', item })
  client.send({ type: 'response.create' })
  const text = await takeUntilDone()
  t.same(typesOf(text), [
    'session.created',
    'session.updated',
    'conversation.item.added',
    'conversation.item.done',
    ...responseTypes('text.delta', 'text.done'),
  ])
  t.match(
    text.find(({ type }) => type === 'response.output_text.done'),
    {
      text: /answering as gpt-realtime; .*You wrote: "Hello"$/,
    },
  )
  client.send({ type: 'response.create', response: { output_modalities: ['audio'] } })
  const audio = await takeUntilDone()
  t.same(
    typesOf(audio),
    responseTypes('audio_transcript.delta', 'audio.delta', 'audio.done', 'audio_transcript.done'),
  )
  const deltas = audio.filter(({ type }) => type === 'response.output_audio.delta')
  const sound = Buffer.concat(deltas.map(({ delta }) => Buffer.from(String(delta), 'base64')))
  t.equal(sound.length, 48_000, 'a second of 24 kHz, 16 bits')
  t.match(audio.at(-1), {
    response: { status: 'completed', usage: { output_token_details: { audio_tokens: 20 } } },
  })
  client.close()
  t.equal((await once(client.socket, 'close'))[0], 1_000)
  t.match(await settledReceipt(headers['x-request-id']), {
    state: 'settled',
    estimated: false,
    usage: { output: 28, audio_output: 20 },
  })
})

// ---------------------------------------------------------------- other clients

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
  t.equal(embeddings?.[0]?.values?.length, 3_072)
  const pixel = `data:image/png;base64,${Buffer.from(PIXEL).toString('base64')}`
  const input = [
    { type: 'text', text: 'a' },
    { type: 'image_url', image_url: { url: pixel } },
  ]
  const mixed = { model: 'multimodal-embedding-v1', input: input as unknown as string[] }
  const vectors = (await openai.embeddings.create(mixed)).data
  t.same(
    vectors.map(({ embedding }) => embedding.length),
    [1_024, 1_024],
  )
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

t.test('sandbox: official clients make and download a video', async t => {
  const { videos } = openai
  const image = await toFile(PIXEL, 'a.png')
  const creation = { model: 'vdq3', prompt: 'a cat', input_reference: image }
  const { data, response } = await videos.create(creation).withResponse()
  const { id } = data
  t.equal(response.headers.get('x-tollgate-sandbox'), 'true')
  await eventually(async () => (await videos.retrieve(id)).status === 'completed')
  const clip = await videos.downloadContent(id)
  t.equal(clip.headers.get('content-type'), 'video/mp4')
  const bytes = Buffer.from(await clip.arrayBuffer())
  t.equal(bytes.toString('latin1', 4, 8), 'ftyp')
  const size = bytes.length
  const ask = (method: string, path: string, range: string) =>
    fetch(`${gateway.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(range && { range }) },
    })
  for (const path of [`/v1/videos/${id}/content`, '/sandbox/clip.mp4']) {
    const part = await ask('GET', path, 'bytes=4-7')
    t.equal(part.status, 206)
    t.equal(part.headers.get('content-range'), `bytes 4-7/${size}`)
    t.equal(await part.text(), 'ftyp')
    const head = await ask('HEAD', path, '')
    t.equal(head.headers.get('content-length'), String(size), `${path}: the size`)
    const beyond = await ask('GET', path, `bytes=${size}-`)
    t.equal(beyond.status, 416)
    t.equal(beyond.headers.get('content-range'), `bytes */${size}`)
  }
  const cover = await videos.downloadContent(id, { variant: 'thumbnail' })
  t.equal(cover.headers.get('content-type'), 'image/png')
})

t.test('sandbox: what it does not support is an error in the dialect of the client', async t => {
  const response = await fetch(`${gateway.url}/upload/v1beta/files`, {
    method: 'POST',
    headers: { 'x-goog-api-key': key, 'x-goog-upload-protocol': 'resumable' },
    body: '{}',
  })
  t.equal(response.status, 501)
  t.equal(response.headers.get('x-tollgate-sandbox'), 'true')
  t.match(await response.json(), { error: { code: 501, status: String, message: /sandbox/ } })
})
