/** Holds for tools with which a model reads more than its request has: at the context, as far as a
 *  target gets them; with a balance below that, at what is available. */
import t, { type Test } from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import {
  type Customer,
  chargeOf,
  postJson,
  prepareCustomer,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'

const PRICE = 'price: { input: 10 / 1M, output: 20 / 1M }'
const FORMATS = {
  chat: 'openai-chat',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'google-gemini',
  interactions: 'google-interactions',
  converse: 'bedrock-converse',
} as const
type Name = keyof typeof FORMATS
const CONTEXT = 200_000
const ROUTES = `
pipeline: [errors, auth, account, model, meter, translate]
upstreams:
${Object.entries(FORMATS)
  .map(([name, format]) => `  ${name}: { url: '${upstream.url}/s/${name}', formats: [${format}] }`)
  .join('\n')}
models:
${Object.keys(FORMATS)
  .map(name => `  ${name}: { to: ${name}/there, context: ${CONTEXT}, output: 8000, ${PRICE} }`)
  .join('\n')}
  either: { to: [converse/there, messages/there], context: ${CONTEXT}, output: 8000, ${PRICE} }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: 'POST /v1/responses', auth: key, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1/messages', auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/interactions', auth: key, model: body, translate: google-interactions, errors: google }
`
let customer: Customer
t.test('setup: routes and a funded account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000n * UNIT)
})

// ---------------------------------------------------------------- answers and requests

