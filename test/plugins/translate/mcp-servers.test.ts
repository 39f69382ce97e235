/** MCP servers, whose tools the provider calls: between Anthropic's and OpenAI's formats; refused
 *  at every other target. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { JSON_TYPE, SSE, translateAttempt } from '../../helpers/formats/translation.ts'

const MESSAGES = 'anthropic-messages'
const RESPONSES = 'openai-responses'
const CHAT = 'openai-chat'
const GEMINI = 'google-gemini'

const serverCall = {
  id: 'mcp_1',
  type: 'mcp_call',
  server_label: 'files',
  name: 'read',
  arguments: '{"path":"a"}',
  output: 'text of a',
}
const responsesAnswer = {
  headers: JSON_TYPE,
  body: JSON.stringify({
    status: 'completed',
    output: [
      serverCall,
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] },
    ],
  }),
}
const useBlock = {
  type: 'mcp_tool_use',
  id: 'mcptoolu_1',
  name: 'read',
  server_name: 'files',
  input: { path: 'a' },
}
const resultBlock = (is_error: boolean, text: string) => ({
  type: 'mcp_tool_result',
  tool_use_id: 'mcptoolu_1',
  is_error,
  content: [{ type: 'text', text }],
})
const messagesAnswer = {
  headers: JSON_TYPE,
  body: JSON.stringify({
    content: [useBlock, resultBlock(false, 'text of a'), { type: 'text', text: 'done' }],
    stop_reason: 'end_turn',
  }),
}

const server = { type: 'url', name: 'files', url: 'https://mcp.example/', authorization_token: 's' }
const toolset = { type: 'mcp_toolset', mcp_server_name: 'files' }
const messagesRequest = (more: object): Json =>
  ({
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
    mcp_servers: [server],
    ...more,
  }) as Json
const translated = {
  type: 'mcp',
  server_label: 'files',
  server_url: 'https://mcp.example/',
  authorization: 's',
  require_approval: 'never',
}

t.test('MCP servers: a server of an Anthropic client is sent to OpenAI (edge 38)', async t => {
  const cases: readonly (readonly [what: string, more: object, allowed?: readonly string[]])[] = [
    ['a toolset', { tools: [toolset] }],
    [
      'a toolset with chosen tools',
      {
        tools: [
          {
            ...toolset,
            default_config: { enabled: false },
            configs: { read: { enabled: true }, write: { enabled: false } },
          },
        ],
      },
      ['read'],
    ],
    ['no toolset', {}],
    [
      'no toolset, with chosen tools',
      { mcp_servers: [{ ...server, tool_configuration: { allowed_tools: ['read'] } }] },
      ['read'],
    ],
    [
      'no toolset, off',
      { mcp_servers: [{ ...server, tool_configuration: { enabled: false } }] },
      [],
    ],
  ]
  for (const [what, more, allowed] of cases) {
    const { upstreamRequest, reply, output } = await translateAttempt({
      client: MESSAGES,
      target: RESPONSES,
      body: messagesRequest(more),
      upstreamReply: responsesAnswer,
    })
    t.same(
      upstreamRequest.tools,
      [{ ...translated, ...(allowed && { allowed_tools: allowed }) }],
      what,
    )
    t.equal(reply?.headers['x-tollgate-dropped'], undefined, what)
    const { content } = JSON.parse(output?.text ?? '')
    const [use, result] = content.filter(({ type }: { type: string }) => type.startsWith('mcp'))
    t.match(use, { type: 'mcp_tool_use', name: 'read', server_name: 'files', input: { path: 'a' } })
    t.match(result, { tool_use_id: use.id, is_error: false, content: [{ text: 'text of a' }] })
  }
})
t.test('MCP servers: a server of a Responses client is sent to Anthropic (edge 38)', async t => {
  const mcp = { ...translated, server_description: 'My files.' }
  const cases: readonly (readonly [more: object, config: object])[] = [
    [{}, {}],
    [
      { allowed_tools: ['read'] },
      { default_config: { enabled: false }, configs: { read: { enabled: true } } },
    ],
    [
      { allowed_tools: { tool_names: ['read'] } },
      { default_config: { enabled: false }, configs: { read: { enabled: true } } },
    ],
  ]
  for (const [more, config] of cases) {
    const { attempt, upstreamRequest, reply, output } = await send({ ...mcp, ...more })
    t.same(upstreamRequest.mcp_servers, [server])
    t.same(upstreamRequest.tools, [{ ...toolset, ...config }])
    t.equal(attempt.request.headers['anthropic-beta'], 'mcp-client-2025-11-20')
    t.equal(reply?.headers['x-tollgate-dropped'], 'tools[0].server_description')
    t.match(JSON.parse(output?.text ?? ''), {
      output: [
        { type: 'mcp_call', server_label: 'files', name: 'read', arguments: '{"path":"a"}' },
        { type: 'message' },
      ],
    })
  }
})
const send = (tool: Json) =>
  translateAttempt({
    client: RESPONSES,
    target: MESSAGES,
    body: { input: 'hi', tools: [tool] },
    upstreamReply: messagesAnswer,
  })

t.test('MCP servers: what has no equivalent is a 400 that says why', async t => {
  const excluding = { ...toolset, configs: { write: { enabled: false } } }
  for (const [tool, message] of [
    [{ ...translated, require_approval: 'always' }, /'files'.*require_approval to "never"/],
    [{ ...translated, headers: { 'x-a': 'b' } }, /headers for the server/],
    [{ ...translated, allowed_tools: { read_only: true } }, /read_only/],
    [{ type: 'mcp', server_label: 'mail', connector_id: 'connector_gmail' }, /'mail'.*connectors/],
  ] as const)
    t.match((await send(tool)).fault, {
      code: 'TOOL_LIMITED',
      status: 400,
      param: 'tools',
      message,
    })
  const { fault } = await translateAttempt({
    client: MESSAGES,
    target: RESPONSES,
    body: messagesRequest({ tools: [excluding] }),
  })
  t.match(fault, { code: 'TOOL_LIMITED', message: /'files'.*excluded/ })
})
t.test('MCP servers: a target without them refuses the request', async t => {
  const cases: readonly (readonly [client: string, body: Json, target: string])[] = [
    [MESSAGES, messagesRequest({ tools: [toolset] }), CHAT],
    [MESSAGES, messagesRequest({}), GEMINI],
    [RESPONSES, { input: 'hi', tools: [translated] }, CHAT],
    [RESPONSES, { input: 'hi', tools: [translated] }, GEMINI],
    [RESPONSES, { input: 'hi', tools: [translated] }, 'openai-images'],
    [
      GEMINI,
      { contents: [{ parts: [{ text: 'Hi' }] }], tools: [{ mcpServers: [{ name: 'files' }] }] },
      CHAT,
    ],
    [
      GEMINI,
      { contents: [{ parts: [{ text: 'Hi' }] }], tools: [{ mcp_servers: [{ name: 'files' }] }] },
      MESSAGES,
    ],
  ]
  for (const [client, body, target] of cases) {
    const { fault } = await translateAttempt({ client, target, body })
    t.match(fault, { code: 'TOOL_UNSUPPORTED', status: 400 }, `${client} to ${target}`)
  }
})
t.test('MCP servers: their own format receives them unchanged', async t => {
  const pinned = { ...toolset, default_config: { defer_loading: true }, tools: [] }
  const excluding = { ...toolset, configs: { write: { enabled: false } } }
  const unknown = { ...toolset, mcp_server_name: 'other' }
  for (const tools of [[pinned], [excluding], [unknown], []] as const) {
    const body = messagesRequest({ tools })
    const { upstreamRequest, reply } = await translateAttempt({
      client: MESSAGES,
      target: MESSAGES,
      body,
      upstreamReply: messagesAnswer,
    })
    t.same(upstreamRequest.mcp_servers, [server])
    t.same(upstreamRequest.tools ?? [], tools)
    t.equal(reply?.headers['x-tollgate-dropped'], undefined)
  }
  const mcp = { ...translated, headers: { a: 'b' } }
  const { upstreamRequest } = await translateAttempt({
    client: RESPONSES,
    target: RESPONSES,
    body: { input: 'hi', tools: [mcp, translated] },
    upstreamReply: responsesAnswer,
  })
  t.same(upstreamRequest.tools, [mcp, translated])
})
t.test('MCP servers: an invalid server is a 400 that names its member', async t => {
  for (const [body, param] of [
    [messagesRequest({ mcp_servers: {} }), 'mcp_servers'],
    [messagesRequest({ mcp_servers: [{ type: 'url', name: 'a' }] }), 'mcp_servers[0].url'],
    [messagesRequest({ tools: [{ type: 'mcp_toolset' }] }), 'tools[0].mcp_server_name'],
  ] as const) {
    const { fault } = await translateAttempt({ client: MESSAGES, target: RESPONSES, body })
    t.match(fault, { status: 400, param })
  }
  const tool = { ...translated, allowed_tools: [1] }
  t.match((await send(tool)).fault, { status: 400, param: 'tools[0].allowed_tools[0]' })
})

const event = (data: Json): string => `data: ${JSON.stringify(data)}\n\n`
t.test('MCP servers: calls are translated in streams', async t => {
  const failed = resultBlock(true, 'no such file')
  const chunks = [
    event({ type: 'message_start', message: { id: 'm', usage: {} } }),
    event({ type: 'content_block_start', index: 0, content_block: { ...useBlock, input: {} } }),
    event({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"path":"a"}' },
    }),
    event({ type: 'content_block_stop', index: 0 }),
    event({ type: 'content_block_start', index: 1, content_block: failed }),
    event({ type: 'content_block_stop', index: 1 }),
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} }),
    event({ type: 'message_stop' }),
  ]
  const { output } = await translateAttempt({
    client: RESPONSES,
    target: MESSAGES,
    body: { input: 'hi', stream: true, tools: [translated] },
    upstreamReply: { headers: SSE, chunks },
  })
  const events = [...(output?.text ?? '').matchAll(/^data: (.*)$/gm)].map(([, data = '']) =>
    JSON.parse(data),
  )
  const ofType = (type: string) => events.find(each => each.type === type)
  t.match(ofType('response.output_item.added'), { item: { type: 'mcp_call', name: 'read' } })
  t.match(ofType('response.mcp_call_arguments.done'), { arguments: '{"path":"a"}' })
  t.ok(ofType('response.mcp_call.failed'))
  t.match(ofType('response.output_item.done'), {
    item: {
      status: 'failed',
      output: null,
      error: { type: 'mcp_tool_execution_error', content: [{ text: 'no such file' }] },
    },
  })
  const done = { type: 'response.output_item.done', output_index: 0, item: serverCall }
  const added = { type: 'response.output_item.added', output_index: 0, item: serverCall }
  const completed = {
    type: 'response.completed',
    response: { status: 'completed', output: [serverCall] },
  }
  const back = await translateAttempt({
    client: MESSAGES,
    target: RESPONSES,
    body: messagesRequest({ stream: true }),
    upstreamReply: { headers: SSE, chunks: [added, done, completed].map(event) },
  })
  const text = back.output?.text ?? ''
  t.match(text, /"type":"mcp_tool_use".*"name":"read","server_name":"files","input":\{\}/)
  t.match(text, /partial_json":"\{\\"path\\":\\"a\\"\}/)
  t.match(
    text,
    /"type":"mcp_tool_result","is_error":false,"content":\[\{"type":"text","text":"text of a"/,
  )
})

t.test('MCP servers: a forced call offers Anthropic nothing else', async t => {
  const own = { type: 'function', name: 'get', parameters: { type: 'object' } }
  for (const [name, configs] of [
    [undefined, undefined],
    ['read', { read: { enabled: true } }],
  ] as const) {
    const tool_choice = { type: 'mcp', server_label: 'files', ...(name && { name }) }
    const { upstreamRequest, reply } = await translateAttempt({
      client: RESPONSES,
      target: MESSAGES,
      body: { input: 'hi', tools: [own, translated], tool_choice } as Json,
      upstreamReply: messagesAnswer,
    })
    t.match(upstreamRequest.tools, [{ ...toolset, ...(configs && { configs }) }])
    t.equal((upstreamRequest.tools as readonly Json[]).length, 1)
    t.same(upstreamRequest.tool_choice, { type: 'any' })
    t.equal(reply?.headers['x-tollgate-dropped'], undefined)
  }
})
