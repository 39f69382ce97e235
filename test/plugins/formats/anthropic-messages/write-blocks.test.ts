/** Blocks in streams for messages clients: calls, thoughts, hosted calls and their payloads. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Part } from '../../../../plugins/formats/hub/answer.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import { NAME, startSdkReader } from './messages.ts'
import {
  BEGIN,
  call,
  close,
  END,
  grow,
  open,
  readBySdk,
  stop,
  TEXT,
  THOUGHT,
} from './part-builders.ts'

const stage = await startSdkReader(t)
const read = readBySdk(stage)

t.test('messages stream encoder: writes a call without arguments (edge 16)', async t => {
  t.match(await read(BEGIN, open(0, call('a')), close(0), stop('call'), END), {
    content: [{ type: 'tool_use', input: {} }],
  })
  t.match(await read(BEGIN, open(0, call('a')), grow(0, '{}'), close(0), stop('call'), END), {
    content: [{ input: {} }],
  })
})
t.test('messages stream encoder: converts invalid ids reversibly (edge 18)', async t => {
  const message = await read(BEGIN, open(0, call('call|1')), close(0), stop('call'), END)
  const [block] = message.content as readonly Fields[]
  t.match(block?.id, /^[A-Za-z0-9_-]+$/)
  const { prompt } = decodePrompt(NAME, {
    messages: [{ role: 'assistant', content: message.content as Json }],
  })
  t.match(prompt.turns[0]?.content[0], { id: 'call|1' })
})
t.test('messages stream encoder: writes a signature at any position', async t => {
  const payload = { origin: NAME, data: 's' }
  const message = await read(
    BEGIN,
    open(0, THOUGHT),
    grow(0, 'hm'),
    { type: 'payload', index: 0, payload } as Part,
    close(0),
    open(1, { ...THOUGHT, payload } as Content),
    close(1),
    open(2, THOUGHT),
    grow(2, 'so'),
    close(2),
    open(3, { ...THOUGHT, payload: { ...payload, kind: 'redacted' } } as Content),
    close(3),
    stop('end'),
    END,
  )
  t.same(message.content, [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'thinking', thinking: '', signature: 's' },
    { type: 'thinking', thinking: 'so', signature: '' },
    { type: 'redacted_thinking', data: 's' },
  ])
})
t.test('messages stream encoder: carries foreign payloads in place (edges 7 and 8)', async t => {
  const payload = { origin: 'google-gemini', data: 'signed' }
  const thought = { origin: 'openai-responses', data: 'encrypted', id: 'rs_1' }
  const message = await read(
    BEGIN,
    open(0, THOUGHT),
    grow(0, 'hm'),
    { type: 'payload', index: 0, payload: thought } as Part,
    close(0),
    open(1, { ...call('a'), payload } as Content),
    close(1),
    open(2, call('b')),
    close(2),
    open(3, TEXT),
    grow(3, 'x'),
    { type: 'payload', index: 3, payload } as Part,
    close(3),
    stop('call'),
    END,
  )
  t.notMatch(JSON.stringify(message), /"signed"|"encrypted"/)
  const { prompt } = decodePrompt(NAME, {
    messages: [{ role: 'assistant', content: message.content as Json }],
  })
  t.match(prompt.turns[0]?.content, [
    { type: 'thought', text: 'hm', payload: thought },
    { type: 'thought', text: '', payload },
    { type: 'call', id: 'a' },
    { type: 'call', id: 'b' },
    { type: 'text', text: 'x' },
    { type: 'thought', text: '', payload },
  ])
  const request = encodePrompt(NAME, prompt).body
  t.notMatch(
    JSON.stringify(request),
    /thinking|dG9sbGdhdGU6/,
    'it is not sent to an upstream of this format',
  )
})
t.test('messages stream encoder: writes and restores foreign hosted calls', async t => {
  const raw = { origin: 'openai-responses', items: [{ type: 'web_search_call', id: 'ws_1' }] }
  const startedCall: Content = { type: 'hostedCall', tool: 'web_search', id: 'ws_1', input: {} }
  const completedCall: Content = {
    ...startedCall,
    input: 'news',
    sources: [{ url: 'https://a', title: 'A' }],
    raw,
  }
  const code: Content = {
    type: 'hostedCall',
    tool: 'code_execution',
    id: 'ci',
    input: 'print(1)',
    output: '1\n',
  }
  const message = await read(
    BEGIN,
    open(0, startedCall),
    close(0, completedCall),
    open(1, code),
    close(1),
    stop('end'),
    END,
  )
  t.match(message.content, [
    {
      type: 'server_tool_use',
      name: 'web_search',
      id: 'srvtoolu_ws_1',
      input: { query: 'news' },
    },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_ws_1',
      content: [{ url: 'https://a' }],
    },
    { type: 'thinking', thinking: '' },
    { type: 'server_tool_use', name: 'code_execution', input: { code: 'print(1)' } },
    { type: 'code_execution_tool_result', content: { stdout: '1\n', return_code: 0 } },
  ])
  const { prompt } = decodePrompt(NAME, {
    messages: [{ role: 'assistant', content: message.content as Json }],
  })
  const [search, executions, ...others] = prompt.turns[0]?.content ?? []
  t.match(search, { type: 'hostedCall', tool: 'web_search', input: 'news', raw })
  t.match(executions, { type: 'hostedCall', tool: 'code_execution', output: '1\n' })
  t.same(others, [])
})
t.test('messages stream encoder: writes every hosted tool, successful and failed', async t => {
  const tools = [
    'web_search',
    'web_fetch',
    'url_context',
    'code_execution',
    'file_search',
    'image_generation',
    'other',
  ] as const
  for (const tool of tools)
    for (const error of [undefined, 'unavailable']) {
      const hostedCall: Content = {
        type: 'hostedCall',
        tool,
        id: 'w',
        input: null,
        ...(error && { error: error }),
      }
      const message = await read(BEGIN, open(0, hostedCall), close(0), stop('end'), END)
      t.match(message.content, [{ type: 'server_tool_use' }], tool)
    }
})
t.test('messages stream encoder: attaches foreign citations (edge 26)', async t => {
  const cite = {
    type: 'cite',
    index: 0,
    citation: { url: 'https://a', title: 'A', start: 0, end: 1 },
  } as const
  const document = { type: 'cite', index: 0, citation: { document: 2, quote: 'q' } } as const
  const message = await read(
    BEGIN,
    open(0, TEXT),
    grow(0, 'x'),
    cite,
    document,
    close(0),
    stop('end'),
    END,
  )
  t.match(message.content, [
    {
      text: 'x',
      citations: [
        { type: 'web_search_result_location', url: 'https://a', title: 'A' },
        { type: 'char_location', document_index: 2, cited_text: 'q' },
      ],
    },
  ])
})
t.test('messages stream encoder: writes refusals and images as text', async t => {
  const image: Content = {
    type: 'media',
    kind: 'image',
    source: { type: 'url', url: 'https://a/b.png' },
  }
  const message = await read(
    BEGIN,
    open(0, TEXT),
    close(0),
    open(1, { type: 'refusal', text: '' }),
    grow(1, 'No.'),
    close(1),
    open(2, image),
    close(2),
    stop('filter', 'unsafe'),
    END,
  )
  t.match(message, {
    content: [
      { type: 'text', text: 'No.' },
      { type: 'text', text: '![image](https://a/b.png)' },
    ],
    stop_reason: 'refusal',
    stop_details: { explanation: 'unsafe' },
  })
})
