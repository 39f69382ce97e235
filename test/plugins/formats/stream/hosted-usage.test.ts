/** Usage records contain the hosted tools of an answer, for pass-through and for translation: all
 *  recordings, and cases made here. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { offeredTools, offersHostedTools } from '../../../../plugins/formats/hosted-tools.ts'
import { USAGE } from '../../../../plugins/slots.ts'
import { type Recording, recordedFormat, recordings } from '../../../helpers/formats/recordings.ts'
import {
  JSON_TYPE,
  runTranslate,
  SSE,
  translateAttempt,
} from '../../../helpers/formats/translation.ts'
import { readReply } from '../../../helpers/gateway/fake-exchange.ts'

const HOSTED = [
  'web_search',
  'file_search',
  'code_execution',
  'x_search',
  'collections_search',
  'google_maps',
  'retrieval',
  'image_generation',
  'image_generation_input',
  'image_generation_output',
  'other_tools',
] as const
const CLIENTS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini'] as const

/** A request that offers the tool, in the shape of each format. */
const REQUESTS: Readonly<Record<string, { readonly [key: string]: Json }>> = {
  'openai-chat': {
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ type: 'web_search' }],
  },
  'openai-responses': { model: 'm', input: 'hi', tools: [{ type: 'web_search' }] },
  'anthropic-messages': {
    model: 'm',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
  },
  'google-gemini': { contents: [{ parts: [{ text: 'hi' }] }], tools: [{ googleSearch: {} }] },
}
const pathOf = (format: string): string =>
  format === 'google-gemini' ? '/v1beta/models/m:generateContent' : '/v1/x'

interface UpstreamAnswer {
  readonly format: string
  readonly body: string
  readonly stream?: boolean
  readonly traits?: { readonly [key: string]: Json }
  /** Replaces the recorded request. */
  readonly request?: { readonly [key: string]: Json }
  /** Bytes of each chunk. */
  readonly chunkSize?: number
}
const upstreamReply = ({ body, stream, chunkSize = 97 }: UpstreamAnswer) => {
  const bytes = Buffer.from(body)
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkSize) }, (_, index) =>
    bytes.subarray(index * chunkSize, (index + 1) * chunkSize),
  )
  return { headers: stream ? SSE : JSON_TYPE, chunks }
}
const hostedIn = (meters: Readonly<Record<string, number | undefined>> = {}) =>
  Object.fromEntries(HOSTED.flatMap(name => (meters[name] ? [[name, meters[name]]] : [])))

const passThrough = async (source: UpstreamAnswer) => {
  const { format, traits = {}, request = REQUESTS[format] ?? {} } = source
  const { attempt, exchange } = await runTranslate(upstreamReply(source), {
    format,
    body: request,
    path: pathOf(format),
    isParsed: true,
    target: { upstream: 'up', name: 'there', traits },
  })
  const { text } = await readReply(attempt.reply)
  return { text, hostedMeters: hostedIn(exchange.slots.get(USAGE)?.meters) }
}
const translate = async (source: UpstreamAnswer, client: string) => {
  const { format, traits = {} } = source
  // Tool names differ per format; only the offer matters here.
  const request = format === 'openai-chat' ? { ...REQUESTS[client], tools: [] } : REQUESTS[client]
  const body = { ...request, ...(format === 'openai-chat' && { web_search_options: {} }) }
  const { exchange } = await translateAttempt({
    client,
    target: format,
    body,
    path: pathOf(client),
    traits,
    upstreamReply: upstreamReply(source),
  })
  return hostedIn(exchange.slots.get(USAGE)?.meters)
}

// ---------------------------------------------------------------- recordings
// Counted without the gateway's codecs.

