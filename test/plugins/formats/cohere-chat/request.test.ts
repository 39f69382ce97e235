/** Requests to Cohere's chat: messages, tools, settings, and what it cannot carry. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { cohereChat } from '../../../../plugins/formats/cohere-chat/index.ts'
import type { Prompt } from '../../../../plugins/formats/hub/prompt.ts'
import { collectDropped, decodePrompt } from '../../../helpers/formats/codec.ts'
import {
  assistant,
  CACHED,
  chatCall,
  EMPTY_SCHEMA,
  imagePart,
  user,
} from '../../../helpers/formats/request-parts.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'

const encode = (prompt: Prompt, traits: { readonly [name: string]: Json } = {}) => {
  const dropped = collectDropped()
  const { path, body } = cohereChat.codec.encodePrompt(
    prompt,
    { name: 'command-a', traits },
    dropped,
  )
  return { path, body: body as { readonly [key: string]: Json }, dropped: dropped.fields }
}
const fromChat = (body: object, traits?: { readonly [name: string]: Json }) =>
  encode(decodePrompt('openai-chat', { model: 'm', messages: [], ...body } as Json).prompt, traits)
const fromMessages = (body: object) =>
  encode(
    decodePrompt('anthropic-messages', { model: 'm', max_tokens: 9, messages: [], ...body } as Json)
      .prompt,
  )

const call = chatCall('a.b', 'get', '{"x":1}')

t.test('cohere request: messages, images, calls and their results', async t => {
  const url = 'https://a.example/x.png'
  const { path, body, dropped } = fromChat({
    messages: [
      { role: 'developer', content: 'be brief' },
      user({ type: 'text', text: 'see' }, { type: 'image_url', image_url: { url, detail: 'low' } }),
      { role: 'assistant', content: 'ok', reasoning_content: 'hm', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a.b', content: '7' },
      { role: 'user', content: 'go on' },
    ],
    stream: true,
  })
  t.equal(path, '/v2/chat')
  t.same(dropped, [])
  const id = 'call_xYS5i'
  t.same(body, {
    model: 'command-a',
    messages: [
      { role: 'system', content: 'be brief' },
      user({ type: 'text', text: 'see' }, { type: 'image_url', image_url: { url, detail: 'low' } }),
      { role: 'assistant', content: 'ok', tool_calls: [{ ...call, id }] },
      { role: 'tool', tool_call_id: id, content: '7' },
      { role: 'user', content: 'go on' },
    ],
    stream: true,
  })
})

t.test('cohere request: results with images and failures', async t => {
  const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' }
  const { body } = fromMessages({
    messages: [
      assistant({ type: 'tool_use', id: 't', name: 'f', input: {} }),
      user({
        type: 'tool_result',
        tool_use_id: 't',
        is_error: true,
        content: [
          { type: 'text', text: 'no' },
          { type: 'image', source },
        ],
      }),
    ],
  })
  t.same(body.messages, [
    { role: 'assistant', tool_calls: [chatCall('t', 'f')] },
    { role: 'tool', tool_call_id: 't', content: 'Error: no\n[image below]' },
    user(imagePart('data:image/png;base64,AAAA')),
  ])
})

const tool = (name: string, more: object = {}) => ({
  type: 'function',
  function: { name, parameters: EMPTY_SCHEMA, ...more },
})

t.test('cohere request: the tool choice; a choice of some tools offers only these', async t => {
  const tools = [tool('a'), tool('b')]
  const choose = (choice: Json) => {
    const { body, dropped } = fromChat({ tools, tool_choice: choice })
    const names = (body.tools as unknown as readonly ReturnType<typeof tool>[] | undefined)?.map(
      each => each.function.name,
    )
    return [names, body.tool_choice, dropped]
  }
  t.same(choose('auto'), [['a', 'b'], undefined, []])
  t.same(choose('none'), [['a', 'b'], 'NONE', []])
  t.same(choose('required'), [['a', 'b'], 'REQUIRED', []])
  t.same(choose({ type: 'function', function: { name: 'b' } }), [['b'], 'REQUIRED', []])
  t.same(choose({ type: 'function', function: { name: 'c' } }), [undefined, undefined, ['choice']])
  const allowed = { mode: 'auto', tools: [{ type: 'function', function: { name: 'a' } }] }
  t.same(choose({ type: 'allowed_tools', allowed_tools: allowed }), [['a'], undefined, []])
  const strict = tool('a', { strict: true })
  t.match(fromChat({ tools: [strict] }), { body: { strict_tools: true }, dropped: [] })
  t.same(fromChat({ tools: [strict, tool('b')] }).dropped, ['strict'])
  const bare = { type: 'function', function: { name: 'a' } }
  t.match(fromChat({ tools: [bare] }).body.tools, [{ function: { parameters: EMPTY_SCHEMA } }])
})

t.test('cohere request: settings, structured output and thinking', async t => {
  const { body, dropped } = fromChat({
    max_tokens: 5,
    temperature: 0.3,
    top_p: 0.9,
    stop: ['a'],
    seed: 1,
    frequency_penalty: 0.1,
    presence_penalty: 0.2,
    user: 'ann',
    store: false,
    n: 1,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'n', schema: { type: 'object' } },
    },
    reasoning_effort: 'low',
  })
  const { messages: _, ...members } = body
  t.same(members, {
    model: 'command-a',
    max_tokens: 5,
    temperature: 0.3,
    p: 0.9,
    stop_sequences: ['a'],
    seed: 1,
    frequency_penalty: 0.1,
    presence_penalty: 0.2,
    response_format: { type: 'json_object', json_schema: { type: 'object' } },
    thinking: { type: 'enabled' },
    stream: false,
  })
  t.same(dropped, ['user'])
  const json = fromChat({ response_format: { type: 'json_object' }, reasoning_effort: 'none' })
  t.match(json.body, { response_format: { type: 'json_object' }, thinking: { type: 'disabled' } })
  const budget = fromMessages({ top_k: 3, thinking: { type: 'enabled', budget_tokens: 2_000 } })
  t.match(budget.body, { k: 3, thinking: { type: 'enabled', token_budget: 2_000 } })
  const plain = fromChat({ reasoning_effort: 'low' }, { thinking: false })
  t.match(plain, { body: { thinking: undefined }, dropped: ['thinking'] })
  const stops = fromMessages({ stop_sequences: ['a', 'b', 'c', 'd', 'e', 'f'] })
  t.same(stops.body.stop_sequences, ['a', 'b', 'c', 'd', 'e'])
  t.same(stops.dropped, ['stops'])
  t.same(fromChat({ n: 2 }).dropped, ['candidates'])
})

t.test(
  'cohere request: refuses content and tools that it cannot carry, with their place',
  async t => {
    const pdfUrl = 'data:application/pdf;base64,AAAA'
    const file = { type: 'file', file: { filename: 'a.pdf', file_data: pdfUrl } }
    const pdf = await errorFrom(() => fromChat({ messages: [user(file)] }))
    t.match(pdf, { status: 400, param: 'messages[0].content[0].file' })
    const search = { type: 'web_search_20250305', name: 'web_search' }
    t.match(await errorFrom(() => fromMessages({ tools: [search] })), {
      status: 400,
      param: 'tools',
    })
    const free = { type: 'custom', custom: { name: 'patch' } }
    t.match(await errorFrom(() => fromChat({ tools: [free] })), { status: 400, param: 'tools' })
  },
)

t.test('cohere request: reports hints that it cannot carry', async t => {
  const cache_control = CACHED
  const source = { type: 'text', media_type: 'text/plain', data: 'words' }
  const document = {
    type: 'document',
    source,
    title: 'T',
    context: 'c',
    citations: { enabled: true },
  }
  const { body, dropped } = fromMessages({
    system: [{ type: 'text', text: 'be brief', cache_control }],
    messages: [user(document, { type: 'text', text: 'hi' })],
  })
  t.same(new Set(dropped), new Set(['cache_control', 'citations', 'filename', 'context']))
  t.match(body.messages, [
    { role: 'system', content: 'be brief' },
    { content: [{ text: 'words' }, { text: 'hi' }] },
  ])
  const named = fromChat({ messages: [{ role: 'user', name: 'ann', content: 'hi' }] })
  t.same(named.dropped, ['name'])
})
