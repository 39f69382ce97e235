/** Blocks in streams of messages upstreams: fragmented, interleaved, nested and of unknown
 *  types. */
import t from 'tap'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import {
  call,
  close,
  decodeEvents,
  delta,
  type Event,
  end,
  inputDelta,
  open,
  START,
  STOP,
  TEXT,
  textDelta,
} from './event-builders.ts'
import { NAME } from './messages.ts'

t.test('messages stream decoder: reads missing, empty and early arguments (edge 16)', async t => {
  const input = (...events: readonly Event[]) =>
    decodeEvents(START, ...events, close(0), STOP).content[0]
  t.match(input(open(0, call('1'))), { input: '{}' })
  t.match(input(open(0, call('1')), inputDelta(0, '')), { input: '{}' })
  t.match(input(open(0, { ...call('1'), input: { a: 1 } })), { input: '{"a":1}' })
  t.match(
    input(open(0, { ...call('1'), input: { a: 1 } }), inputDelta(0, '{"b":'), inputDelta(0, '2}')),
    {
      input: '{"b":2}',
    },
  )
})
t.test('messages stream decoder: keeps interleaved calls apart (edge 1)', async t => {
  const { content } = decodeEvents(
    START,
    open(0, call('1')),
    open(1, call('2')),
    inputDelta(0, '{"a"'),
    inputDelta(1, '{"b"'),
    inputDelta(0, ':1}'),
    inputDelta(1, ':2}'),
    close(1),
    close(0),
    end('tool_use'),
    STOP,
  )
  t.match(content, [
    { id: '1', input: '{"a":1}' },
    { id: '2', input: '{"b":2}' },
  ])
})
t.test('messages stream decoder: block indices are not choices (edge 25)', async t => {
  const { parts } = decodeEvents(
    START,
    open(7, TEXT),
    textDelta(7, 'a'),
    close(7),
    end('end_turn'),
    STOP,
  )
  t.match(parts[1], { type: 'open', index: 0, choice: 0 })
})
t.test('messages stream decoder: keeps a signature without text (edge 10)', async t => {
  const { content } = decodeEvents(
    START,
    open(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'signature_delta', signature: 's' }),
    close(0),
    open(1, { type: 'redacted_thinking', data: 'd' }),
    close(1),
    STOP,
  )
  t.same(content, [
    { type: 'thought', text: '', payload: { origin: NAME, data: 's' } },
    { type: 'thought', text: '', payload: { origin: NAME, data: 'd', kind: 'redacted' } },
  ])
})
t.test('messages stream decoder: closes open, reopened and unopened blocks', async t => {
  t.match(decodeEvents(START, open(0, TEXT), textDelta(0, 'a'), end('end_turn'), STOP).content, [
    { text: 'a' },
  ])
  const again = decodeEvents(
    START,
    open(0, TEXT),
    textDelta(0, 'a'),
    open(0, TEXT),
    textDelta(0, 'b'),
    STOP,
  )
  t.match(again.content, [{ text: 'a' }, { text: 'b' }])
  t.match(decodeEvents(START, textDelta(0, 'a'), textDelta(0, 'b'), STOP).content, [{ text: 'ab' }])
  t.same(decodeEvents(START, inputDelta(3, '{}'), close(3), STOP).content, [])
})
t.test('messages stream decoder: keeps unknown blocks for their provider', async t => {
  const { content } = decodeEvents(
    START,
    ['ping'] as Event,
    ['of_the_future', { index: 0 }] as Event,
    open(0, TEXT),
    delta(0, { type: 'mood_delta', mood: 1 }),
    textDelta(0, 'a'),
    close(0),
    open(1, { type: 'of_the_future', x: 1 }),
    close(1),
    end('end_turn'),
    STOP,
  )
  t.match(content, [
    { text: 'a' },
    { type: 'hostedCall', tool: 'other', raw: { items: [{ type: 'of_the_future', x: 1 }] } },
  ])
})
t.test('messages decoder: joins a search and its result (edge 26)', async t => {
  const use = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
  const matches = {
    type: 'web_search_result',
    url: 'https://a',
    title: 'A',
    encrypted_content: 'e',
  }
  const result = { type: 'web_search_tool_result', tool_use_id: 's', content: [matches] }
  const citation = {
    type: 'web_search_result_location',
    url: 'https://a',
    title: 'A',
    cited_text: 'q',
    encrypted_index: 'i',
  }
  const { content, stop } = decodeEvents(
    START,
    open(0, use),
    inputDelta(0, '{"query":"x"}'),
    close(0),
    open(1, result),
    close(1),
    open(2, TEXT),
    delta(2, { type: 'citations_delta', citation }),
    textDelta(2, 'b'),
    close(2),
    end('end_turn'),
    STOP,
  )
  t.match(content, [
    {
      type: 'hostedCall',
      tool: 'web_search',
      input: 'x',
      sources: [{ url: 'https://a', title: 'A', payload: { data: 'e' } }],
      raw: { origin: NAME, items: [{ input: { query: 'x' } }, result] },
    },
    {
      text: 'b',
      citations: [{ url: 'https://a', title: 'A', quote: 'q', payload: { data: 'i' } }],
    },
  ])
  t.match(stop, { reason: 'end' })
})
t.test('messages decoder: keeps the order of nested hosted calls', async t => {
  const use = (id: string, name: string): Fields => ({
    type: 'server_tool_use',
    id,
    name,
    input: {},
  })
  const code = {
    type: 'code_execution_tool_result',
    tool_use_id: 'c',
    content: { type: 'code_execution_result', stdout: 'o', stderr: 'e' },
  }
  const page = {
    type: 'web_fetch_tool_result',
    tool_use_id: 'f',
    content: { type: 'web_fetch_tool_result_error', error_code: 'unavailable' },
  }
  const { content } = decodeEvents(
    START,
    open(0, use('c', 'code_execution')),
    close(0),
    open(1, use('f', 'web_fetch')),
    close(1),
    open(2, page),
    open(3, code),
    open(4, use('w', 'web_search')),
    close(4),
    end('pause_turn'),
    STOP,
  )
  t.match(content, [
    {
      tool: 'code_execution',
      output: 'oe',
      raw: { items: [use('c', 'code_execution'), use('f', 'web_fetch'), page, code] },
    },
    { tool: 'web_fetch', error: 'unavailable', raw: { items: [] } },
    { tool: 'web_search', raw: { items: [use('w', 'web_search')] } },
  ])
})
t.test('messages decoder: restores structured output and free-text tools', async t => {
  const { content, stop } = decodeEvents(
    START,
    open(0, call('1', 'tollgate_answer_in_form')),
    inputDelta(0, '{"a":'),
    inputDelta(0, '1}'),
    close(0),
    end('tool_use'),
    STOP,
  )
  t.same(content, [{ type: 'text', text: '{"a":1}' }])
  t.match(stop, { reason: 'end' })
  const free = decodeEvents(
    START,
    open(0, call('1', 'tollgate_text_run')),
    inputDelta(0, '{"input":'),
    inputDelta(0, '"ls"}'),
    close(0),
    STOP,
  )
  t.match(free.content, [{ type: 'call', name: 'run', isFreeText: true, input: 'ls' }])
})
