/** Nothing is sent that a provider refuses: sampling settings, schemas, names, stop sequences, and
 *  thinking beside forced calls. Losses are named. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import type { Prompt } from '../../../plugins/formats/hub/prompt.ts'
import { decodePrompt, encodePrompt, PROMPT } from '../../helpers/formats/codec.ts'
import { EMPTY_SCHEMA, geminiUser, user } from '../../helpers/formats/request-parts.ts'

type Body = { readonly [member: string]: Json }
const [CHAT, RESPONSES, MESSAGES, GEMINI] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'google-gemini',
]
const HELLO: Prompt['turns'] = [user({ type: 'text', text: 'hi' })]
const send = (
  target: string,
  prompt: Partial<Prompt>,
  traits: Readonly<Record<string, Json>> = {},
  maxOutput = 8_192,
): { readonly body: Body; readonly dropped: readonly string[] } => {
  const whole = { ...PROMPT, turns: HELLO, ...prompt }
  const { body, dropped } = encodePrompt(target, whole, { maxOutput, traits })
  return { body: body as Body, dropped }
}
const translate = (from: string, body: Body, path: string, target: string) =>
  send(target, decodePrompt(from, body, path).prompt)

t.test('messages: temperature and top_p are not sent together', t => {
  const settings = { temperature: 0.3, topP: 0.9, topK: 40 }
  const one = send(MESSAGES, { settings })
  t.match(one.body, { temperature: 0.3, top_k: 40, top_p: undefined })
  t.same(one.dropped, ['topP'])
  t.match(send(MESSAGES, { settings: { topP: 0.9 } }).body, { top_p: 0.9 })
  const both = send(MESSAGES, { settings }, { sampling: true })
  t.match(both.body, { temperature: 0.3, top_p: 0.9 })
  const none = send(MESSAGES, { settings }, { sampling: false })
  for (const member of ['temperature', 'top_p', 'top_k']) t.notOk(member in none.body, member)
  t.same([...none.dropped].sort(), ['temperature', 'topK', 'topP'])
  const neutral = { temperature: 1, topP: 1 }
  t.same(send(MESSAGES, { settings: neutral }, { sampling: false }).dropped, [])
  t.end()
})

t.test('messages: the tool that stands for a schema has a plain object as root', t => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    oneOf: [{ required: ['a'] }, { required: ['b'] }],
  }
  const { body } = send(MESSAGES, { form: { type: 'schema', schema } }, { structured: false })
  const [tool] = body.tools as { input_schema: Body }[]
  t.match(tool?.input_schema, { type: 'object', properties: { a: { type: 'string' } } })
  t.notOk('oneOf' in (tool?.input_schema ?? {}))
  t.end()
})

/** Keyword -> a schema with it, and the description that it becomes. */
const CONSTRAINTS: readonly (readonly [Json, string])[] = [
  [{ type: 'integer', minimum: 0, maximum: 9 }, '{minimum: 0, maximum: 9}'],
  [{ type: 'string', minLength: 1, pattern: '^a' }, '{minLength: 1, pattern: ^a}'],
  [{ type: 'array', items: { type: 'string' }, minItems: 2 }, '{minItems: 2}'],
  [{ type: 'integer', format: 'int32' }, '{format: int32}'],
]
t.test(
  'messages: constraints that the provider does not enforce become descriptions (edge 22)',
  t => {
    for (const [property, description] of CONSTRAINTS) {
      const schema = { type: 'object', properties: { a: property }, required: ['a'] }
      const form = { type: 'schema', schema, strict: true } as const
      const { body, dropped } = send(MESSAGES, { form })
      t.match(body.output_config, {
        format: {
          schema: { additionalProperties: false, properties: { a: { description } } },
        },
      })
      t.notMatch(
        JSON.stringify(body),
        /"(?:minimum|maximum|minLength|pattern|minItems|format":"int)/,
      )
      t.same(dropped, [])
      const tools = [{ type: 'function', name: 'f', schema, strict: true }] as const
      t.match(send(MESSAGES, { tools }).body.tools, [
        { strict: true, input_schema: { properties: { a: { description } } } },
      ])
    }
    const enforced = { type: 'array', items: { type: 'string', format: 'date' }, minItems: 1 }
    const schema = { type: 'object', properties: { a: enforced }, required: ['a'] }
    t.match(send(MESSAGES, { form: { type: 'schema', schema } }).body.output_config, {
      format: { schema: { properties: { a: enforced } } },
    })
    t.end()
  },
)
t.test('messages: a schema with free keys is not closed', t => {
  const free = { type: 'object', additionalProperties: { type: 'number' } }
  const schema = { type: 'object', properties: { counts: free }, required: ['counts'] }
  const { body, dropped } = send(MESSAGES, { form: { type: 'schema', schema, strict: true } })
  t.notOk('output_config' in body)
  t.match(body.tools, [{ input_schema: schema }])
  t.same(dropped, ['form'])
  const tools = [{ type: 'function', name: 'f', schema, strict: true }] as const
  const strict = send(MESSAGES, { tools })
  t.match(strict.body.tools, [{ input_schema: schema, strict: undefined }])
  t.same(strict.dropped, ['strict'])
  t.end()
})

