/** Tools and structured output for messages upstreams. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import {
  offeredTools,
  writeChoice,
  writeTools,
} from '../../../../plugins/formats/anthropic-messages/tools.ts'
import type { Prompt } from '../../../../plugins/formats/hub/prompt.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
import {
  call,
  encodeBody,
  encodeTurns,
  HELLO,
  model,
  NAME,
  promptOf,
  result,
  user,
} from './messages.ts'

const FORM: Prompt['form'] = {
  type: 'schema',
  schema: { type: 'object', properties: { of: { type: 'object', properties: {} } } },
}
t.test('messages encoder: declares the tools of earlier calls if the request has none', async t => {
  const body = encodeTurns([...HELLO, model(call('1')), user(result('1'))])
  t.same(body.tools, [{ name: 'look', input_schema: { type: 'object' } }])
  t.same(body.tool_choice, { type: 'none' })
})
t.test('messages encoder: sends functions and hosted tools, and rejects others', async t => {
  const tools: Prompt['tools'] = [
    {
      type: 'function',
      name: 'f',
      description: 'd',
      schema: { properties: {} },
      strict: true,
      cache: { ttl: '1h' },
    },
    { type: 'function', name: 'g' },
    { type: 'free', name: 'h', description: 'runs', grammar: { syntax: 'lark' } },
    {
      type: 'hosted',
      tool: 'web_search',
      clientName: 'gx_search',
      maxCalls: 3,
      domains: { allowed: ['a.b'] },
      location: { country: 'DE' },
    },
    { type: 'hosted', tool: 'web_fetch', clientName: 'web_fetch_20260209' },
    { type: 'hosted', tool: 'url_context', clientName: 'url_context' },
    { type: 'hosted', tool: 'code_execution', clientName: 'code_interpreter' },
    { type: 'foreign', origin: NAME, name: 'bash', raw: { type: 'bash_20250124', name: 'bash' } },
  ]
  t.same(encodeBody(promptOf(HELLO, { tools })).body.tools, [
    {
      name: 'f',
      description: 'd',
      input_schema: { type: 'object', properties: {}, additionalProperties: false },
      strict: true,
      cache_control: { type: 'ephemeral', ttl: '1h' },
    },
    { name: 'g', input_schema: { type: 'object', properties: {} } },
    {
      name: 'tollgate_text_h',
      description: 'runs\n\nIts input follows: {"syntax":"lark"}',
      input_schema: {
        type: 'object',
        properties: { input: { type: 'string' } },
        required: ['input'],
        additionalProperties: false,
      },
    },
    {
      type: 'web_search_20250305',
      name: 'web_search',
      allowed_domains: ['a.b'],
      user_location: { type: 'approximate', country: 'DE' },
      max_uses: 3,
    },
    { type: 'web_fetch_20260209', name: 'web_fetch' },
    { type: 'web_fetch_20250910', name: 'web_fetch' },
    { type: 'code_execution_20250825', name: 'code_execution' },
    { type: 'bash_20250124', name: 'bash' },
  ])
  const rejection: Prompt['tools'] = [
    { type: 'hosted', tool: 'file_search', clientName: 'file_search', stores: ['s'] },
    { type: 'hosted', tool: 'image_generation', clientName: 'image_generation' },
    { type: 'foreign', origin: 'google-gemini', name: 'googleMaps', raw: {} },
  ]
  for (const tool of rejection)
    t.match(await errorFrom(async () => encodeBody(promptOf(HELLO, { tools: [tool] }))), {
      code: 'TOOL_UNSUPPORTED',
      status: 400,
    })
})
t.test('messages encoder: maps the tool choice', async t => {
  const tools: Prompt['tools'] = [
    { type: 'function', name: 'f' },
    { type: 'function', name: 'g' },
  ]
  const bodyWithTools = (more: Partial<Prompt>) =>
    encodeBody(promptOf(HELLO, { tools, ...more })).body
  const single = { settings: { parallel: false } }
  t.notOk('tool_choice' in bodyWithTools({}))
  t.same(bodyWithTools(single).tool_choice, { type: 'auto', disable_parallel_tool_use: true })
  t.same(bodyWithTools({ choice: { type: 'required' }, ...single }).tool_choice, {
    type: 'any',
    disable_parallel_tool_use: true,
  })
  t.same(bodyWithTools({ choice: { type: 'none' }, ...single }).tool_choice, { type: 'none' })
  t.same(bodyWithTools({ choice: { type: 'tool', name: 'g' } }).tool_choice, {
    type: 'tool',
    name: 'g',
  })
  const some = bodyWithTools({ choice: { type: 'some', mode: 'required', names: ['g'] } })
  t.same(some.tool_choice, { type: 'any' })
  t.match(some.tools, [{ name: 'g' }])
  t.equal((some.tools as readonly Json[]).length, 1)
  t.notOk(
    'tool_choice' in bodyWithTools({ tools: [], choice: { type: 'required' } }),
    'no tools to choose from',
  )
})

t.test('messages encoder: sends structured output with closed objects', async t => {
  t.same(encodeBody(promptOf(HELLO, { form: FORM })).body.output_config, {
    format: {
      type: 'json_schema',
      schema: {
        type: 'object',
        properties: { of: { type: 'object', properties: {}, additionalProperties: false } },
        additionalProperties: false,
      },
    },
  })
})
t.test('messages encoder: replaces structured output on older models', async t => {
  const old = { structured: false }
  const { body } = encodeBody(promptOf(HELLO, { form: FORM }), old)
  t.match(body, { tools: [{ name: 'tollgate_answer_in_form' }], tool_choice: { type: 'tool' } })
  t.notOk('output_config' in body)
  const tools: Prompt['tools'] = [{ type: 'function', name: 'f' }]
  t.match(encodeBody(promptOf(HELLO, { form: FORM, tools }), old).body, {
    system: [{ text: /fits this schema/ }],
  })
  t.match(encodeBody(promptOf(HELLO, { form: { type: 'json' } })).body, {
    system: [{ text: /one valid JSON object/ }],
  })
})

t.test(
  'messages encoder: a forced MCP server is offered alone, another tool by its name',
  async t => {
    const server = (name: string) => ({ type: 'mcp' as const, name, url: 'https://a.example' })
    const tools = [server('a'), server('b'), { type: 'function', name: 'f' }] as Prompt['tools']
    const promptWith = (choice: Prompt['choice'], more: Prompt['settings'] = {}) =>
      ({ ...promptOf(HELLO, { tools }), choice, settings: more }) as Prompt
    const forced = promptWith({ type: 'tool', name: 'b' })
    t.same(offeredTools(forced), [server('b')])
    t.same(writeChoice(forced), { type: 'any' })
    const named = promptWith({ type: 'tool', name: 'f' })
    t.same(offeredTools(named), tools)
    t.same(writeChoice(named), { type: 'tool', name: 'f' })
    const search = { type: 'hosted', tool: 'web_search', clientName: 'web_search' } as const
    const hosted = { ...named, tools: [search], choice: { type: 'tool', name: 'web_search' } }
    t.same(writeChoice(hosted as Prompt), { type: 'tool', name: 'web_search' })
    const one = promptWith({ type: 'tool', name: 'a', serverTool: 'x' } as Prompt['choice'])
    t.match(offeredTools(one), [{ name: 'a', allowedTools: ['x'] }])
    const some = (mode: 'auto' | 'required') => promptWith({ type: 'some', mode, names: ['f'] })
    t.same(writeChoice(some('auto')), { type: 'auto' })
    t.same(writeChoice(some('required')), { type: 'any' })
    t.same(writeChoice(promptWith(undefined)), undefined)
    t.same(writeChoice(promptWith(undefined, { parallel: false })), {
      type: 'auto',
      disable_parallel_tool_use: true,
    })
    t.same(writeChoice(promptWith({ type: 'none' }, { parallel: false })), { type: 'none' })
  },
)

t.test('messages encoder: the depth of a search is dropped unless it is the usual one', async t => {
  const droppedWith = (more: object) => {
    const dropped: string[] = []
    const tool = { type: 'hosted', tool: 'web_search', clientName: 'web_search', ...more }
    const prompt = { ...promptOf(HELLO), tools: [tool] } as Prompt
    writeTools(prompt, {} as never, { add: (name: string) => dropped.push(name) } as never)
    return dropped
  }
  t.same(droppedWith({}), [])
  t.same(droppedWith({ depth: 'medium' }), [])
  t.same(droppedWith({ depth: 'high' }), ['web_search.search_context_size'])
})