const OUTPUT = 10
const ANSWERS: Readonly<Record<Name, (input: number) => object>> = {
  chat: input => ({
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }],
    usage: { prompt_tokens: input, completion_tokens: OUTPUT, total_tokens: input + OUTPUT },
  }),
  responses: input => ({
    id: 'r',
    object: 'response',
    status: 'completed',
    output: [
      {
        type: 'message',
        id: 'd',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hi', annotations: [] }],
      },
    ],
    usage: { input_tokens: input, output_tokens: OUTPUT, total_tokens: input + OUTPUT },
  }),
  messages: input => ({
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'there',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: input, output_tokens: OUTPUT },
  }),
  gemini: input => ({
    candidates: [{ finishReason: 'STOP', content: { role: 'model', parts: [{ text: 'hi' }] } }],
    usageMetadata: {
      promptTokenCount: 10,
      toolUsePromptTokenCount: input - 10,
      candidatesTokenCount: OUTPUT,
    },
  }),
  interactions: input => ({
    id: 'i',
    status: 'completed',
    steps: [{ type: 'model_output', content: [{ type: 'text', text: 'hi' }] }],
    usage: {
      total_input_tokens: 10,
      total_tool_use_tokens: input - 10,
      total_output_tokens: OUTPUT,
    },
  }),
  converse: input => ({
    output: { message: { role: 'assistant', content: [{ text: 'hi' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: input, outputTokens: OUTPUT, totalTokens: input + OUTPUT },
  }),
}
const TURN = [{ role: 'user', content: 'hi' }]
/** A path and a body of each client format, without tools. */
const REQUESTS: Readonly<Partial<Record<Name, (model: string) => readonly [string, object]>>> = {
  chat: model => ['/v1/chat/completions', { model, max_tokens: 100, messages: TURN }],
  responses: model => ['/v1/responses', { model, max_output_tokens: 100, input: 'hi' }],
  messages: model => ['/v1/messages', { model, max_tokens: 100, messages: TURN }],
  gemini: model => [
    `/v1beta/models/${model}:generateContent`,
    {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { maxOutputTokens: 100 },
    },
  ],
  interactions: model => [
    '/v1beta/interactions',
    { model, input: 'hi', generation_config: { max_output_tokens: 100 } },
  ],
}
const SERVER = { type: 'url', url: 'https://mcp.example.com/sse', name: 'files' }
const MCP = {
  type: 'mcp',
  server_label: 'files',
  server_url: SERVER.url,
  require_approval: 'never',
}
/** Tools with which a model reads more than its request has, by client format. */
const READING: readonly (readonly [client: Name, members: object])[] = [
  ['chat', { web_search_options: {} }],
  ['chat', { search_parameters: { mode: 'auto' } }],
  ['chat', { enable_search: true }],
  ['chat', { plugins: [{ id: 'web' }] }],
  ['chat', { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] }],
  ...[
    MCP,
    { type: 'web_search' },
    { type: 'web_search_preview' },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'tool_of_tomorrow' },
  ].map(tool => ['responses', { tools: [tool] }] as const),
  ...[
    { type: 'web_search_20250305', name: 'web_search' },
    { type: 'web_fetch_20250910', name: 'web_fetch' },
    { type: 'code_execution_20250825', name: 'code_execution' },
  ].map(tool => ['messages', { tools: [tool] }] as const),
  ['messages', { mcp_servers: [SERVER] }],
  [
    'messages',
    { mcp_servers: [SERVER], tools: [{ type: 'mcp_toolset', mcp_server_name: 'files' }] },
  ],
  ...['googleSearch', 'urlContext', 'codeExecution', 'googleMaps'].map(
    key => ['gemini', { tools: [{ [key]: {} }] }] as const,
  ),
  ['gemini', { tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/1'] } }] }],
  ['gemini', { tools: { googleSearch: {} } }],
  ...[
    { type: 'google_search' },
    { type: 'url_context' },
    { type: 'code_execution' },
    { type: 'mcp_server', name: 'files', url: SERVER.url },
  ].map(tool => ['interactions', { tools: [tool] }] as const),
]
interface Call {
  readonly client: Name
  readonly model: string
  readonly script?: Name
  readonly members: object
  readonly input: number
  readonly key?: string
}
const call = async (t: Test, { client, model, members, input, key, ...rest }: Call) => {
  const script = rest.script ?? (model as Name)
  await upstream.script(script, [{ do: 'body' }, plain(ANSWERS[script](input))])
  const [path, request] = REQUESTS[client]?.(model) ?? ['', {}]
  const body = { ...request, ...members }
  const { response, text, id } = await postJson(key ?? customer.key, path, body)
  t.equal(response.status, 200, `${JSON.stringify(members)} ${text}`)
  return { row: await chargeOf(id), headers: response.headers, size: JSON.stringify(body).length }
}
const MOST = 190_000
/** Holds of few distinct sizes round the prompt up to 256 tokens. */
const isAtContext = (amount: unknown): boolean => {
  const more = Number(amount) - CONTEXT * 10_000 - 100 * 20_000
  return more >= 0 && more < 256 * 10_000
}
const checkRead = async (t: Test, order: Omit<Call, 'input'>): Promise<void> => {
  const { row } = await call(t, { ...order, input: MOST })
  const amount = MOST * 10_000 + OUTPUT * 20_000
  const title = `${order.client} to ${order.model} ${JSON.stringify(order.members)}`
  t.match(row, { state: 'settled', amount, uncollected: 0 }, title)
  t.ok(isAtContext(row.held), `${title}: ${row.held}`)
}
const FEW = 20
const checkBytes = async (t: Test, order: Omit<Call, 'input'>, definitions = 0) => {
  const { row, headers, size } = await call(t, { ...order, input: FEW })
  const title = `${order.client} to ${order.model} ${JSON.stringify(order.members)}`
  const tokens = (Number(row?.held) - 100 * 20_000) / 10_000 - size
  t.ok(tokens >= definitions && tokens <= definitions + 256, `${title}: ${tokens}`)
  t.match(row, { amount: FEW * 10_000 + OUTPUT * 20_000, uncollected: 0 })
  return headers
}

for (const client of Object.keys(REQUESTS) as Name[])
  t.test(`tools: what they read is held at the context, ${client}`, async t => {
    for (const [format, members] of READING)
      if (format === client) await checkRead(t, { client, model: client, members })
  })

const SCHEMA = { type: 'object', properties: { url: { type: 'string' } } }
t.test('tools: functions are held by their bytes', async t => {
  const about = { name: 'get', description: 'Opens a page', parameters: SCHEMA }
  for (const [client, members] of [
    ['chat', { tools: [{ type: 'function', function: about }] }],
    ['chat', { tools: [{ type: 'function', function: { ...about, name: 'web_search' } }] }],
    ['chat', { tools: [{ type: 'custom', custom: { name: 'grep' } }] }],
    ['chat', { functions: [about] }],
    [
      'responses',
      {
        tools: [
          { type: 'function', ...about },
          { type: 'custom', name: 'grep' },
        ],
      },
    ],
    [
      'responses',
      { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', ...about }] }] },
    ],
    ['messages', { tools: [{ name: 'bash', input_schema: SCHEMA }] }],
    ['messages', { tools: [{ type: 'custom', name: 'mcp', input_schema: SCHEMA }] }],
    ['gemini', { tools: [{ functionDeclarations: [about] }] }],
    ['gemini', { tools: [{ function_declarations: [about] }] }],
    ['interactions', { tools: [{ type: 'function', ...about }] }],
  ] as const)
    await checkBytes(t, { client, model: client, members })
})

t.test('tools: those that the client runs are held with a definition each', async t => {
  const computer = { name: 'computer', display_width_px: 9, display_height_px: 9 }
  for (const [client, ...tools] of [
    [
      'responses',
      { type: 'computer_use_preview', display_width: 9, display_height: 9, environment: 'browser' },
    ],
    ['responses', { type: 'local_shell' }, { type: 'apply_patch' }],
    ['messages', { type: 'computer_20250124', ...computer }],
    [
      'messages',
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      { type: 'memory_20250818', name: 'memory' },
    ],
    ['gemini', { computerUse: {} }],
  ] as const)
    await checkBytes(t, { client, model: client, members: { tools } }, tools.length * 4_000)
})

const ANTHROPIC_SEARCH = { type: 'web_search_20250305', name: 'web_search' }
t.test('tools in translation: one that the target gets is held at the context', async t => {
  for (const [client, model, members] of [
    ['chat', 'messages', { web_search_options: {} }],
    ['chat', 'gemini', { web_search_options: {} }],
    ['responses', 'messages', { tools: [{ type: 'web_search' }] }],
    ['responses', 'gemini', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
    ['responses', 'messages', { tools: [MCP] }],
    ['messages', 'responses', { mcp_servers: [SERVER] }],
    ['messages', 'gemini', { tools: [ANTHROPIC_SEARCH] }],
    ['gemini', 'messages', { tools: [{ googleSearch: {} }] }],
    ['gemini', 'interactions', { tools: [{ urlContext: {} }] }],
    ['interactions', 'gemini', { tools: [{ type: 'google_search' }] }],
  ] as const)
    await checkRead(t, { client, model, members })
})
t.test('tools in translation: one that no target gets is held by the bytes', async t => {
  for (const [client, model, members] of [
    ['chat', 'converse', { web_search_options: {} }],
    ['responses', 'converse', { tools: [{ type: 'web_search' }] }],
    ['messages', 'chat', { tools: [ANTHROPIC_SEARCH] }],
    ['gemini', 'converse', { tools: [{ googleSearch: {} }] }],
    ['interactions', 'chat', { tools: [{ type: 'google_search' }] }],
  ] as const) {
    const headers = await checkBytes(t, { client, model, members })
    t.ok(headers.get('x-tollgate-dropped'), `${client} to ${model} drops it`)
  }
})
t.test('tools in translation: one that some target gets is held at the context', async t => {
  const { row } = await call(t, {
    client: 'chat',
    model: 'either',
    script: 'converse',
    members: { web_search_options: {} },
    input: FEW,
  })
  t.ok(isAtContext(row.held), String(row.held))
})

// ---------------------------------------------------------------- a balance below the context

const SEARCH = {
  client: 'messages',
  model: 'messages',
  members: { tools: [ANTHROPIC_SEARCH] },
} as const
t.test('tools: with a balance below the context, what is available is held, and said', async t => {
  const poor = await prepareCustomer(ROUTES, UNIT / 2n)
  const { row, headers } = await call(t, { ...SEARCH, input: 3_000, key: poor.key })
  const covered = Number(headers.get('x-tollgate-input-covered'))
  t.ok(covered > 1_000 && covered < 50_000, String(covered))
  const amount = 3_000 * 10_000 + OUTPUT * 20_000
  t.match(row, { held: Number(UNIT / 2n), amount, uncollected: 0 })
})
t.test('tools: below the estimate the call is refused before it is sent', async t => {
  const poor = await prepareCustomer(ROUTES, UNIT / 1_000n)
  const [path, request] = REQUESTS.messages?.('messages') ?? ['', {}]
  const { response, text } = await postJson(poor.key, path, { ...request, ...SEARCH.members })
  t.equal(response.status, 403, text)
  t.match(text, /insufficient/i)
})
