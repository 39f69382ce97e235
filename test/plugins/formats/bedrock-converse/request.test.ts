/** Requests to Amazon Bedrock's Converse: messages, tools, settings, thinking, and what it cannot
 *  carry. The unmodified SDK sends the same request, so no member is unknown to the API. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { bedrockConverse } from '../../../../plugins/formats/bedrock-converse/index.ts'
import type { TargetFacts } from '../../../../plugins/formats/hub/codec.ts'
import type { Prompt } from '../../../../plugins/formats/hub/prompt.ts'
import { sendBySdk } from '../../../helpers/formats/bedrock-sdk.ts'
import { collectDropped, decodePrompt } from '../../../helpers/formats/codec.ts'
import {
  assistant,
  CACHED,
  CACHED_FOR_AN_HOUR,
  chatCall,
  imagePart,
  messagesTool,
  user,
} from '../../../helpers/formats/request-parts.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'

const MODEL = 'anthropic.claude-x:0'
const encode = (prompt: Prompt, facts: Partial<TargetFacts> = {}) => {
  const dropped = collectDropped()
  const { path, body } = bedrockConverse.codec.encodePrompt(
    prompt,
    { name: MODEL, traits: {}, ...facts },
    dropped,
  )
  return { path, body: body as { readonly [key: string]: Json }, dropped: dropped.fields }
}
type Traits = TargetFacts['traits']
const encodeChecked = async (prompt: Prompt, traits: Traits = {}) => {
  const result = encode(prompt, { traits })
  const sdkRequest = await sendBySdk(MODEL, result.body, prompt.stream)
  t.same(sdkRequest, { path: result.path, body: result.body }, 'as the SDK sends it')
  return result
}
const fromChat = (body: object, traits?: Traits) =>
  encodeChecked(
    decodePrompt('openai-chat', { model: 'm', messages: HELLO, ...body } as Json).prompt,
    traits,
  )
const fromMessages = (body: object, traits?: Traits) =>
  encodeChecked(
    decodePrompt('anthropic-messages', {
      model: 'm',
      max_tokens: 9000,
      messages: HELLO,
      ...body,
    } as Json).prompt,
    traits,
  )
const HELLO = [{ role: 'user', content: 'hi' }]
const schema = { type: 'object', properties: { x: { type: 'number' } } }
const tool = {
  type: 'function',
  function: { name: 'get', description: 'Gets.', parameters: schema },
}
const toolSpec = { name: 'get', description: 'Gets.', inputSchema: { json: schema } }
const cachePoint = { cachePoint: { type: 'default' } }

t.test('converse request: messages, images, calls and results', async t => {
  const call = chatCall('a.b', 'get', '{"x":1}')
  const { path, body, dropped } = await fromChat({
    messages: [
      { role: 'developer', content: 'be brief' },
      user({ type: 'text', text: 'see' }, imagePart('data:image/png;base64,AAAA')),
      { role: 'assistant', content: 'ok', reasoning_content: 'hm', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a.b', content: '7' },
      { role: 'user', content: 'go on' },
      { role: 'system', content: 'be kind' },
    ],
    tools: [tool],
    stream: true,
  })
  t.equal(path, '/model/anthropic.claude-x%3A0/converse-stream')
  t.same(dropped, [])
  const toolUseId = 'call_xYS5i'
  t.same(body, {
    system: [{ text: 'be brief' }],
    messages: [
      user({ text: 'see' }, { image: { format: 'png', source: { bytes: 'AAAA' } } }),
      assistant({ text: 'ok' }, { toolUse: { toolUseId, name: 'get', input: { x: 1 } } }),
      user(
        { toolResult: { toolUseId, content: [{ text: '7' }] } },
        { text: 'go on' },
        { text: '<system>\nbe kind\n</system>' },
      ),
    ],
    toolConfig: { tools: [{ toolSpec }] },
  })
})

t.test('converse request: documents, failed results and cache points', async t => {
  const pdf = { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }
  const document = { type: 'document', title: 'Q1/report.pdf', source: pdf }
  const text = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } }
  const cache_control = CACHED_FOR_AN_HOUR
  const { body, dropped } = await fromMessages({
    system: [{ type: 'text', text: 'be brief', cache_control }],
    messages: [
      user(document, document, text, { type: 'text', text: ' ' }),
      assistant({ type: 'tool_use', id: 't', name: 'get', input: {} }),
      user({
        type: 'tool_result',
        tool_use_id: 't',
        is_error: true,
        content: [{ type: 'image', source: { ...pdf, media_type: 'image/webp' } }],
        cache_control: CACHED,
      }),
    ],
    tools: [{ name: 'get', input_schema: schema, cache_control }],
  })
  t.same(dropped, [])
  t.same(body.system, [{ text: 'be brief' }, { cachePoint: { type: 'default', ttl: '1h' } }])
  t.match(body.messages, [
    {
      content: [
        { document: { format: 'pdf', name: 'Q1-report-pdf', source: { bytes: 'AAAA' } } },
        { document: { format: 'pdf', name: 'Q1-report-pdf (2)' } },
        { document: { format: 'txt', name: 'document', source: { bytes: 'YQ==' } } },
      ],
    },
    {},
    {
      content: [
        {
          toolResult: {
            toolUseId: 't',
            content: [{ image: { format: 'webp' } }],
            status: 'error',
          },
        },
        cachePoint,
      ],
    },
  ])
  t.match(body.toolConfig, { tools: [{ toolSpec: { name: 'get' } }, cachePoint] })
  const without = await fromMessages({ cache_control }, { cache_points: false })
  t.same(without.dropped, ['cache_control'])
  t.notMatch(JSON.stringify(without.body), 'cachePoint')
  const whole = await fromMessages({ cache_control: CACHED })
  t.same(whole.body.messages, [user({ text: 'hi' }, cachePoint)])
})

t.test('converse request: media by address or of an unknown type is a fault', async t => {
  const faultOf = (url: string) =>
    errorFrom(() =>
      encode(
        decodePrompt('openai-chat', { model: 'm', messages: [user(imagePart(url))] } as Json)
          .prompt,
      ),
    )
  t.match(await faultOf('https://a.example/x.png'), { code: 'CONTENT_UNSUPPORTED' })
  t.match(await faultOf('data:image/tiff;base64,AAAA'), { code: 'CONTENT_UNSUPPORTED' })
})

t.test('converse request: tool choices', async t => {
  const configOf = async (tool_choice: Json, more: object = {}) => {
    const { body, dropped } = await fromChat({ tools: [tool], tool_choice, ...more })
    return { config: body.toolConfig, dropped }
  }
  t.match(await configOf('auto'), { config: { toolChoice: { auto: {} } }, dropped: [] })
  t.match(await configOf('required'), { config: { toolChoice: { any: {} } } })
  t.match(await configOf({ type: 'function', function: { name: 'get' } }), {
    config: { toolChoice: { tool: { name: 'get' } } },
  })
  t.same(await configOf('none'), { config: undefined, dropped: [] })
  const called = [
    ...HELLO,
    { role: 'assistant', tool_calls: [chatCall('a', 'get', '')] },
    { role: 'tool', tool_call_id: 'a', content: '7' },
  ]
  const afterCall = await configOf('none', { messages: called })
  t.match(afterCall, { config: { tools: [{ toolSpec }] }, dropped: ['choice'] })
  const { body } = await fromChat({ messages: called })
  t.same(body.toolConfig, {
    tools: [{ toolSpec: { name: 'get', inputSchema: { json: { type: 'object' } } } }],
  })
  t.same((await configOf('auto', { parallel_tool_calls: false })).dropped, ['parallel'])
})

t.test('converse request: tools with free text, strict tools and structured output', async t => {
  const free = { type: 'custom', custom: { name: 'patch', description: 'Patches.' } }
  const { body } = await fromChat({ tools: [free] })
  t.match(body.toolConfig, {
    tools: [{ toolSpec: { name: 'tollgate_text_patch', description: 'Patches.' } }],
  })
  const closed = { ...schema, required: ['x'], additionalProperties: false }
  const strict = { ...tool, function: { ...tool.function, strict: true, parameters: closed } }
  t.match((await fromChat({ tools: [strict] })).body.toolConfig, {
    tools: [{ toolSpec: { strict: true, inputSchema: { json: closed } } }],
  })
  t.same((await fromChat({ tools: [strict] }, { structured: false })).dropped, ['strict'])
  const response_format = { type: 'json_schema', json_schema: { name: 'a', schema: closed } }
  t.same((await fromChat({ response_format })).body.outputConfig, {
    textFormat: {
      type: 'json_schema',
      structure: { jsonSchema: { name: 'a', schema: JSON.stringify(closed) } },
    },
  })
  const instructed = await fromChat({ response_format }, { structured: false })
  t.match(JSON.stringify(instructed.body.system), 'Answer with JSON that fits this schema')
  const json = await fromChat({ response_format: { type: 'json_object' } })
  t.match(JSON.stringify(json.body.system), 'one valid JSON object')
})

t.test('converse request: settings, and those that it lacks', async t => {
  const settings = {
    max_completion_tokens: 7,
    temperature: 1.5,
    top_p: 0.9,
    stop: ['END', ' '],
    service_tier: 'flex',
    metadata: { team: 'a b', odd: 'ü' },
    seed: 3,
    n: 1,
  }
  const { body, dropped } = await fromChat(settings)
  t.same(body, {
    messages: [user({ text: 'hi' })],
    inferenceConfig: { maxTokens: 7, temperature: 1, stopSequences: ['END'] },
    additionalModelResponseFieldPaths: ['/stop_sequence'],
    serviceTier: { type: 'flex' },
    requestMetadata: { team: 'a b' },
  })
  t.same([...dropped].sort(), ['metadata', 'seed', 'stops', 'temperature', 'topP'])
  const all = await fromMessages({ temperature: 0.5, top_p: 0.9, top_k: 5 }, { sampling: true })
  t.same(all.body.inferenceConfig, { maxTokens: 9000, temperature: 0.5, topP: 0.9 })
  t.same(all.body.additionalModelRequestFields, { top_k: 5 })
  const none = await fromMessages({ temperature: 0.5, top_k: 5 }, { sampling: false })
  t.same(none.body.inferenceConfig, { maxTokens: 9000 })
  t.same([...none.dropped].sort(), ['temperature', 'topK'])
})

t.test('converse request: thinking by budget, effort and level', async t => {
  const enabled = { thinking: { type: 'enabled', budget_tokens: 2000 } }
  const { body, dropped } = await fromMessages({ ...enabled, temperature: 0.5 })
  t.same(body.additionalModelRequestFields, enabled)
  t.same(body.inferenceConfig, { maxTokens: 9000 })
  t.same(dropped, ['temperature'])
  const adaptive = await fromMessages(enabled, { thinking: 'adaptive' })
  t.match(adaptive.body, {
    additionalModelRequestFields: { thinking: { type: 'adaptive', display: 'summarized' } },
    outputConfig: { effort: 'medium' },
  })
  const level = await fromChat({ reasoning_effort: 'high' }, { thinking: 'level' })
  t.same(level.body.additionalModelRequestFields, {
    reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' },
  })
  const effort = await fromChat({ reasoning_effort: 'low' })
  t.same(effort.body.inferenceConfig, { maxTokens: 9216 })
  t.same((await fromChat({ reasoning_effort: 'low' }, { thinking: false })).dropped, ['thinking'])
  const forced = await fromChat({
    reasoning_effort: 'low',
    tools: [tool],
    tool_choice: 'required',
  })
  t.same(forced.dropped, ['thinking'], 'an effort gives way to a forced call')
  t.match(forced.body.toolConfig, { toolChoice: { any: {} } })
  const small = await fromMessages({ ...enabled, max_tokens: 1024 })
  t.same(small.dropped, ['thinking'], 'no room for thoughts')
})

t.test(
  'converse request: thoughts return to their provider only, with their signature',
  async t => {
    const history = (signature: string) => ({
      thinking: { type: 'enabled', budget_tokens: 2000 },
      tools: [messagesTool('get', schema)],
      messages: [
        ...HELLO,
        assistant(
          { type: 'thinking', thinking: 'hm', signature },
          { type: 'tool_use', id: 't', name: 'get', input: {} },
        ),
        user({ type: 'tool_result', tool_use_id: 't', content: '7' }),
      ],
    })
    const own = Buffer.from(`tollgate:${JSON.stringify(['bedrock-converse', 'c2ln', null, null])}`)
    const { body, dropped } = await fromMessages(history(own.toString('base64')))
    t.same(dropped, [])
    t.match(body.messages, [
      {},
      {
        content: [
          { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } },
          { toolUse: { toolUseId: 't' } },
        ],
      },
    ])
    const foreign = await fromMessages(history('c2ln'))
    t.notMatch(JSON.stringify(foreign.body), 'reasoningContent')
    t.same(foreign.dropped, ['thinking'])
  },
)

t.test('converse request: the start of an answer, and models without that', async t => {
  const messages = [...HELLO, { role: 'assistant', content: 'Well, ' }]
  const { body } = await fromMessages({ messages })
  t.match(body.messages, [{}, assistant({ text: 'Well,' })])
  const refused = await fromMessages({ messages }, { prefill: false })
  t.match(refused.body.messages, [{}, {}, user({ text: 'Continue.' })])
  t.same(refused.dropped, ['prefill'])
})

t.test('converse request: model ids and ARNs are one segment of the path', async t => {
  const arn = 'arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-x:0'
  const { prompt } = decodePrompt('openai-chat', { model: 'm', messages: HELLO } as Json)
  const { path, body } = encode(prompt, { name: arn })
  t.equal(path, `/model/${encodeURIComponent(arn)}/converse`)
  t.equal((await sendBySdk(arn, body, false)).path, path)
})

t.test('converse request: a document is not sent without a text', async t => {
  const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' }
  const { body } = await fromMessages({ messages: [user({ type: 'document', source })] })
  t.match(body.messages, [{ content: [{ document: { format: 'pdf' } }, { text: '.' }] }])
})
