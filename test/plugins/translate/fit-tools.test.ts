/** Tools of a request at a target: hosted tools that it cannot run, groups of functions, and names
 *  that it does not accept. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { USAGE } from '../../../plugins/slots.ts'
import { JSON_TYPE, SSE, translateAttempt } from '../../helpers/formats/translation.ts'

const HI = [{ role: 'user', content: 'Hi' }]
const CHAT = 'openai-chat'
const RESPONSES = 'openai-responses'
const MESSAGES = 'anthropic-messages'
const GEMINI = 'google-gemini'

/** An answer of each format that calls the tool `name` with the id `c1`. */
const CALLS: Readonly<Record<string, (name: string) => Json>> = {
  [CHAT]: name => ({
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: '{"a":1}' } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
  }),
  [RESPONSES]: name => ({
    status: 'completed',
    output: [{ type: 'function_call', id: 'fc', call_id: 'c1', name, arguments: '{"a":1}' }],
  }),
  [MESSAGES]: name => ({
    content: [{ type: 'tool_use', id: 'c1', name, input: { a: 1 } }],
    stop_reason: 'tool_use',
  }),
  [GEMINI]: name => ({
    candidates: [
      {
        content: { role: 'model', parts: [{ functionCall: { id: 'c1', name, args: { a: 1 } } }] },
        finishReason: 'STOP',
      },
    ],
  }),
}
const eventsOf = (target: string, name: string): string => {
  const event = (data: Json): string => `data: ${JSON.stringify(data)}\n\n`
  if (target === GEMINI) return event(CALLS[GEMINI]?.(name) ?? null)
  if (target === CHAT) {
    const call = { index: 0, id: 'c1', type: 'function', function: { name, arguments: '{"a":1}' } }
    const chunk = (delta: Json, reason: string | null): Json => ({
      choices: [{ index: 0, delta, finish_reason: reason }],
    })
    return `${event(chunk({ tool_calls: [call] }, null))}${event(chunk({}, 'tool_calls'))}data: [DONE]\n\n`
  }
  return [
    { type: 'message_start', message: { id: 'm', usage: {} } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c1', name } },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"a":1}' },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} },
    { type: 'message_stop' },
  ]
    .map(event)
    .join('')
}
const calling = (target: string, name: string) => ({
  headers: JSON_TYPE,
  body: JSON.stringify(CALLS[target]?.(name)),
})

/** The names of the functions in a request of any format. */
const declaredNames = (request: { readonly tools?: Json }): readonly string[] =>
  (Array.isArray(request.tools) ? request.tools : []).flatMap(tool => {
    const { functionDeclarations = [tool], ...rest } = Object(tool)
    const { function: declaration } = rest
    return functionDeclarations.map(
      (each: Json) => Object(declaration).name ?? Object(each).name ?? Object.keys(rest)[0],
    )
  })

// ---------------------------------------------------------------- hosted tools

const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }
const HOSTED = [{ type: 'web_search' }, { type: 'code_interpreter', container: { type: 'auto' } }]
const offering = { model: 'm', input: 'hi', tools: [look, ...HOSTED] }

