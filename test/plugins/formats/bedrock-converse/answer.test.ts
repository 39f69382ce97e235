/** Answers of Amazon Bedrock's Converse, plain and streamed: both give the same content, stops and
 *  counts. */
import t from 'tap'
import { bedrockConverse } from '../../../../plugins/formats/bedrock-converse/index.ts'
import type { Part } from '../../../../plugins/formats/hub/answer.ts'
import { Collector } from '../../../../plugins/formats/hub/answer-parts.ts'
import { AWS_FRAMING, writeFrame } from '../../../../plugins/formats/stream/aws-event-stream.ts'
import {
  CALLS,
  exception,
  FRAMES,
  PLAIN,
  PLAIN_CALLS,
  RECORDED,
} from '../../../fixtures/upstream/converse.ts'

const { codec, stream } = bedrockConverse
const decode = (frames: readonly Uint8Array[]) => {
  const decoder = codec.decodeStream()
  const parts: Part[] = []
  for (const event of AWS_FRAMING.eventsIn(Buffer.concat(frames)))
    decoder.push(event, part => parts.push(part))
  const { mayHaveEnded = false } = decoder
  const isClosed = decoder.close(part => parts.push(part))
  const collector = new Collector()
  for (const part of parts) collector.add(part)
  return { parts, isClosed, mayHaveEnded, answer: collector.answer() }
}
const meters = { input: 5, cached: 3, cache_write: 5, cache_write_1h: 2, output: 4 }
const origin = 'bedrock-converse'

t.test('converse answer: thoughts with signatures, cited text, counts', async t => {
  const expected = {
    choices: [
      {
        content: [
          { type: 'thought', text: 'Let me see.', payload: { origin, data: 'c2ln' } },
          {
            type: 'text',
            text: 'Rome is old.',
            citations: [{ url: 'https://a.example/rome', title: 'Rome', quote: 'old' }],
          },
        ],
        stop: { reason: 'end', raw: 'end_turn' },
      },
    ],
    meters,
  }
  t.same(codec.decodeAnswer(PLAIN), expected)
  const { answer, isClosed } = decode(FRAMES)
  t.ok(isClosed)
  t.same(answer, expected)
})

t.test('converse answer: parallel calls, one of them without input', async t => {
  const expected = {
    content: [
      { type: 'text', text: 'I look.' },
      { type: 'call', id: 'tooluse_1', name: 'get', input: '{"x":1}' },
      { type: 'call', id: 'tooluse_2', name: 'get', input: '{}' },
    ],
    stop: { reason: 'call', raw: 'tool_use' },
  }
  t.same(codec.decodeAnswer(PLAIN_CALLS).choices, [expected])
  t.same(decode(CALLS).answer.choices, [expected])
})

const stopFrames = [
  writeFrame('messageStop', { stopReason: 'tool_use' }),
  writeFrame('metadata', { usage: { inputTokens: 1, outputTokens: 1 } }),
]
const blockOf = (content: object, ...starts: readonly object[]) => [
  ...starts.map(start => writeFrame('contentBlockStart', { contentBlockIndex: 0, start })),
  writeFrame('contentBlockDelta', { contentBlockIndex: 0, delta: content }),
  writeFrame('contentBlockStop', { contentBlockIndex: 0 }),
]
const contentOf = (frames: readonly Uint8Array[]) =>
  decode([...frames, ...stopFrames]).answer.choices[0]?.content
const plainContent = (block: object) =>
  codec.decodeAnswer({
    output: { message: { content: [JSON.parse(JSON.stringify(block))] } },
    stopReason: 'end_turn',
  }).choices[0]?.content

