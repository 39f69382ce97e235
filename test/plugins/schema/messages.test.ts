/** The shipped schema of the messages format: validation faults and accepted bodies. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import type { Fields } from '../../../plugins/formats/fields.ts'
import { fileValidator, validatorOf } from '../../../plugins/schema/compile.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'

const schema = fileValidator('schemas/messages.json', fakeHost())
const requestWith = (more: Fields): Fields => ({
  model: 'm',
  max_tokens: 2_000,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})
const block = (one: Json): Fields => requestWith({ messages: [{ role: 'user', content: [one] }] })
const AT = 'messages[0].content[0]'
const enabledThinking = (budget_tokens: Json): Fields => ({
  thinking: { type: 'enabled', budget_tokens },
})

t.test('messages schema: names the invalid field', async t => {
  const rows: readonly (readonly [body: Fields, param: string, words: RegExp])[] = [
    [requestWith({ max_tokens: null }), 'max_tokens', /an integer/],
    [requestWith({ messages: [] }), 'messages', /at least one message/],
    [
      requestWith({ messages: [{ role: 'boss', content: '' }] }),
      'messages[0].role',
      /'user', 'assistant'/,
    ],
    [requestWith({ messages: [{ role: 'user' }] }), 'messages[0].content', /Missing/],
    [
      requestWith({ messages: [{ role: 'user', content: 7 }] }),
      'messages[0].content',
      /a string or an array/,
    ],
    [block({}), `${AT}.type`, /Missing/],
    [block({ type: 'text' }), `${AT}.text`, /Missing/],
    [block({ type: 'image' }), `${AT}.source`, /Missing/],
    [block({ type: 'image', source: { type: 'ftp' } }), `${AT}.source.type`, /'base64', 'url'/],
    [
      block({ type: 'image', source: { type: 'base64', data: '' } }),
      `${AT}.source.media_type`,
      /Missing/,
    ],
    [block({ type: 'document', source: { type: 'url' } }), `${AT}.source.url`, /Missing/],
    [block({ type: 'thinking', signature: '' }), `${AT}.thinking`, /Missing/],
    [block({ type: 'thinking', thinking: '', signature: 7 }), `${AT}.signature`, /a string/],
    [requestWith({ messages: [{ role: 'system' }] }), 'messages[0].content', /Missing/],
    [
      requestWith({ messages: [{ role: 'user', output_config: {} }] }),
      'messages[0].content',
      /Missing/,
    ],
    [block({ type: 'redacted_thinking' }), `${AT}.data`, /Missing/],
    [block({ type: 'tool_use', id: '1', name: 'f' }), `${AT}.input`, /Missing/],
    [block({ type: 'tool_use', id: '1', name: 'f', input: '{}' }), `${AT}.input`, /an object/],
    [block({ type: 'tool_result' }), `${AT}.tool_use_id`, /Missing/],
    [
      block({ type: 'tool_result', tool_use_id: '1', content: [{ type: 'text' }] }),
      `${AT}.content[0].text`,
      /Missing/,
    ],
    [
      block({ type: 'text', text: '', cache_control: { type: 'forever' } }),
      `${AT}.cache_control.type`,
      /'ephemeral'/,
    ],
    [requestWith({ system: 7 }), 'system', /a string/],
    [requestWith({ system: [{ type: 'image' }] }), 'system[0].text', /Missing/],
    [requestWith({ temperature: 1.5 }), 'temperature', /<= 1/],
    [requestWith({ top_p: -1 }), 'top_p', />= 0/],
    [requestWith({ top_k: 1.5 }), 'top_k', /an integer/],
    [requestWith({ stream: 'yes' }), 'stream', /a boolean/],
    [requestWith({ stop_sequences: 'x' }), 'stop_sequences', /an array/],
    [requestWith({ stop_sequences: [7] }), 'stop_sequences[0]', /a string/],
    [requestWith({ tools: [{ name: 'f' }] }), 'tools[0].input_schema', /Missing/],
    [requestWith({ tools: [{ type: 'custom', input_schema: {} }] }), 'tools[0].name', /Missing/],
    [requestWith({ tool_choice: 'auto' }), 'tool_choice', /an object/],
    [requestWith({ tool_choice: { type: 'maybe' } }), 'tool_choice.type', /'auto', 'any'/],
    [requestWith({ tool_choice: { type: 'tool' } }), 'tool_choice.name', /Missing/],
    [
      requestWith({ thinking: { type: 'hard' } }),
      'thinking.type',
      /'enabled', 'disabled', 'adaptive'/,
    ],
    [requestWith({ thinking: { type: 'enabled' } }), 'thinking.budget_tokens', /Missing/],
    [requestWith(enabledThinking(1_023)), 'thinking.budget_tokens', />= 1024/],
    [
      requestWith({ ...enabledThinking(100_001), max_tokens: 200_000 }),
      'thinking.budget_tokens',
      /<= 100000/,
    ],
    [
      requestWith(enabledThinking(2_001)),
      'thinking.budget_tokens',
      /<= 'max_tokens' \(2000\), but got 2001/,
    ],
    [
      requestWith({ ...enabledThinking(1_024), temperature: 0.5 }),
      'temperature',
      /must be 1 while thinking/,
    ],
    [requestWith({ output_config: { effort: 'huge' } }), 'output_config.effort', /'low', 'medium'/],
    [
      requestWith({ output_config: { format: { type: 'json_schema' } } }),
      'output_config.format.schema',
      /Missing/,
    ],
    [requestWith({ metadata: { user_id: 7 } }), 'metadata.user_id', /a string/],
    [requestWith({ service_tier: 'flex' }), 'service_tier', /'auto', 'standard_only'/],
  ]
  for (const [body, param, words] of rows)
    t.match(schema.validate(body), { status: 400, param, message: words }, param)
})
t.test('messages schema: accepts valid requests and unknown fields', async t => {
  const bodies: readonly Fields[] = [
    requestWith({}),
    requestWith({ ...enabledThinking(2_000), temperature: 1 }),
    requestWith({ thinking: { type: 'adaptive' }, temperature: null, stream: null }),
    requestWith({
      tools: [
        { type: 'web_search_20250305', name: 'web_search' },
        { type: 'mcp_toolset', mcp_server_name: 's' },
      ],
    }),
    requestWith({ of_the_future: 1, thinking: { type: 'disabled', of_the_future: 1 } }),
    block({ type: 'of_the_future', anything: 1 }),
    block({ type: 'tool_result', tool_use_id: '1' }),
  ]
  for (const body of bodies) t.equal(schema.validate(body), undefined)
})
t.test('messages schema: refuses a budget above max_tokens', async t => {
  const validate = (body: Json) =>
    validatorOf({ notAbove: { 'a.b': 'c' } }, 'x', fakeHost()).validate(body)
  t.match(validate({ a: { b: 2 }, c: 1 }), { code: 'OUT_OF_RANGE', param: 'a.b' })
  for (const body of [
    { a: { b: 1 }, c: 1 },
    { a: { b: 2 } },
    { a: null, c: 1 },
    { a: { b: 'x' }, c: 1 },
    [],
    7,
  ])
    t.equal(validate(body), undefined)
  t.throws(() => validatorOf({ notAbove: 7 }, 'x', fakeHost()), { code: 'SCHEMA_REFUSED' })
})