t.test(
  'hosted tools: an offered tool that the target cannot run is left out (edge 36)',
  async t => {
    const { upstreamRequest, reply } = await translateAttempt({
      client: RESPONSES,
      target: CHAT,
      body: offering,
      upstreamReply: calling(CHAT, 'look'),
    })
    t.same(declaredNames(upstreamRequest), ['look'])
    t.equal(reply?.headers['x-tollgate-dropped'], 'tools[1].web_search, tools[2].code_interpreter')
  },
)
t.test('hosted tools: beside functions they are left out if a model does not mix them', async t => {
  const attempt = (traits: { readonly [trait: string]: Json }, more: object = {}) =>
    translateAttempt({
      client: RESPONSES,
      target: GEMINI,
      body: { ...offering, ...more } as Json,
      traits,
      upstreamReply: calling(GEMINI, 'look'),
    })
  const older = await attempt({})
  t.same(declaredNames(older.upstreamRequest), ['look'])
  t.match(older.reply?.headers['x-tollgate-dropped'], /^tools\[1\]\.web_search, tools\[2\]/)
  const newer = await attempt({ mixed_tools: true })
  t.same(declaredNames(newer.upstreamRequest), ['googleSearch', 'codeExecution', 'look'])
  const alone = await attempt({}, { tools: HOSTED })
  t.same(declaredNames(alone.upstreamRequest), ['googleSearch', 'codeExecution'])
  t.equal(alone.reply?.headers['x-tollgate-dropped'], undefined)
  const forced = await attempt({}, { tool_choice: { type: 'web_search' } })
  t.match(forced.fault, { code: 'TOOLS_MIXED', status: 400, message: /'web_search'/ })
})
t.test('hosted tools: one that was left out is not counted', async t => {
  const citation = { url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 }
  const message = {
    role: 'assistant',
    content: 'a',
    annotations: [{ type: 'url_citation', url_citation: citation }],
  }
  const answer = {
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  }
  const upstreamReply = { headers: JSON_TYPE, body: JSON.stringify(answer) }
  const withoutSearch = await translateAttempt({
    client: RESPONSES,
    target: CHAT,
    body: offering,
    upstreamReply,
  })
  t.same(withoutSearch.exchange.slots.get(USAGE)?.meters, { input: 3, output: 2 })
  const withSearch = await translateAttempt({
    body: { messages: [{ role: 'user', content: 'hi' }], web_search_options: {} },
    upstreamReply,
  })
  t.same(withSearch.exchange.slots.get(USAGE)?.meters, { input: 3, output: 2, web_search: 1 })
})
t.test('hosted tools: a forced tool that the target cannot run is a 400', async t => {
  const webSearch = { type: 'web_search' }
  for (const [what, more] of [
    ['chosen by name', { tool_choice: webSearch }],
    ['the only tool of a required call', { tools: [webSearch], tool_choice: 'required' }],
    [
      'the only allowed tool of a required call',
      { tool_choice: { type: 'allowed_tools', mode: 'required', tools: [webSearch] } },
    ],
  ] as const) {
    const body = { ...offering, ...more } as Json
    const { fault } = await translateAttempt({ client: RESPONSES, target: CHAT, body })
    t.match(fault, { code: 'TOOL_UNSUPPORTED', message: /'web_search'/, param: 'tools' }, what)
  }
  const { fault } = await translateAttempt({
    client: RESPONSES,
    target: CHAT,
    body: offering,
    headers: { 'x-tollgate-strict': 'true' },
  })
  t.match(fault, { code: 'FIELD_LOST', param: 'tools[1].web_search' }, 'strict')
})
t.test('hosted tools: a choice among tools forgets those that are left out', async t => {
  const chooseAmong = async (mode: string, ...tools: readonly Json[]) => {
    const tool_choice = { type: 'allowed_tools', mode, tools: [...tools] }
    const { upstreamRequest } = await translateAttempt({
      client: RESPONSES,
      target: CHAT,
      body: { ...offering, tool_choice },
      upstreamReply: calling(CHAT, 'look'),
    })
    return upstreamRequest.tool_choice
  }
  const allowed = { allowed_tools: { tools: [{ function: { name: 'look' } }] } }
  const lookChoice = { type: 'function', name: 'look' }
  t.match(await chooseAmong('required', lookChoice, { type: 'web_search' }), allowed)
  t.match(await chooseAmong('auto', lookChoice, { type: 'web_search' }), allowed)
  t.equal(await chooseAmong('auto', { type: 'web_search' }), 'none', 'nothing else was allowed')
})
t.test('hosted tools: an image model leaves them out, too', async t => {
  const body = { input: 'A cat', tools: [...HOSTED, { type: 'image_generation' }] }
  const attempt = (more: object) =>
    translateAttempt({
      client: RESPONSES,
      target: 'openai-images',
      body: { ...body, ...more },
      upstreamReply: { headers: JSON_TYPE, body: '{"data":[{"b64_json":"eA=="}]}' },
    })
  const { upstreamRequest, reply } = await attempt({})
  t.match(upstreamRequest, { prompt: 'A cat' })
  t.equal(reply?.headers['x-tollgate-dropped'], 'tools[0].web_search, tools[1].code_interpreter')
  const { fault } = await attempt({ tool_choice: { type: 'web_search' } })
  t.match(fault, { code: 'TOOL_UNSUPPORTED' })
})
t.test('hosted tools: a function of the same name is not a hosted tool', async t => {
  const { upstreamRequest, fault } = await translateAttempt({
    client: RESPONSES,
    target: CHAT,
    body: {
      ...offering,
      tools: [{ ...look, name: 'web_search' }, { type: 'web_search' }],
      tool_choice: { type: 'function', name: 'web_search' },
    },
    upstreamReply: calling(CHAT, 'web_search'),
  })
  t.notOk(fault)
  t.match(upstreamRequest.tool_choice, { function: { name: 'web_search' } })
})
t.test('hosted tools: each client reads the name of the tool in its own request', async t => {
  const search = { name: 'gx_search' }
  const cases: readonly (readonly [client: string, body: object, named: string])[] = [
    [CHAT, { messages: HI, tools: [{ type: 'function', function: search }] }, 'tools[0].gx_search'],
    [
      MESSAGES,
      { max_tokens: 9, messages: HI, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      'tools[0].web_search_20250305',
    ],
    [
      MESSAGES,
      {
        max_tokens: 9,
        messages: HI,
        tools: [{ type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }],
      },
      'tools[0].tool_search_tool_bm25',
    ],
    [
      GEMINI,
      {
        contents: [{ parts: [{ text: 'Hi' }] }],
        tools: [{ googleSearch: {} }, { google_maps: {} }],
      },
      'tools[0].googleSearch, tools[1].google_maps',
    ],
    [RESPONSES, { input: 'hi', tools: [{ type: 'tool_search' }] }, 'tools[0].tool_search'],
  ]
  for (const [client, body, named] of cases) {
    const { reply } = await translateAttempt({
      client,
      target: CHAT,
      body: body as Json,
      upstreamReply: calling(CHAT, 'x'),
    })
    t.equal(reply?.headers['x-tollgate-dropped'], named, client)
  }
})
t.test(
  'hosted tools: tools that only the client or its own provider can serve are a 400',
  async t => {
    const cases: readonly (readonly [client: string, body: Json])[] = [
      [RESPONSES, { input: 'hi', tools: [{ type: 'computer_use_preview' }] }],
      [RESPONSES, { input: 'hi', tools: [{ type: 'local_shell' }] }],
      [MESSAGES, { messages: HI, tools: [{ type: 'computer_20250124', name: 'computer' }] }],
      [GEMINI, { contents: [{ parts: [{ text: 'Hi' }] }], tools: [{ computerUse: {} }] }],
    ]
    for (const [client, body] of cases) {
      const { fault } = await translateAttempt({ client, target: CHAT, body })
      t.match(fault, { code: 'TOOL_UNSUPPORTED' }, JSON.stringify(body))
    }
  },
)
t.test('hosted tools: names that restrict functions leave a search available', async t => {
  const body = {
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }, { googleSearch: {} }],
    toolConfig: { functionCallingConfig: { mode: 'VALIDATED', allowedFunctionNames: ['f'] } },
  }
  const attempt = (target: string) =>
    translateAttempt({ client: GEMINI, target, body, upstreamReply: calling(target, 'f') })
  const messages = await attempt(MESSAGES)
  t.match(messages.upstreamRequest.tools, [{ name: 'f' }, { name: 'web_search' }])
  t.same(declaredNames(messages.upstreamRequest), ['f', 'web_search'])
  const responses = await attempt(RESPONSES)
  t.match(responses.upstreamRequest.tool_choice, {
    tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }],
  })
  const chat = await attempt(CHAT)
  t.match(chat.reply?.headers['x-tollgate-dropped'], /tools\[1\]\.googleSearch/)
  t.match(chat.upstreamRequest.tool_choice, {
    allowed_tools: { tools: [{ function: { name: 'f' } }] },
  })
})

