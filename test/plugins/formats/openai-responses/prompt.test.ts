/** Settings, tools and history of a responses request: each keeps its meaning or is reported as
 *  dropped. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Prompt } from '../../../../plugins/formats/hub/prompt.ts'
import { prependHistory } from '../../../../plugins/formats/openai-responses/history.ts'
import { decodePrompt, encodePrompt, PROMPT } from '../../../helpers/formats/codec.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
import { decodeRequest, encodeRequest } from './requests.ts'

const NAME = 'openai-responses'
const hi = { type: 'text', text: 'hi' } as const

t.test('responses encoder: maps settings and reports those without a name', async t => {
  const { prompt, dropped } = decodeRequest({
    max_output_tokens: 90,
    temperature: 0.5,
    top_p: 0.1,
    top_logprobs: 2,
    store: true,
    parallel_tool_calls: false,
    metadata: { a: 'b' },
    service_tier: 'flex',
    user: 'u',
    prompt_cache_key: 'k',
    background: false,
    text: { verbosity: 'low' },
    stream: true,
    include: ['message.output_text.logprobs', 'file_search_call.results'],
    truncation: 'auto',
    context_management: [{}],
    prompt_cache_retention: null,
  })
  t.same(dropped, ['include[file_search_call.results]', 'truncation', 'context_management'])
  t.same(prompt.settings, {
    limit: 90,
    temperature: 0.5,
    topP: 0.1,
    alternatives: 2,
    parallel: false,
    store: true,
    metadata: { a: 'b' },
    tier: 'flex',
    user: 'u',
    cacheKey: 'k',
    background: false,
    verbosity: 'low',
    logprobs: true,
  })
  const { body, dropped: none } = encodePrompt(NAME, prompt)
  t.same(none, [])
  t.match(body, {
    max_output_tokens: 90,
    temperature: 0.5,
    top_p: 0.1,
    top_logprobs: 2,
    store: true,
    user: 'u',
    text: { verbosity: 'low' },
    stream: true,
    include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
  })
  const foreignPayload = { topK: 4, stops: ['x'], seed: 1, frequencyPenalty: 1, presencePenalty: 0 }
  t.same(encodeRequest({ settings: { ...foreignPayload, candidates: 1 } }).dropped, [
    'topK',
    'stops',
    'seed',
    'frequencyPenalty',
  ])
})
t.test('responses encoder: adjusts values that the provider would reject', async t => {
  t.equal(encodeRequest({ settings: { limit: 1 } }).body.max_output_tokens, 16)
  const long = 'x'.repeat(65)
  const { body } = encodeRequest({ settings: { user: long, cacheKey: long } })
  t.match(body.safety_identifier, /^[\w-]{43}$/)
  t.equal(body.prompt_cache_key, body.safety_identifier, 'the digest is stable')
  t.same(encodeRequest({ settings: { tier: 'flex' } }).body.service_tier, 'flex')
  t.notOk('tool_choice' in encodeRequest({ choice: { type: 'required' } }).body)
})
t.test('responses encoder: drops sampling settings by trait (edge 27)', async t => {
  const settings = { temperature: 0.5, topP: 1, limit: 50 }
  const { body, dropped } = encodeRequest({ settings }, { sampling: false })
  t.same(dropped, ['temperature'])
  t.notOk('temperature' in body || 'top_p' in body)
  t.equal(body.max_output_tokens, 50)
  t.same(encodeRequest({ settings: { temperature: 1 } }, { sampling: false }).dropped, [])
})
t.test('responses encoder: writes thinking by effort, budget or as adaptive', async t => {
  const read = (reasoning: object) => decodeRequest({ reasoning }).prompt.thinking
  t.same(read({ effort: 'high', summary: 'auto' }), { mode: 'effort', effort: 'high', show: true })
  t.same(read({ effort: 'none' }), { mode: 'off', effort: 'none' })
  t.same(read({ summary: 'detailed' }), { mode: 'adaptive', show: true })
  t.same(read({ effort: null }), undefined)
  t.same(decodeRequest({ reasoning: { context: 'all' } }).dropped, ['reasoning.context'])
  const wrote = (thinking: Prompt['thinking'], traits = {}) =>
    encodeRequest({ ...(thinking && { thinking }) }, traits).body.reasoning
  t.same(wrote({ mode: 'effort', effort: 'low' }), { effort: 'low' })
  t.same(wrote({ mode: 'budget', budget: 1024 }), { effort: 'low', summary: 'auto' })
  t.same(wrote({ mode: 'budget', budget: 5000, show: false }), { effort: 'medium' })
  t.same(wrote({ mode: 'budget', budget: 9000 }), { effort: 'high', summary: 'auto' })
  t.same(wrote({ mode: 'adaptive' }), { summary: 'auto' })
  t.same(wrote({ mode: 'off' }), { effort: 'none' })
  const { body, dropped } = encodeRequest({ thinking: { mode: 'adaptive' } }, { thinking: false })
  t.same([dropped, 'reasoning' in body, 'include' in body], [['thinking'], false, false])
})
t.test('responses codec: structured output is a flat object', async t => {
  const schema = { type: 'object', properties: {}, required: [], additionalProperties: false }
  const format = { type: 'json_schema', name: 'a', schema, strict: true }
  const { prompt } = decodeRequest({ text: { format } })
  t.same(prompt.form, { type: 'schema', name: 'a', schema, strict: true })
  t.same(encodePrompt(NAME, prompt).body.text, { format })
  t.same(decodeRequest({ text: { format: { type: 'json_object' } } }).prompt.form, { type: 'json' })
  t.match(encodeRequest({ form: { type: 'schema', schema } }).body.text, {
    format: { name: 'answer', strict: false },
  })
  t.same(encodeRequest({ form: { type: 'json' } }).body.text, { format: { type: 'json_object' } })
})
t.test('responses codec: reads and writes functions, hosted tools and foreign tools', async t => {
  const tools = [
    {
      type: 'function',
      name: 'f',
      description: 'd',
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
      strict: true,
    },
    { type: 'custom', name: 'sql', format: { type: 'text' } },
    {
      type: 'web_search',
      filters: { allowed_domains: ['x'] },
      search_context_size: 'low',
      user_location: { type: 'approximate', country: 'MX' },
    },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'file_search', vector_store_ids: ['vs'] },
    { type: 'image_generation' },
    { type: 'mcp', server_label: 's' },
  ]
  const { prompt, dropped } = decodeRequest({ tools, max_tool_calls: 3 })
  t.same(dropped, [])
  t.match(prompt.tools, [
    { type: 'function', strict: true },
    { type: 'free', grammar: { type: 'text' } },
    { tool: 'web_search', domains: { allowed: ['x'] }, location: { country: 'MX' }, depth: 'low' },
    { tool: 'code_execution', maxCalls: 3 },
    { tool: 'file_search', stores: ['vs'] },
    { tool: 'image_generation' },
    { type: 'foreign', origin: NAME },
  ])
  t.same(encodePrompt(NAME, prompt).body.tools, tools)
  t.equal(encodePrompt(NAME, prompt).body.max_tool_calls, 3)
  const preview = decodeRequest({
    tools: [{ type: 'web_search_preview', external_web_access: false }],
  })
  t.match(preview.prompt.tools, [{ tool: 'web_search', clientName: 'web_search_preview' }])
  t.same(preview.dropped, ['tools[0].external_web_access'])
  const foreignPayload = [{ type: 'foreign', origin: 'other', name: 'bash', raw: {} }] as const
  t.match(await errorFrom(async () => encodeRequest({ tools: foreignPayload })), {
    status: 400,
    message: /'bash'/,
  })
  const toolWithBlockedDomains = {
    type: 'hosted',
    tool: 'web_search',
    clientName: 's',
    domains: { blocked: ['x'] },
  }
  t.same(encodeRequest({ tools: [toolWithBlockedDomains as never] }).dropped, ['blocked_domains'])
})
t.test('responses codec: maps the tool choice', async t => {
  const tools = [
    { type: 'function', name: 'f', parameters: {}, strict: false },
    { type: 'custom', name: 'sql' },
    { type: 'web_search' },
    { type: 'mcp', server_label: 's', server_url: 'https://a.example', require_approval: 'never' },
  ]
  const cases: readonly (readonly [Json, object])[] = [
    ['required', { type: 'required' }],
    [
      { type: 'mcp', server_label: 's' },
      { type: 'tool', name: 's' },
    ],
    [
      { type: 'mcp', server_label: 's', name: 'read' },
      { type: 'tool', name: 's', serverTool: 'read' },
    ],
    [
      { type: 'function', name: 'f' },
      { type: 'tool', name: 'f' },
    ],
    [
      { type: 'custom', name: 'sql' },
      { type: 'tool', name: 'sql' },
    ],
    [
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }],
      },
      { type: 'some', mode: 'required', names: ['f', 'web_search'] },
    ],
  ]
  for (const [tool_choice, choice] of cases) {
    const { prompt } = decodeRequest({ tools, tool_choice })
    t.same(prompt.choice, choice)
    t.same(encodePrompt(NAME, prompt).body.tool_choice, tool_choice)
  }
})
t.test('responses encoder: keeps a reference to an earlier response', async t => {
  const { prompt } = decodeRequest({
    previous_response_id: 'resp_1',
    conversation: { id: 'conv_1' },
  })
  t.same(prompt.previous, { answer: 'resp_1', conversation: 'conv_1' })
  const { body } = encodePrompt(NAME, prompt)
  t.match(body, { previous_response_id: 'resp_1', conversation: 'conv_1' })
  t.notOk('store' in body || 'include' in body)
  t.same(decodePrompt(NAME, { previous_response_id: 'resp_1' }).prompt.turns, [])
})
t.test('response history: precedes the new input', async t => {
  const remaining = [
    { input: 'one', output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: 'uno' }] },
    { input: [{ role: 'user', content: 'two' }], output: [] },
  ]
  const input = [{ role: 'user', content: 'three' }]
  const body = prependHistory({ model: 'm', previous_response_id: 'r', input }, remaining)
  t.notOk('previous_response_id' in body)
  t.same(
    decodePrompt(NAME, body).prompt.turns.map(({ role, content }) => [
      role,
      (content[0] as typeof hi).text,
    ]),
    [
      ['user', 'one'],
      ['assistant', 'uno'],
      ['user', 'two'],
      ['user', 'three'],
    ],
  )
  const unknown = [{ type: 'item_reference', id: 'msg_1' }]
  t.match(await errorFrom(async () => decodePrompt(NAME, { input: unknown })), {
    status: 400,
    message: "Item with id 'msg_1' not found.",
  })
  t.match(prependHistory({ input: 'now' }, []).input, [{ role: 'user', content: 'now' }])
})

t.test('responses encoder: sends one limit for all hosted tools', async t => {
  const tool = (name: 'web_search' | 'code_execution', maxCalls: number) =>
    ({ type: 'hosted', tool: name, clientName: name, maxCalls }) as const
  const encodeTools = (...tools: Prompt['tools']) => {
    const { body, dropped } = encodePrompt(NAME, { ...PROMPT, tools })
    return [body.max_tool_calls, dropped]
  }
  t.same(encodeTools(tool('web_search', 3), tool('code_execution', 3)), [3, []])
  const result = encodeTools(tool('web_search', 3), tool('code_execution', 5))
  t.same(result, [3, ['code_execution.max_uses']])
})