/** The first function of a chat or responses request. */
const functionOf = ({ tools }: Body): Body => {
  const [tool] = tools as readonly Body[]
  return (tool?.function ?? tool) as Body
}
for (const target of [CHAT, RESPONSES])
  t.test(`${target}: strict is sent with schemas that it accepts only`, t => {
    const whole = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
    const optional = { type: 'object', properties: { a: { type: 'string' } } }
    const sendTool = (schema: Json) =>
      send(target, { tools: [{ type: 'function', name: 'f', schema, strict: true }] })
    const closed = sendTool(whole)
    t.match(functionOf(closed.body), { strict: true, parameters: { additionalProperties: false } })
    t.same(closed.dropped, [])
    const nested = { type: 'object', properties: { b: { allOf: [whole] } }, required: ['b'] }
    for (const schema of [optional, { ...whole, additionalProperties: {} }, nested]) {
      const loose = sendTool(schema)
      t.match(functionOf(loose.body), { strict: false, parameters: schema })
      t.same(loose.dropped, ['strict'])
    }
    t.end()
  })
t.test('structured output that a provider guarantees stays guaranteed, or is named', t => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
  const messages = [{ role: 'user', content: 'hi' }]
  const ask = (schema: Json, target: string) =>
    translate(
      MESSAGES,
      {
        model: 'm',
        max_tokens: 9,
        messages,
        output_config: { format: { type: 'json_schema', schema } },
      },
      '/v1/messages',
      target,
    )
  t.match(ask(schema, CHAT).body.response_format, { json_schema: { strict: true } })
  t.match(ask(schema, RESPONSES).body.text, { format: { strict: true } })
  const loose = ask({ ...schema, required: [] }, CHAT)
  t.match(loose.body.response_format, { json_schema: { strict: false } })
  t.same(loose.dropped, ['form'])
  const contents = [geminiUser({ text: 'hi' })]
  const generationConfig = { responseMimeType: 'application/json', responseJsonSchema: schema }
  const path = '/v1beta/models/m:generateContent'
  const google = translate(GEMINI, { contents, generationConfig }, path, CHAT)
  t.match(google.body.response_format, { json_schema: { strict: true } })
  t.end()
})

t.test('chat: long names of users are digests, and at most four stop sequences are sent', t => {
  const settings = {
    user: 'u'.repeat(150),
    cacheKey: 'k'.repeat(65),
    stops: ['a', 'b', 'c', 'd', 'e'],
  }
  const { body, dropped } = send(CHAT, { settings })
  t.match(body, { user: /^[\w-]{43}$/, prompt_cache_key: /^[\w-]{43}$/ })
  t.same(body.stop, ['a', 'b', 'c', 'd'])
  t.same(dropped, ['stops'])
  t.match(send(CHAT, { settings: { user: 'u'.repeat(64) } }).body, { user: 'u'.repeat(64) })
  t.end()
})

t.test('messages: a forced call wins over an effort', t => {
  const tools = [{ type: 'function', name: 'f' }] as const
  const thinking = { mode: 'effort', effort: 'low' } as const
  for (const choice of [{ type: 'required' }, { type: 'tool', name: 'f' }] as const) {
    const { body, dropped } = send(MESSAGES, { tools, choice, thinking })
    t.match(body, { tool_choice: { type: choice.type === 'tool' ? 'tool' : 'any' } })
    t.notOk('thinking' in body)
    t.same(dropped, ['thinking'])
    const adaptive = send(MESSAGES, { tools, choice, thinking }, { thinking: 'adaptive' })
    t.match(adaptive.body, { output_config: { effort: 'low' }, thinking: undefined })
    t.same(adaptive.dropped, [])
  }
  t.end()
})