// ---------------------------------------------------------------- groups and names

const AGENTS = {
  type: 'namespace',
  name: 'multi_agent_v1',
  description: 'Manages agents.',
  tools: [
    { ...look, name: 'spawn', description: 'Starts one.', strict: false, defer_loading: true },
    { ...look, name: 'wait' },
  ],
}
const namespaceCall = {
  type: 'function_call',
  id: 'fc_0',
  call_id: 'c0',
  namespace: 'multi_agent_v1',
  name: 'spawn',
  arguments: '{}',
}
const agentRequest = {
  model: 'm',
  input: [
    { role: 'user', content: 'hi' },
    namespaceCall,
    { type: 'function_call_output', call_id: 'c0', output: 'ok' },
  ],
  tools: [AGENTS, look],
}
const SPAWN = 'multi_agent_v1__spawn'

for (const target of [CHAT, MESSAGES, GEMINI])
  t.test(
    `tool groups: become functions of ${target}, and calls name the group again (edge 35)`,
    async t => {
      for (const stream of [false, true]) {
        const upstreamReply = stream
          ? { headers: SSE, chunks: [eventsOf(target, SPAWN)] }
          : calling(target, SPAWN)
        const { upstreamRequest, output, reply } = await translateAttempt({
          client: RESPONSES,
          target,
          body: { ...agentRequest, stream },
          upstreamReply,
        })
        t.same(declaredNames(upstreamRequest), [SPAWN, 'multi_agent_v1__wait', 'look'])
        const sentText = JSON.stringify(upstreamRequest)
        t.match(sentText, /"description":"Manages agents\.\\n\\nStarts one\."/)
        t.notMatch(sentText, /"name":"spawn"|namespace/, 'the history has the joined name, too')
        t.equal(sentText.split(`"name":"${SPAWN}"`).length - 1, target === GEMINI ? 3 : 2)
        t.equal(reply?.headers['x-tollgate-dropped'], undefined)
        const text = output?.text ?? ''
        const call = { type: 'function_call', name: 'spawn', namespace: 'multi_agent_v1' }
        if (stream) {
          const items = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) =>
            JSON.parse(data),
          )
          for (const type of ['response.output_item.added', 'response.output_item.done'])
            t.match(items.find(each => each.type === type)?.item, call)
          t.match(items.at(-1).response.output, [call])
        } else t.match(JSON.parse(text), { output: [call], tools: [AGENTS, { name: 'look' }] })
      }
    },
  )
