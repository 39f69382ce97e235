/** Streams for messages clients made from other formats, read by the official SDK. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Part } from '../../../../plugins/formats/hub/answer.ts'
import { codecOf, contextWith } from '../../../helpers/formats/codec.ts'
import { NAME, startSdkReader } from './messages.ts'
import {
  BEGIN,
  call,
  close,
  END,
  eventTypes,
  grow,
  open,
  readBySdk,
  stop,
  TEXT,
  writeAll,
} from './part-builders.ts'

const stage = await startSdkReader(t)
const read = readBySdk(stage)

t.test('messages stream encoder: writes the events of a text in order', async t => {
  const sse = writeAll(
    BEGIN,
    open(0, TEXT),
    grow(0, 'a'),
    close(0),
    stop('end'),
    { type: 'count', meters: { input: 3, cached: 4, output: 2, thinking: 5 } },
    END,
  )
  t.same(eventTypes(sse), [
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  t.match(await stage.read(sse), {
    id: 'msg_0123456789abcdef',
    model: 'asked',
    content: [{ type: 'text', text: 'a' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 7 },
  })
})
t.test('messages stream encoder: writes interleaved calls in sequence (edge 1)', async t => {
  const parts = [
    BEGIN,
    open(0, call('a')),
    open(1, call('b')),
    grow(0, '{"x"'),
    grow(1, '{"y"'),
    grow(0, ':1}'),
    grow(1, ':2}'),
  ]
  const sse = writeAll(...parts, stop('call'), END)
  const indices = [...sse.matchAll(/"index":(\d+)/g)].map(([, index]) => Number(index))
  t.same(
    indices,
    [...indices].sort((one, other) => one - other),
    'no delta follows a stop',
  )
  t.match(await stage.read(sse), {
    content: [
      { id: 'a', input: { x: 1 } },
      { id: 'b', input: { y: 2 } },
    ],
    stop_reason: 'tool_use',
  })
})
t.test('messages stream encoder: fails if too many interleaved blocks wait', async t => {
  const encoder = codecOf(NAME).encodeStream(contextWith())
  encoder.push(open(0, TEXT))
  encoder.push(open(1, TEXT))
  t.throws(() => encoder.push(grow(1, 'x'.repeat(5 * 1024 * 1024))), {
    code: 'ANSWER_TANGLED',
    status: 502,
  })
})
t.test('messages stream encoder: ignores further candidates', async t => {
  const message = await read(
    BEGIN,
    open(0, TEXT),
    open(1, TEXT, 1),
    grow(1, 'b'),
    grow(0, 'a'),
    close(1),
    close(0),
    stop('end'),
    { type: 'stop', choice: 1, stop: { reason: 'length' } } as Part,
    END,
  )
  t.match(message, { content: [{ text: 'a' }], stop_reason: 'end_turn' })
  t.equal((message.content as Json[]).length, 1)
})
t.test('messages stream encoder: ends a broken answer with an error (edge 5)', async t => {
  const sse = writeAll(BEGIN, stop('broken', 'MALFORMED_FUNCTION_CALL'), END)
  t.same(eventTypes(sse), ['message_start', 'error'])
  await t.rejects(stage.read(sse), /MALFORMED_FUNCTION_CALL/)
})
t.test('messages stream encoder: passes an error in mid-stream (edge 17)', async t => {
  const encoder = codecOf(NAME).encodeStream(contextWith())
  const text = [BEGIN, open(0, TEXT), grow(0, 'a')].map(part => encoder.push(part)).join('')
  const failure = encoder.failure({
    type: 'error',
    error: { type: 'overloaded_error', message: 'Later.' },
    request_id: 'r',
  })
  t.notMatch(text + failure, /message_stop/)
  await t.rejects(stage.read(text + failure), /Later/)
  await t.rejects(stage.read(text), /stream ended|request ended/i, 'a truncated stream is an error')
})
t.test('messages stream encoder: writes an empty stream (edge 6)', async t => {
  t.match(await read(END), {
    content: [],
    stop_reason: 'end_turn',
    usage: { input_tokens: 0, output_tokens: 0 },
  })
})
t.test('messages stream encoder: writes early usage at the start and again at the end', async t => {
  const sse = writeAll({ ...BEGIN, meters: { input: 9 } } as Part, stop('length'), END)
  t.match(sse, /message_start.*"input_tokens":9/)
  t.match(await stage.read(sse), { stop_reason: 'max_tokens', usage: { input_tokens: 9 } })
})
