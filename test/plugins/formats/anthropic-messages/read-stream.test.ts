/** Streams of messages upstreams that no recording covers: truncated, unterminated, out of
 *  order. */
import t from 'tap'
import { decodeParts } from '../../../helpers/codec.ts'
import { thrownBy } from '../../../helpers/exchange.ts'
import {
  call,
  close,
  decodeEvents,
  type Event,
  end,
  inputDelta,
  open,
  START,
  STOP,
  TEXT,
  textDelta,
} from '../../../helpers/message-events.ts'
import { NAME } from '../../../helpers/messages.ts'

t.test('messages stream decoder: emits begin, usage and end once each, the end last', async t => {
  const { parts } = decodeEvents(
    START,
    open(0, TEXT),
    textDelta(0, 'a'),
    close(0),
    end('end_turn'),
    STOP,
    STOP,
    textDelta(0, 'b'),
  )
  const types = parts.map(({ type }) => type)
  t.same(types, ['begin', 'open', 'grow', 'close', 'count', 'stop', 'end'])
})
t.test('messages stream decoder: merges counts and never adds them (edge 13)', async t => {
  const usage = { input_tokens: 5, cache_creation_input_tokens: null, output_tokens: 3 }
  t.same(decodeEvents(START, end('end_turn', usage), STOP).answer.meters, { input: 5, output: 3 })
  t.same(
    decodeEvents(START, end('end_turn'), STOP).answer.meters,
    { input: 5, output: 3 },
    'without input counts',
  )
})
t.test('messages stream decoder: a null count at the end keeps the earlier value', async t => {
  const usage = { input_tokens: 5, cache_read_input_tokens: 4 }
  const start: Event = ['message_start', { message: { id: 'msg_1', usage } }]
  const last = { input_tokens: null, cache_read_input_tokens: null, output_tokens: 3 }
  t.same(decodeEvents(start, end('end_turn', last), STOP).answer.meters, {
    input: 5,
    cached: 4,
    output: 3,
  })
})
t.test('messages stream decoder: counts cached tokens apart (edge 12)', async t => {
  const usage = { cache_read_input_tokens: 7, cache_creation_input_tokens: 2, output_tokens: 3 }
  const { meters } = decodeEvents(START, end('end_turn', usage), STOP).answer
  t.same(meters, { input: 5, cached: 7, cache_write: 2, output: 3 })
})
t.test('messages stream decoder: is complete after the stop reason (edge 30)', async t => {
  t.ok(decodeEvents(START, open(0, TEXT), textDelta(0, 'a'), close(0), end('end_turn')).ended)
})
t.test('messages stream decoder: is incomplete before the stop reason (edge 17)', async t => {
  for (const events of [
    [START],
    [START, open(0, TEXT), textDelta(0, 'a')],
    [START, open(0, TEXT), close(0)],
    [],
  ]) {
    const { ended: hasEnded, parts } = decodeEvents(...events)
    t.notOk(hasEnded)
    t.notOk(parts.some(({ type }) => type === 'end' || type === 'stop'))
  }
})
t.test('messages stream decoder: ignores a null stop reason (edge 4)', async t => {
  const { parts, ended: hasEnded } = decodeEvents(
    START,
    open(0, TEXT),
    textDelta(0, 'a'),
    end(null),
  )
  t.notOk(parts.some(({ type }) => type === 'stop'))
  t.notOk(hasEnded)
  t.match(decodeEvents(START, end(null), end('max_tokens'), STOP).stop, { reason: 'length' })
})
t.test('messages stream decoder: a message_stop without a stop reason ends the answer', async t => {
  t.match(decodeEvents(START, open(0, TEXT), textDelta(0, 'a'), STOP).stop, { reason: 'end' })
  t.match(decodeEvents(START, open(0, call('1')), STOP).stop, { reason: 'call' })
})
t.test('messages stream decoder: a length limit wins over a tool call (edge 3)', async t => {
  t.match(
    decodeEvents(START, open(0, call('1')), inputDelta(0, '{'), end('max_tokens'), STOP).stop,
    {
      reason: 'length',
    },
  )
})
t.test('messages stream decoder: end_turn after a tool call counts as a call', async t => {
  t.match(decodeEvents(START, open(0, call('1')), close(0), end('end_turn'), STOP).stop, {
    reason: 'call',
    raw: 'end_turn',
  })
})
t.test('messages stream decoder: tool_use without a call counts as an end', async t => {
  t.match(decodeEvents(START, end('tool_use'), STOP).stop, { reason: 'end', raw: 'tool_use' })
})
t.test('messages stream decoder: maps every stop reason', async t => {
  const reasons: readonly (readonly [string, string])[] = [
    ['end_turn', 'end'],
    ['stop_sequence', 'sequence'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['pause_turn', 'pause'],
    ['refusal', 'refusal'],
    ['compaction', 'end'],
    ['of_the_future', 'end'],
  ]
  for (const [raw, reason] of reasons)
    t.match(decodeEvents(START, end(raw), STOP).stop, { raw, reason })
  const actual = decodeEvents(START, end('stop_sequence', {}, { stop_sequence: 'X' }), STOP).stop
  t.match(actual, { sequence: 'X' })
})
t.test('messages stream decoder: a refusal keeps its text and explanation', async t => {
  const stop_details = { type: 'refusal', category: 'bio', explanation: 'No.' }
  const { content, stop } = decodeEvents(
    START,
    open(0, TEXT),
    textDelta(0, 'Well'),
    close(0),
    end('refusal', {}, { stop_details }),
    STOP,
  )
  t.match(content, [{ text: 'Well' }])
  t.match(stop, { reason: 'refusal', message: 'No.' })
  const silent = decodeEvents(
    START,
    end('refusal', {}, { stop_details: { category: 'cyber', explanation: null } }),
    STOP,
  )
  t.match(silent.stop, { message: 'cyber' })
})
t.test('messages stream decoder: accepts a second message_start (edge 31)', async t => {
  const { parts, content } = decodeEvents(
    START,
    START,
    open(0, TEXT),
    textDelta(0, 'a'),
    close(0),
    end('end_turn'),
    STOP,
  )
  t.equal(parts.filter(({ type }) => type === 'begin').length, 1)
  t.match(content, [{ text: 'a' }])
  const anew = [START, open(0, call('1')), inputDelta(0, '{"a"'), START] as const
  t.match(await thrownBy(async () => decodeEvents(...anew)), {
    code: 'ANSWER_TANGLED',
    status: 502,
  })
})
t.test('messages stream decoder: tolerates null, missing and mistyped members', async t => {
  const odd: readonly Event[] = [
    ['message_start'],
    ['message_start', { message: null }],
    ['content_block_start', { index: null, content_block: null }],
    ['content_block_start', { content_block: { type: 7, text: 7 } }],
    [
      'content_block_start',
      { index: 0, content_block: { type: 'text', text: null, citations: 7 } },
    ],
    ['content_block_delta', { index: 0, delta: null }],
    ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: null } }],
    ['content_block_delta', { index: 0, delta: { type: 'citations_delta', citation: null } }],
    ['content_block_start', { index: 1, content_block: { type: 'tool_use' } }],
    ['content_block_start', { index: 2, content_block: { type: 'server_tool_use' } }],
    [
      'content_block_start',
      { index: 3, content_block: { type: 'web_search_tool_result', content: 7 } },
    ],
    ['message_delta', { delta: null, usage: null }],
    ['message_stop', { anything: 1 }],
  ]
  t.ok(decodeEvents(...odd).ended)
  const { parts } = decodeParts(NAME, 'data: {"type":"message_stop"}\n\n')
  t.match(parts.at(-1), { type: 'end' }, 'an unnamed event is read by its type')
  t.same(decodeParts(NAME, 'event: message_stop\ndata: not json\n\n').parts, [])
})