t.test('tool groups: a tool can be forced by its name', async t => {
  for (const choice of [
    { type: 'function', name: 'wait' },
    { type: 'function', name: 'wait', namespace: 'multi_agent_v1' },
  ]) {
    const { upstreamRequest } = await translateAttempt({
      client: RESPONSES,
      target: CHAT,
      body: { ...agentRequest, tool_choice: choice },
      upstreamReply: calling(CHAT, 'look'),
    })
    t.match(upstreamRequest.tool_choice, { function: { name: 'multi_agent_v1__wait' } })
  }
})
t.test('tool groups: their own format receives them unchanged', async t => {
  const tool_choice = { type: 'function', name: 'spawn', namespace: 'multi_agent_v1' }
  const { upstreamRequest, output, reply } = await translateAttempt({
    client: RESPONSES,
    target: RESPONSES,
    body: { ...agentRequest, tool_choice },
    upstreamReply: {
      headers: JSON_TYPE,
      body: JSON.stringify({ status: 'completed', output: [namespaceCall] }),
    },
  })
  t.same(upstreamRequest.tools[0], AGENTS)
  t.equal(upstreamRequest.tools.length, 2)
  t.match(upstreamRequest.input[1], { namespace: 'multi_agent_v1', name: 'spawn' })
  t.same(upstreamRequest.tool_choice, tool_choice)
  t.match(JSON.parse(output?.text ?? ''), { output: [{ namespace: 'multi_agent_v1' }] })
  t.equal(reply?.headers['x-tollgate-dropped'], undefined)
})
t.test('tool groups: an invalid group is a 400 that names its member', async t => {
  for (const [group, param] of [
    [{ type: 'namespace', tools: [] }, 'tools[0].name'],
    [{ type: 'namespace', name: 'n', tools: {} }, 'tools[0].tools'],
    [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }, 'tools[0].tools[0].type'],
    [{ type: 'namespace', name: 'n', tools: [{ type: 'function' }] }, 'tools[0].tools[0].name'],
    [{ type: 'namespace', name: 'n', tools: ['f'] }, 'tools[0].tools[0]'],
  ] as const) {
    const body = { input: 'hi', tools: [group] }
    const { fault } = await translateAttempt({ client: RESPONSES, target: CHAT, body })
    t.match(fault, { status: 400, param })
  }
})

