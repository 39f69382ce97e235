/** Chat requests in both directions: every kind of message, part and tool. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { clientNamesIn } from '../../../../plugins/formats/hub/setting-aliases.ts'
import { writeThinking } from '../../../../plugins/formats/openai-chat/settings.ts'
import { writeTools } from '../../../../plugins/formats/openai-chat/tools.ts'
import { decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import {
  assistant,
  chatCall as call,
  imagePart,
  user,
} from '../../../helpers/formats/request-parts.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'

const NAME = 'openai-chat'
const requestWith = (content: Json) => ({ model: 'm', messages: [{ role: 'user', content }] })
const parts = (...content: Json[]): readonly Content[] =>
  decodePrompt(NAME, requestWith(content)).prompt.turns[0]?.content ?? []
const bodyOf = (body: Json) => encodePrompt(NAME, decodePrompt(NAME, body).prompt).body

t.test('chat decoder: reads every kind of user part', t => {
  const [text, image, inline, sound, file] = parts(
    { type: 'text', text: 'see' },
    { type: 'image_url', image_url: { url: 'https://a.example/x.png', detail: 'low' } },
    imagePart('data:image/png;base64,AAAA'),
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
  )
  t.match(text, { type: 'text', text: 'see' })
  t.match(image, {
    kind: 'image',
    source: { type: 'url', url: 'https://a.example/x.png' },
    detail: 'low',
  })
  t.match(inline, { kind: 'image', source: { type: 'data', data: 'AAAA', mime: 'image/png' } })
  t.match(sound, { kind: 'audio', source: { mime: 'audio/mpeg' } })
  t.match(file, {
    kind: 'document',
    name: 'a.pdf',
    source: { data: 'BBBB', mime: 'application/pdf' },
  })
  t.end()
})

t.test('chat decoder: recognises a video by the extension of its path, whatever the query', t => {
  const kindOf = (url: string) => {
    const [part] = parts(imagePart(url))
    return part?.type === 'media' ? part.kind : undefined
  }
  for (const url of [
    'https://a.example/x.mp4',
    'https://a.example/X.MOV?sig=a.png',
    'https://a.example/d/y.avi#t',
  ])
    t.equal(kindOf(url), 'video', url)
  for (const url of ['https://a.example/x.png?f=y.mp4', 'https://a.example/mp4', 'not an address'])
    t.equal(kindOf(url), 'image', url)
  t.equal(kindOf('data:video/mp4;base64,AAAA'), 'video')
  t.end()
})

t.test('chat decoder: merges results of parallel calls and puts them first (edge 19)', t => {
  const { prompt } = decodePrompt(NAME, {
    messages: [
      { role: 'assistant', content: null, tool_calls: [call('a', 'one'), call('b', 'two')] },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: '2' }] },
      { role: 'user', content: 'go on' },
    ],
  })
  t.same(
    prompt.turns.map(({ role }) => role),
    ['assistant', 'user', 'user'],
  )
  t.match(prompt.turns[1]?.content, [
    { type: 'result', id: 'a', name: 'one' },
    { type: 'result', id: 'b', name: 'two' },
  ])
  t.end()
})

t.test('chat encoder: sends images of tool results last (edge 20)', t => {
  const source = { type: 'data', data: 'AAAA', mime: 'image/png' } as const
  const { body } = encodePrompt(NAME, {
    ...decodePrompt(NAME, { messages: [] }).prompt,
    turns: [
      user(
        { type: 'result', id: 'a', content: [{ type: 'media', kind: 'image', source }] },
        { type: 'result', id: 'b', content: [{ type: 'text', text: 'two' }], hasFailed: true },
        { type: 'text', text: 'well?' },
      ),
    ],
  })
  t.match(body.messages, [
    { role: 'tool', tool_call_id: 'a', content: '[image below]' },
    { role: 'tool', tool_call_id: 'b', content: 'Error: two' },
    user({ type: 'image_url' }, { type: 'text', text: 'well?' }),
  ])
  t.end()
})

t.test('chat codec: converts and restores ids (edge 18)', t => {
  const id = `функция|${'x'.repeat(30)}`
  const turns = [
    assistant({ type: 'call', id, name: 'f', input: '{}' }),
    user({ type: 'result', id, content: [] }),
  ] as const
  const { body } = encodePrompt(NAME, { ...decodePrompt(NAME, { messages: [] }).prompt, turns })
  const messages = body.messages as never as readonly {
    tool_calls?: { id: string }[]
    tool_call_id?: string
  }[]
  const request = messages[0]?.tool_calls?.[0]?.id ?? ''
  t.match(request, /^[A-Za-z0-9_-]{1,64}$/)
  t.equal(messages[1]?.tool_call_id, request)
  const back = decodePrompt(NAME, body).prompt.turns[0]?.content[0]
  t.match(back, request.startsWith('call_x') ? { id } : { id: request })
  t.end()
})

t.test('chat decoder: distinguishes presets from functions of the same name', t => {
  const tool = (name: string, parameters?: Json) => ({
    type: 'function',
    function: { name, ...(parameters !== undefined && { parameters }) },
  })
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const { prompt } = decodePrompt(NAME, {
    messages: [],
    tools: [
      ...['gx_search', 'google_search', 'googleSearch'].map(name => tool(name)),
      tool('code_execution', {}),
      tool('urlContext'),
      tool('code_execution', schema),
      tool('mine'),
      { type: 'custom', custom: { name: 'free', format: { type: 'text' } } },
    ],
  })
  t.match(
    prompt.tools.map(each => (each.type === 'hosted' ? each.tool : each.type)),
    [
      ...Array(3).fill('web_search'),
      'code_execution',
      'url_context',
      'function',
      'function',
      'free',
    ],
  )
  t.end()
})

t.test('chat encoder: rejects a preset that the target lacks', async t => {
  const { prompt } = decodePrompt(NAME, {
    messages: [],
    tools: [{ type: 'function', function: { name: 'gx_search', description: 'search' } }],
  })
  const fault = await errorFrom(async () => encodePrompt(NAME, prompt))
  t.match(fault, { status: 400, code: 'TOOL_UNSUPPORTED', message: /gx_search/ })
})

t.test('chat codec: keeps settings and reports unknown fields', t => {
  const { prompt, dropped } = decodePrompt(NAME, {
    ...requestWith('hi'),
    temperature: 0.5,
    top_p: 0.9,
    stop: 'END',
    n: 2,
    seed: 7,
    max_tokens: 100,
    user: 'u',
    parallel_tool_calls: false,
    reasoning_effort: 'low',
    logit_bias: { 5: 1 },
    verbosity: 'low',
    response_format: { type: 'json_object' },
    ponder: {},
    prediction: null,
  })
  t.same(dropped, ['ponder'])
  t.match(prompt.settings, { limit: 100, stops: ['END'], candidates: 2, parallel: false })
  t.match(encodePrompt(NAME, prompt).body, {
    max_completion_tokens: 100,
    stop: ['END'],
    reasoning_effort: 'low',
  })
  t.same(encodePrompt(NAME, { ...prompt, settings: { topK: 4 } }).dropped, ['topK'])
  t.end()
})

t.test('chat encoder: rejects video, documents by URL and unsupported audio by path', async t => {
  for (const part of [
    imagePart('https://a.example/x.mp4'),
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'flac' } },
  ]) {
    const fault = await errorFrom(async () =>
      bodyOf(requestWith([{ type: 'text', text: 'a' }, part])),
    )
    t.match(fault, { status: 400, code: 'CONTENT_UNSUPPORTED', param: 'messages[0].content[1]' })
  }
})

t.test('chat encoder: a thinking budget becomes the least effort that reaches it', async t => {
  const effortOf = (budget: number) => writeThinking({ mode: 'budget', budget } as never)
  t.same([1, 1_024, 1_025, 8_192, 8_193].map(effortOf), ['low', 'low', 'medium', 'medium', 'high'])
  t.equal(writeThinking({ mode: 'off' }), 'none')
  t.equal(writeThinking({ mode: 'effort', effort: 'minimal' }), 'minimal')
  t.equal(writeThinking({ mode: 'auto' } as never), undefined)
})

t.test('chat decoder: names of settings are those that the client used', async t => {
  const aliases = { maxTokens: ['max_completion_tokens', 'max_tokens'] } as never
  const namesOf = (body: Readonly<Record<string, number | null>>) => {
    const dropped: string[] = []
    const { clientNames } = clientNamesIn(body, aliases, {
      add: (name: string) => dropped.push(name),
    } as never)
    return [Object.values(clientNames), dropped]
  }
  t.same(namesOf({ max_completion_tokens: 1 }), [['max_completion_tokens'], []])
  t.same(namesOf({ max_tokens: 1 }), [['max_tokens'], []])
  t.same(namesOf({ max_completion_tokens: null, max_tokens: 1 }), [['max_tokens'], []])
  const both = { max_completion_tokens: 1, max_tokens: 2 }
  t.same(namesOf(both), [['max_completion_tokens'], ['max_tokens']])
  t.same(namesOf({ ...both, max_tokens: 1 }), [['max_completion_tokens'], []])
  t.same(namesOf({}), [[], []])
})

t.test('chat encoder: a web search names a place only where the client did', async t => {
  const searchWith = (more: object) =>
    writeTools(
      {
        tools: [{ type: 'hosted', tool: 'web_search', clientName: 'web_search_options', ...more }],
      } as never,
      { add: () => {} } as never,
    ).web_search_options
  t.same(searchWith({}), {})
  t.same(searchWith({ depth: 'high', location: { country: 'DE' } }), {
    search_context_size: 'high',
    user_location: { type: 'approximate', approximate: { country: 'DE' } },
  })
})

t.test('chat decoder: usage in a stream only where the client asks for it', async t => {
  const asks = (stream_options: Json) =>
    decodePrompt(NAME, { ...requestWith('hi'), stream: true, stream_options }).prompt.includeUsage
  t.same([{ include_usage: true }, { include_usage: false }, {}].map(asks), [true, false, false])
})