t.test('converse answer: free text, encrypted thoughts and images', async t => {
  const name = 'tollgate_text_patch'
  const patch = { type: 'call', id: 't', name: 'patch', isFreeText: true, input: 'a "b"' }
  const toolUse = { toolUseId: 't', name, input: { input: 'a "b"' } }
  t.same(plainContent({ toolUse }), [patch])
  t.same(
    contentOf(
      blockOf(
        { toolUse: { input: JSON.stringify(toolUse.input) } },
        { toolUse: { toolUseId: 't', name } },
      ),
    ),
    [patch],
  )
  const redacted = {
    type: 'thought',
    text: '',
    payload: { origin, data: 'AQI=', kind: 'redacted' },
  }
  t.same(plainContent({ reasoningContent: { redactedContent: 'AQI=' } }), [redacted])
  t.same(contentOf(blockOf({ reasoningContent: { redactedContent: 'AQI=' } })), [redacted])
  const source = { type: 'data', data: 'AQI=', mime: 'image/png' }
  const image = { type: 'media', kind: 'image', source }
  t.same(plainContent({ image: { format: 'png', source: { bytes: 'AQI=' } } }), [image])
  t.same(
    contentOf(blockOf({ image: { source: { bytes: 'AQI=' } } }, { image: { format: 'png' } })),
    [image],
  )
})

t.test('converse answer: every stop reason', async t => {
  const reasonOf = (stopReason: string) =>
    codec.decodeAnswer({ output: { message: { content: [] } }, stopReason }).choices[0]?.stop.reason
  for (const [raw, reason] of [
    ['end_turn', 'end'],
    ['stop_sequence', 'sequence'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['content_filtered', 'filter'],
    ['guardrail_intervened', 'filter'],
    ['malformed_tool_use', 'broken'],
    ['malformed_model_output', 'broken'],
    ['new_reason', 'end'],
    ['constructor', 'end'],
  ] as const)
    t.equal(reasonOf(raw), reason, raw)
  t.match(
    codec.decodeAnswer({
      output: { message: { content: [] } },
      stopReason: 'stop_sequence',
      additionalModelResponseFields: { stop_sequence: 'END' },
      serviceTier: { type: 'flex' },
    }),
    { tier: 'flex', choices: [{ stop: { reason: 'sequence', sequence: 'END' } }] },
  )
  t.same(codec.decodeAnswer({ message: 'odd' }).choices, [], 'another shape is not an answer')
})

t.test('converse answer: a stream without its end', async t => {
  const withoutCounts = decode(FRAMES.slice(0, -1))
  t.ok(withoutCounts.mayHaveEnded)
  t.ok(withoutCounts.isClosed, 'only the counts are missing')
  t.equal(withoutCounts.answer.meters, undefined)
  for (let length = 0; length < FRAMES.length - 1; length++)
    if (length < FRAMES.length - 2) t.notOk(decode(FRAMES.slice(0, length)).isClosed, `${length}`)
  t.equal(decode([...FRAMES, ...CALLS]).parts.filter(({ type }) => type === 'end').length, 1)
  const strange = [
    writeFrame('contentBlockDelta', {}),
    writeFrame('contentBlockStop', {}),
    writeFrame('newEvent', { delta: { text: 'no' } }),
    writeFrame('metadata', {}),
  ]
  t.same(decode(strange).parts, [])
})

t.test('converse answer: errors in streams and in replies', async t => {
  const errorIn = (frame: Uint8Array) => {
    const [event] = AWS_FRAMING.eventsIn(frame)
    return event && stream.error(event)
  }
  for (const [name, status] of [
    ['validationException', 400],
    ['throttlingException', 429],
    ['internalServerException', 500],
    ['modelStreamErrorException', 502],
    ['serviceUnavailableException', 503],
    ['newException', 502],
  ] as const)
    t.same(errorIn(exception(name, 'no')), { status, body: { message: 'no' } }, name)
  t.equal(errorIn(FRAMES[0] ?? Buffer.alloc(0)), undefined)
  const damaged = Buffer.from(FRAMES[0] ?? [])
  damaged[20] = (damaged[20] ?? 0) ^ 1
  t.match(errorIn(damaged), { status: 502, body: { message: /damaged/ } })
  t.match(codec.decodeError(403, { Message: 'denied' }), { status: 403, message: 'denied' })
  t.match(codec.decodeError(500, undefined), { message: 'The upstream answered 500.' })
})

t.test('converse answer: recorded frames', async t => {
  const { answer, isClosed } = decode([RECORDED])
  t.ok(isClosed)
  t.same(answer, {
    choices: [
      {
        content: [{ type: 'text', text: 'The capital of France is Paris.' }],
        stop: { reason: 'end', raw: 'end_turn' },
      },
    ],
    meters: { input: 13, output: 82 },
  })
})