const declared = (name: string): Json => ({ name, parameters: { type: 'OBJECT', properties: {} } })
const geminiRequest = (...names: readonly string[]): Json => ({
  contents: [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts: [{ functionCall: { id: 'c0', name: names[0] ?? '', args: {} } }] },
    {
      role: 'user',
      parts: [{ functionResponse: { id: 'c0', name: names[0] ?? '', response: { output: 'a' } } }],
    },
  ],
  tools: [{ functionDeclarations: names.map(declared) }],
  toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [names[0] ?? ''] } },
})
for (const target of [CHAT, RESPONSES, MESSAGES])
  t.test(`tool names: a name with a dot is readable for ${target}, and is restored`, async t => {
    const { upstreamRequest, output } = await translateAttempt({
      client: GEMINI,
      target,
      path: '/v1beta/models/asked:generateContent',
      body: geminiRequest('github.create_issue', 'look'),
      upstreamReply: calling(target, 'github_create_issue'),
    })
    t.same(declaredNames(upstreamRequest), ['github_create_issue', 'look'])
    const sentText = JSON.stringify(upstreamRequest)
    t.notMatch(sentText, /github\.create/)
    t.match(JSON.stringify(upstreamRequest.tool_choice), /"github_create_issue"/)
    t.match(JSON.parse(output?.text ?? ''), {
      candidates: [{ content: { parts: [{ functionCall: { name: 'github.create_issue' } }] } }],
    })
  })
t.test(
  'tool names: two names that become the same stay apart, in every turn (edge 34)',
  async t => {
    const sentNames = async (...names: readonly string[]) => {
      const { upstreamRequest } = await translateAttempt({
        client: GEMINI,
        target: CHAT,
        body: geminiRequest(...names),
        upstreamReply: calling(CHAT, 'x'),
      })
      return Object.fromEntries(
        declaredNames(upstreamRequest).map((name, index) => [names[index], name]),
      )
    }
    const first = await sentNames('a.b', 'a_b', 'a:b')
    t.equal(first.a_b, 'a_b', 'a valid name stays')
    t.match(first['a.b'], /^a_b_[0-9a-f]{8}$/)
    t.match(first['a:b'], /^a_b_[0-9a-f]{8}$/)
    t.not(first['a.b'], first['a:b'])
    t.same(await sentNames('a:b', 'a.b', 'a_b'), first, 'in another order')
    const long = 'x'.repeat(100)
    const { [long]: short = '' } = await sentNames(long)
    t.match(short, /^x{55}_[0-9a-f]{8}$/, 'within 64 characters')
  },
)
t.test('tool names: a name that starts with a digit becomes valid for Gemini', async t => {
  const { upstreamRequest, output } = await translateAttempt({
    target: GEMINI,
    body: {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ type: 'function', function: { name: '1 odd/name' } }],
    },
    upstreamReply: calling(GEMINI, '__odd_name'),
  })
  t.same(declaredNames(upstreamRequest), ['__odd_name'])
  t.match(JSON.parse(output?.text ?? ''), {
    choices: [{ message: { tool_calls: [{ function: { name: '1 odd/name' } }] } }],
  })
})

// ---------------------------------------------------------------- tools with a known schema