interface Fields {
  readonly type?: string
  readonly action?: { readonly type?: string }
  readonly item?: Fields
  readonly container_id?: string
  readonly environment?: { readonly container_id?: string }
}
const eventsOf = (body: string): Fields[] =>
  body
    .split(/\r?\n/)
    .filter(line => /^data: ?\{/.test(line))
    .map(line => JSON.parse(line.slice(5)))
const SEARCH_KINDS = { search: 'web_search', undefined: 'web_search' } as Record<string, string>
const KINDS: Record<string, string> = {
  file_search_call: 'file_search',
  code_interpreter_call: 'code_execution',
  image_generation_call: 'image_generation',
  x_search_call: 'x_search',
}
/** xAI's own numbers, which count what it bills. */
const reportedCalls = (body: string): Record<string, number> => {
  const details = /"server_side_tool_usage_details": ?(\{[^}]*\})/.exec(body)?.[1]
  if (!details) return {}
  const calls: Record<string, number> = JSON.parse(details)
  return {
    web_search: calls.web_search_calls ?? 0,
    x_search: calls.x_search_calls ?? 0,
    image_generation: calls.image_generation_calls ?? 0,
  }
}
const itemsOf = ({ stream, response_body: body }: Recording): Fields[] =>
  stream
    ? eventsOf(body).flatMap(each =>
        each.type === 'response.output_item.done' ? [each.item ?? {}] : [],
      )
    : (JSON.parse(body).output ?? [])
