/** Answers of Cohere's chat, plain and streamed: both give the same content, stops and counts. */
import t from 'tap'
import { cohereChat } from '../../../../plugins/formats/cohere-chat/index.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Part } from '../../../../plugins/formats/hub/answer.ts'
import { Collector } from '../../../../plugins/formats/hub/answer-parts.ts'
import { eventsIn } from '../../../../plugins/formats/stream/sse.ts'
import { CALLS, EVENTS, PLAIN } from '../../../fixtures/upstream/cohere.ts'

const decode = (text: string) => {
  const decoder = cohereChat.codec.decodeStream()
  const parts: Part[] = []
  for (const event of eventsIn(Buffer.from(text))) decoder.push(event, part => parts.push(part))
  const isClosed = decoder.close(part => parts.push(part))
  const collector = new Collector()
  for (const part of parts) collector.add(part)
  return { parts, isClosed, answer: collector.answer() }
}

t.test('cohere answer: thoughts, text with citations, counts', async t => {
  const { answer, isClosed } = decode(EVENTS)
  t.ok(isClosed)
  const expected = {
    id: 'c-1',
    choices: [
      {
        content: [
          { type: 'thought', text: 'Let me see.' },
          {
            type: 'text',
            text: 'Rome is old.',
            citations: [{ url: 'https://a.example/rome', title: 'Rome', start: 0, end: 4 }],
          },
        ],
        stop: { reason: 'end', raw: 'COMPLETE' },
      },
    ],
    meters: { input: 5, cached: 3, output: 4 },
  }
  t.same(cohereChat.codec.decodeAnswer(PLAIN), expected)
  t.same(answer, expected)
})

t.test('cohere answer: a plan and parallel calls', async t => {
  const { answer } = decode(CALLS)
  t.same(answer.choices[0], {
    content: [
      { type: 'thought', text: 'I will look.' },
      { type: 'call', id: 'get_1', name: 'get', input: '{"x":1}' },
      { type: 'call', id: 'get_2', name: 'get', input: '{}' },
    ],
    stop: { reason: 'call', raw: 'TOOL_CALL' },
  })
  const plain = cohereChat.codec.decodeAnswer({
    message: {
      tool_plan: 'I will look.',
      tool_calls: [{ id: 'get_2', type: 'function', function: { name: 'get' } }],
    },
    finish_reason: 'COMPLETE',
  })
  t.match(plain.choices[0], {
    content: [{ type: 'thought' }, { type: 'call', id: 'get_2', input: '{}' }],
    stop: { reason: 'call' },
  })
})

t.test('cohere answer: every finish reason', async t => {
  const reasonOf = (finish_reason: string) =>
    cohereChat.codec.decodeAnswer({ message: {}, finish_reason }).choices[0]?.stop.reason
  for (const [raw, reason] of [
    ['COMPLETE', 'end'],
    ['STOP_SEQUENCE', 'sequence'],
    ['MAX_TOKENS', 'length'],
    ['TOOL_CALL', 'call'],
    ['ERROR_TOXIC', 'filter'],
    ['ERROR', 'broken'],
    ['TIMEOUT', 'broken'],
    ['NEW_REASON', 'end'],
    ['constructor', 'end'],
  ] as const)
    t.equal(reasonOf(raw), reason, raw)
})

t.test('cohere answer: a stream without its end is not complete', async t => {
  const cut = EVENTS.slice(0, EVENTS.indexOf('event: message-end'))
  t.equal(decode(cut).isClosed, false)
  t.equal(decode(`${EVENTS}${CALLS}`).parts.filter(({ type }) => type === 'end').length, 1)
  const strange = 'data: {"type":"debug"}\n\ndata: 7\n\ndata: {"type":"content-delta"}\n\n'
  t.doesNotThrow(() => decode(strange))
})

t.test('cohere answer: errors at the end of a stream', async t => {
  const errorIn = (fields: Fields) => {
    const [event] = eventsIn(Buffer.from(`data: ${JSON.stringify(fields)}\n\n`))
    return event && cohereChat.stream.error(event)
  }
  const end = (delta: Fields) => ({ type: 'message-end', delta })
  t.match(errorIn(end({ finish_reason: 'ERROR', error: 'no' })), {
    status: 502,
    body: { message: 'no' },
  })
  t.match(errorIn(end({ finish_reason: 'TIMEOUT' })), { status: 504 })
  t.equal(errorIn(end({ finish_reason: 'COMPLETE' })), undefined)
  t.match(cohereChat.codec.decodeError(422, { message: 'bad' }), { status: 422, message: 'bad' })
})