const CLIENT_TOOLS = [
  { type: 'bash_20250124', name: 'bash', cache_control: { type: 'ephemeral' } },
  { type: 'text_editor_20250124', name: 'str_replace_editor' },
  { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 10_000 },
  { type: 'memory_20250818', name: 'memory' },
]
const editing = {
  max_tokens: 9,
  messages: [
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'c0', name: 'bash', input: { command: 'ls' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c0', content: 'a' }] },
  ],
  tools: CLIENT_TOOLS,
}
for (const target of [CHAT, RESPONSES, GEMINI])
  t.test(`client tools: Anthropic's are functions of ${target} (edge 37)`, async t => {
    const { upstreamRequest, output, reply } = await translateAttempt({
      client: MESSAGES,
      target,
      body: editing,
      upstreamReply: calling(target, 'bash'),
    })
    t.same(
      declaredNames(upstreamRequest),
      CLIENT_TOOLS.map(({ name }) => name),
    )
    const sentText = JSON.stringify(upstreamRequest)
    for (const member of ['restart', 'undo_edit', 'insert_text', 'old_path'])
      t.match(sentText, `"${member}"`)
    t.equal(reply?.headers['x-tollgate-dropped'], 'tools[2].max_characters, cache_control')
    t.match(JSON.parse(output?.text ?? ''), {
      content: [{ type: 'tool_use', name: 'bash', input: { a: 1 } }],
      stop_reason: 'tool_use',
    })
  })
t.test('client tools: their own format receives them unchanged', async t => {
  const { upstreamRequest } = await translateAttempt({
    client: MESSAGES,
    target: MESSAGES,
    body: { ...editing, tool_choice: { type: 'tool', name: 'memory' } },
    upstreamReply: calling(MESSAGES, 'bash'),
  })
  t.same(upstreamRequest.tools, CLIENT_TOOLS)
  t.same(upstreamRequest.tool_choice, { type: 'tool', name: 'memory' })
})

t.test(
  'tool search: the client runs it at any target, and its tools are sent (edge 39)',
  async t => {
    const raw = { type: 'tool_search', execution: 'client', parameters: { type: 'object' } }
    const mail = {
      type: 'namespace',
      name: 'mail',
      description: 'Mail.',
      tools: [
        {
          type: 'function',
          name: 'send',
          description: 'Sends.',
          parameters: {},
          defer_loading: true,
        },
      ],
    }
    const first = { input: 'hi', tools: [raw] }
    const later = {
      tools: [raw],
      input: [
        { role: 'user', content: 'hi' },
        {
          type: 'tool_search_call',
          call_id: 'c0',
          execution: 'client',
          arguments: { query: 'mail' },
        },
        {
          type: 'tool_search_output',
          call_id: 'c0',
          execution: 'client',
          status: 'completed',
          tools: [mail],
        },
      ],
    }
    for (const target of [CHAT, MESSAGES, GEMINI])
      for (const stream of [false, true]) {
        const reply = stream
          ? { headers: SSE, body: eventsOf(target, 'tool_search') }
          : calling(target, 'tool_search')
        const searched = await translateAttempt({
          client: RESPONSES,
          target,
          body: { ...first, stream } as Json,
          upstreamReply: reply,
        })
        const { text = '' } = searched.output ?? {}
        t.match(text, /"type":"tool_search_call"/, `${target}: a search`)
        t.match(text, /"execution":"client","arguments":\{"a":1\}/)
        t.notMatch(text, /function_call/)
        t.equal(searched.reply?.headers['x-tollgate-dropped'], undefined)
      }
    for (const target of [CHAT, MESSAGES, GEMINI]) {
      const { upstreamRequest, output } = await translateAttempt({
        client: RESPONSES,
        target,
        body: later as Json,
        upstreamReply: calling(target, 'mail__send'),
      })
      t.match(JSON.stringify(upstreamRequest), /tool_search.*Sends\./s, `${target}: what was found`)
      t.match(output?.text ?? '', /"name":"send","namespace":"mail"/)
    }
  },
)