const expected: Readonly<Record<string, (recording: Recording) => object>> = {
  'openai-responses': recording => {
    const counts: Record<string, number> = {}
    const containers = new Set()
    for (const { type, action, container_id, environment } of itemsOf(recording)) {
      const container = container_id ?? environment?.container_id
      if (container && containers.has(container)) continue
      if (container) containers.add(container)
      const kind =
        type === 'web_search_call'
          ? SEARCH_KINDS[String(action?.type)]
          : type === 'shell_call' && container
            ? 'code_execution'
            : KINDS[String(type)]
      if (kind) counts[kind] = (counts[kind] ?? 0) + 1
    }
    const all = { ...counts, ...reportedCalls(recording.response_body) }
    return Object.fromEntries(Object.entries(all).filter(([, count]) => count > 0))
  },
  'google-gemini': ({ response_body: body }) => {
    const programs = body.match(/"executableCode": ?\{/g)?.length ?? 0
    const hasSearched = /"webSearchQueries": ?\[\s*"/.test(body)
    return {
      ...(hasSearched && { web_search: 1 }),
      ...(programs > 0 && { code_execution: programs }),
    }
  },
  'anthropic-messages': ({ response_body: body }) => {
    const all = [...body.matchAll(/"web_search_requests": ?(\d+)/g)]
    const last = Number(all.at(-1)?.[1] ?? 0)
    const hasContainer =
      /"name": ?"(?:\w+_)?code_execution"[^{}]*"type": ?"server_tool_use"|"type": ?"server_tool_use"[^}]*"name": ?"(?:\w+_)?code_execution"/.test(
        body,
      )
    return {
      ...(last > 0 && { web_search: last }),
      ...(hasContainer && { code_execution: 1 }),
    }
  },
  'openai-chat': ({ response_body: body }) =>
    /"type": ?"url_citation"/.test(body) ? { web_search: 1 } : {},
}

const recorded = recordings()
t.test(
  'hosted usage: matches the recordings',
  { skip: recorded === undefined && 'RECORDINGS is unset' },
  async t => {
    let recordingCount = 0
    for (const recording of recorded ?? []) {
      const format = recordedFormat(recording.format)
      const reader = format && expected[format]
      if (!format || !reader || recording.status !== 200) continue
      const expectedMeters = reader(recording)
      if (Object.keys(expectedMeters).length === 0) continue
      recordingCount++
      const source = { format, body: recording.response_body, stream: recording.stream }
      t.same((await passThrough(source)).hostedMeters, expectedMeters, `${recording.id} passes`)
      for (const client of CLIENTS)
        if (client !== format)
          t.same(await translate(source, client), expectedMeters, `${recording.id} to ${client}`)
    }
    t.ok(recordingCount >= 40, `${recordingCount} recordings with hosted tools`)
  },
)

// ---------------------------------------------------------------- cases made here

const search = (id: string, more: object = {}) => ({
  type: 'web_search_call',
  id,
  status: 'completed',
  action: { type: 'search' },
  ...more,
})
const response = (more: object) => ({ id: 'r', object: 'response', status: 'completed', ...more })
const doneEvent = (item: object, index: number) =>
  `event: response.output_item.done\ndata: ${JSON.stringify({ type: 'response.output_item.done', output_index: index, item })}\n\n`
const completedEvent = (more: object) =>
  `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: response(more) })}\n\n`
const usage = { input_tokens: 3, output_tokens: 2 }

t.test('hosted usage of responses: the upstream’s own count wins', async t => {
  const output = [search('a'), search('b')]
  const tool_usage = { web_search: { num_requests: 7 } }
  const format = 'openai-responses'
  const plain = JSON.stringify(response({ output, usage, tool_usage }))
  t.same((await passThrough({ format, body: plain })).hostedMeters, { web_search: 7 })
  const body = doneEvent(output[0] ?? {}, 0) + completedEvent({ output, usage, tool_usage })
  t.same((await passThrough({ format, body, stream: true, chunkSize: 1 })).hostedMeters, {
    web_search: 7,
  })
})
t.test('hosted usage of responses: each item counts once', async t => {
  const format = 'openai-responses'
  const both = doneEvent(search('a'), 0) + doneEvent(search('b'), 1)
  for (const output of [[], [search('b'), search('a')]]) {
    const { hostedMeters: meters, text } = await passThrough({
      format,
      body: both + completedEvent({ output }),
      stream: true,
    })
    t.same(meters, { web_search: 2 })
    t.ok(text.endsWith(completedEvent({ output })), 'pass-through')
  }
})
t.test('hosted usage of responses: failed calls and page visits are not counted', async t => {
  const output = [
    search('a', { status: 'failed' }),
    search('b', { action: { type: 'open_page' } }),
    { type: 'message', id: 'c', content: [{ type: 'output_text', text: '"web_search_call"' }] },
  ]
  const body = JSON.stringify(response({ output, usage }))
  t.same((await passThrough({ format: 'openai-responses', body })).hostedMeters, {})
})
t.test('hosted usage: a truncated stream counts the calls before the cut', async t => {
  const body = doneEvent(search('a'), 0) + doneEvent(search('b'), 1).slice(0, 60)
  const { hostedMeters: meters } = await passThrough({
    format: 'openai-responses',
    body,
    stream: true,
  })
  t.same(meters, { web_search: 1 })
})

const answerWithQueries = (...webSearchQueries: string[]) => ({
  candidates: [
    {
      content: { role: 'model', parts: [{ text: 'hi' }] },
      groundingMetadata: { webSearchQueries },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
})
t.test('hosted usage of Gemini: per answer, or per query by trait', async t => {
  const format = 'google-gemini'
  const body = JSON.stringify(answerWithQueries('one', 'two', ''))
  t.same((await passThrough({ format, body })).hostedMeters, { web_search: 1 })
  const traits = { search_unit: 'query' }
  t.same((await passThrough({ format, body, traits })).hostedMeters, { web_search: 2 })
  const list = `[${body},${body}]`
  t.same(
    (await passThrough({ format, body: list, traits })).hostedMeters,
    { web_search: 2 },
    'a JSON array of pieces',
  )
  const none = JSON.stringify(answerWithQueries())
  t.same(
    (await passThrough({ format, body: none })).hostedMeters,
    {},
    'no search is counted without a query',
  )
})
t.test('hosted usage of Anthropic: counts code executions', async t => {
  const content = [{ type: 'text', text: 'hi' }]
  const executions = { ...usage, server_tool_use: { code_execution_requests: 2 } }
  const body = JSON.stringify({
    id: 'm',
    type: 'message',
    role: 'assistant',
    content,
    usage: executions,
  })
  t.same((await passThrough({ format: 'anthropic-messages', body })).hostedMeters, {
    code_execution: 2,
  })
})

t.test('hosted usage: requests without hosted tools are not inspected', async t => {
  const request = { model: 'm', input: 'hi', tools: [{ type: 'function', name: 'f' }] }
  const body = JSON.stringify(response({ output: [search('a')], usage }))
  t.same(
    (await passThrough({ format: 'openai-responses', body, request: request })).hostedMeters,
    {},
  )
})
t.test('hosted tools: recognised in the requests of every format', async t => {
  const tools = (...list: Json[]) => ({ tools: list })
  for (const body of [
    tools({ type: 'web_search' }),
    tools({ googleSearch: {} }),
    { prompt: { id: 'p' } },
    tools({ functionDeclarations: [], codeExecution: {} }),
    { cachedContent: 'c' },
    { web_search_options: {} },
  ])
    t.ok(offersHostedTools(body), JSON.stringify(body))
  for (const body of [
    undefined,
    null,
    'text',
    [],
    {},
    { tools: 'none' },
    tools(null, 1),
    tools({ type: 'function' }, { type: 'custom' }),
    { prompt: null },
    tools({ functionDeclarations: [] }, { function_declarations: [] }),
  ])
    t.notOk(offersHostedTools(body), JSON.stringify(body))
})

t.test(
  'hosted tools: unknown ones are offered by their name, those of clients are not',
  async t => {
    const offered = (body: { readonly [key: string]: Json }) =>
      offeredTools(body).map(({ name, tool }) => [name, tool?.meters ?? 'unknown'])
    t.same(
      offered({
        tools: [
          {
            type: 'function',
            name: 'web_search',
            parameters: { type: 'object', properties: { q: {} } },
          },
          { type: 'function', function: { name: 'gx_search' } },
          { type: 'builtin_function', function: { name: '$web_search' } },
          { name: 'mine', input_schema: {} },
          { type: 'computer_20250124', name: 'computer' },
          { type: 'bash_20250124', name: 'bash' },
          { type: 'text_editor_20250728', name: 'x' },
          { type: 'memory_20250818', name: 'memory' },
          { type: 'web_fetch_20260318', name: 'web_fetch' },
          { type: 'shell', environment: { type: 'local' } },
          { type: 'shell', environment: { type: 'container_auto' } },
          { functionDeclarations: [], computerUse: {}, urlContext: {} },
          { googleMaps: {}, aToolOfNextYear: {} },
          { toolSpec: { name: 'f' } },
          { systemTool: { name: 'nova_grounding' } },
          { type: 'browse_2031' },
        ],
        input: [{ type: 'additional_tools', tools: [{ type: 'x_search' }] }, 'text'],
        search_parameters: { mode: 'off' },
        enable_search: true,
      }),
      [
        ['web_fetch_20260318', []],
        ['hosted_shell', ['code_execution']],
        ['urlContext', []],
        ['googleMaps', ['google_maps']],
        ['aToolOfNextYear', 'unknown'],
        ['nova_grounding', ['web_search']],
        ['browse_2031', 'unknown'],
        ['x_search', ['x_search']],
        ['enable_search', ['web_search']],
        ['gx_search', ['web_search']],
        ['$web_search', ['web_search']],
      ],
    )
  },
)
t.test('gemini: places and documents that ground an answer count once', async t => {
  const grounding = {
    groundingChunks: [{ maps: { placeId: 'a' } }, { maps: { placeId: 'b' } }],
    retrievalQueries: ['q', 'r'],
  }
  const parts = [{ toolCall: { toolType: 'A_TOOL_OF_NEXT_YEAR', id: 'n' } }, { text: 'hi' }]
  const body = JSON.stringify({
    candidates: [{ content: { parts }, finishReason: 'STOP', groundingMetadata: grounding }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
  })
  t.same((await passThrough({ format: 'google-gemini', body })).hostedMeters, {
    google_maps: 1,
    retrieval: 1,
    other_tools: 1,
  })
})
t.test('messages: a container of code and unknown tools are counted from their blocks', async t => {
  const use = (id: string, name: string) => ({ type: 'server_tool_use', id, name, input: {} })
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [
      use('a', 'bash_code_execution'),
      use('b', 'text_editor_code_execution'),
      use('c', 'browse_2031'),
      use('d', 'web_fetch'),
    ],
    usage: {
      input_tokens: 1,
      output_tokens: 1,
      server_tool_use: { web_search_requests: 0, web_fetch_requests: 1, sing_requests: 2 },
    },
  }
  const meters = async (more: object) =>
    (
      await passThrough({
        format: 'anthropic-messages',
        body: JSON.stringify({ ...message, ...more }),
      })
    ).hostedMeters
  t.same(await meters({}), { code_execution: 1, other_tools: 1 })
  t.same(await meters({ content: [], stop_reason: 'end_turn' }), { other_tools: 2 })
})