t.test('gemini: thoughts of a client that asks for them are included, within the limit', t => {
  const thinking = { type: 'enabled', budget_tokens: 24_576 }
  const request = { model: 'm', max_tokens: 32_000, messages: [{ role: 'user', content: 'hi' }] }
  const { prompt } = decodePrompt(MESSAGES, { ...request, thinking }, '/v1/messages')
  const { body } = send(GEMINI, prompt, { thinking: 'budget', thinking_most: 24_576 })
  t.match(body.generationConfig, {
    maxOutputTokens: 8_192,
    thinkingConfig: { includeThoughts: true, thinkingBudget: 6_553 },
  })
  t.end()
})

t.test('messages: a text of white space alone is not sent', t => {
  const content = [{ type: 'text', text: ' \n' }] as const
  const turns = [...HELLO, { role: 'assistant', content }, ...HELLO] as const
  t.same(send(MESSAGES, { turns }).body.messages, [
    user({ type: 'text', text: 'hi' }, { type: 'text', text: 'hi' }),
  ])
  t.match(send(MESSAGES, { turns: [{ role: 'user', content }] }).body.messages, [
    user({ type: 'text', text: '.' }),
  ])
  t.end()
})

for (const target of [CHAT, RESPONSES])
  t.test(`${target}: functions have properties, and arrays have items`, t => {
    const list = { type: 'array' }
    const nested = { type: 'object', properties: { list, lists: { type: 'array', items: list } } }
    const sendTool = (schema: Json) =>
      functionOf(send(target, { tools: [{ type: 'function', name: 'f', schema }] }).body)
    const filled = { type: 'array', items: {} }
    t.match(sendTool(nested).parameters, {
      properties: { list: filled, lists: { type: 'array', items: filled } },
    })
    t.same(sendTool({ type: 'object' }).parameters, EMPTY_SCHEMA)
    const tuple = { type: 'object', properties: { a: { type: 'array', prefixItems: [] } } }
    t.same(sendTool(tuple).parameters, tuple)
    t.end()
  })
t.test('chat: audio of an earlier answer is named as dropped', t => {
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', audio: { id: 'audio_1' } },
    { role: 'user', content: 'and?' },
  ]
  t.same(decodePrompt(CHAT, { model: 'm', messages }).dropped, ['messages[1].audio'])
  const silent = messages.map(each => ({ ...each, audio: null }))
  t.same(decodePrompt(CHAT, { model: 'm', messages: silent }).dropped, [])
  t.end()
})
t.test('responses: settings of a container are named as dropped', t => {
  const container = { type: 'auto', file_ids: ['file_1'], memory_limit: '4g' }
  const tools = [{ type: 'code_interpreter', container }]
  t.same(decodePrompt(RESPONSES, { model: 'm', input: 'hi', tools }).dropped, [
    'tools[0].container.file_ids',
    'tools[0].container.memory_limit',
  ])
  t.end()
})
t.test('responses: what a file search of a history found is text at other providers', t => {
  const results = [
    { file_id: 'file_1', filename: 'a.txt', text: 'Paris has 2 million people.', score: 0.9 },
    { file_id: 'file_2', text: 'Lyon has less.' },
  ]
  const search = { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['q'] }
  const input = [
    { role: 'user', content: 'hi' },
    { ...search, results },
  ]
  const { body } = translate(RESPONSES, { model: 'm', input }, '/v1/responses', CHAT)
  t.match(JSON.stringify(body.messages), /a\.txt\\nParis has.*- file_2\\nLyon has less/)
  t.end()
})
t.test('chat: an empty turn of the assistant is not sent', t => {
  const hi = { role: 'user', content: 'hi' }
  const request = {
    model: 'm',
    max_tokens: 9,
    messages: [hi, { role: 'assistant', content: '' }, hi],
  }
  t.same(translate(MESSAGES, request, '/v1/messages', CHAT).body.messages, [hi, hi])
  t.end()
})
