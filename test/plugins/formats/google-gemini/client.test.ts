/** Answers for clients of generateContent, whole and streamed, from any provider. */
import t from 'tap'
import type { Part, Stop } from '../../../../plugins/formats/hub/answer.ts'
import { partsOf as unrolled } from '../../../../plugins/formats/hub/answer-parts.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import {
  codecOf,
  contextWith,
  decodePrompt,
  encodePrompt,
  encodeStream,
} from '../../../helpers/formats/codec.ts'
import { END, encodeChunks, encodeStreamed, encodeWhole, partsIn, path } from './client-encoding.ts'

const NAME = 'google-gemini'
const codec = codecOf(NAME)
const open = (index: number, content: Content, choice = 0): Part => ({
  type: 'open',
  index,
  choice,
  content,
})
const grow = (index: number, text: string): Part => ({ type: 'grow', index, text })
const close = (index: number): Part => ({ type: 'close', index })
const call = (id: string): Content => ({ type: 'call', id, name: `f_${id}`, input: '' })
const ending: readonly Part[] = [
  { type: 'stop', choice: 0, stop: { reason: 'call' } },
  { type: 'end' },
]

t.test('Gemini stream encoder: writes both framings, events and a JSON array', t => {
  const parts = unrolled({
    id: 'x',
    created: 0,
    choices: [{ content: [{ type: 'text', text: 'a' }], stop: END }],
  })
  const events = encodeStream(NAME, parts, { path: `${path}?alt=sse&x=1` })
  t.match(events, /^data: \{.*\}\r\n\r\ndata: \{.*\}\r\n\r\n$/)
  t.notMatch(events, /event:|\[DONE\]/)
  const list = encodeStream(NAME, parts, { path: `${path}?x=alt=sse` })
  t.match(list, /^\[\{.*\},\r\n\{.*\}\]$/)
  t.match(JSON.parse(list)[0], {
    modelVersion: 'asked',
    responseId: 'x',
    createTime: '1970-01-01T00:00:00.000Z',
  })
  t.equal(codec.encodeStream(contextWith({ path })).type, 'application/json')
  t.equal(codec.encodeStream(contextWith({ path: `${path}?alt=sse` })).type, undefined)
  t.end()
})
t.test('Gemini stream encoder: writes an error in both framings (edge 17)', t => {
  const error = { error: { code: 502, message: 'x', status: 'UNAVAILABLE' } }
  for (const query of ['', '?alt=sse']) {
    const encoder = codec.encodeStream(contextWith({ path: path + query }))
    const before = encoder.push(open(0, { type: 'text', text: '' })) + encoder.push(grow(0, 'a'))
    const output = before + encoder.failure(error)
    t.notMatch(output, /finishReason/, 'no clean end')
    if (query === '') t.match(JSON.parse(output)[1], error)
    else t.ok(output.endsWith(`data: ${JSON.stringify(error)}\r\n\r\n`))
  }
  t.same(
    JSON.parse(codec.encodeStream(contextWith({ path })).failure(error)),
    [error],
    'before any content',
  )
  t.end()
})
t.test('Gemini stream encoder: holds the end back until the end part', t => {
  const encoder = codec.encodeStream(contextWith({ path: `${path}?alt=sse` }))
  const write = (part: Part) => encoder.push(part)
  t.equal(write({ type: 'begin' }), '')
  t.equal(write(open(0, { type: 'text', text: '' })), '')
  t.match(write(grow(0, 'a')), /"text":"a"/)
  t.equal(write(close(0)), '')
  t.equal(write({ type: 'stop', choice: 0, stop: END }), '')
  t.equal(write({ type: 'count', meters: { input: 1, output: 2 } }), '')
  t.match(write({ type: 'end' }), /"finishReason":"STOP".*"totalTokenCount":3/)
  t.end()
})
t.test('Gemini stream encoder: writes interleaved calls whole and in order (edge 1)', t => {
  const chunks = encodeChunks([
    open(0, { type: 'text', text: '' }),
    grow(0, 'a'),
    open(1, call('a')),
    open(2, call('b')),
    grow(1, '{"x"'),
    grow(2, '{"y":'),
    grow(0, 'b'),
    close(0),
    grow(1, ':1}'),
    grow(2, '2}'),
    close(2),
    close(1),
    ...ending,
  ])
  t.match(partsIn(chunks), [
    { text: 'a' },
    { text: 'b' },
    { functionCall: { id: 'a', name: 'f_a', args: { x: 1 } } },
    { functionCall: { id: 'b', name: 'f_b', args: { y: 2 } } },
    { text: '' },
  ])
  t.match(chunks.at(-1)?.candidates, [{ finishReason: 'STOP' }])
  t.end()
})
t.test('Gemini stream encoder: fails if too many interleaved blocks wait', t => {
  const encoder = codec.encodeStream(contextWith({ path }))
  encoder.push(open(0, { type: 'text', text: '' }))
  encoder.push(open(1, call('a')))
  t.throws(() => encoder.push(grow(1, 'x'.repeat(5_000_000))), { status: 502 } as never)
  t.end()
})
t.test('Gemini stream encoder: numbers candidates and ends them together', t => {
  const chunks = encodeChunks([
    open(0, { type: 'text', text: '' }),
    open(1, { type: 'text', text: '' }, 1),
    grow(1, 'b'),
    grow(0, 'a'),
    close(0),
    close(1),
    { type: 'stop', choice: 1, stop: { reason: 'length' } },
    { type: 'stop', choice: 0, stop: END },
    { type: 'end' },
  ])
  t.match(
    chunks.map(({ candidates }) => candidates),
    [
      [{ index: 1, content: { parts: [{ text: 'b' }] } }],
      [{ index: 0, content: { parts: [{ text: 'a' }] } }],
      [
        { index: 0, finishReason: 'STOP' },
        { index: 1, finishReason: 'MAX_TOKENS' },
      ],
    ],
  )
  t.end()
})
t.test('Gemini encoder: maps every stop reason', t => {
  const table: readonly (readonly [Stop, string])[] = [
    [{ reason: 'end' }, 'STOP'],
    [{ reason: 'sequence', sequence: 'x', raw: 'stop_sequence' }, 'STOP'],
    [{ reason: 'call', raw: 'tool_calls' }, 'STOP'],
    [{ reason: 'pause', raw: 'pause_turn' }, 'MAX_TOKENS'],
    [{ reason: 'length', raw: 'max_tokens' }, 'MAX_TOKENS'],
    [{ reason: 'refusal' }, 'SAFETY'],
    [{ reason: 'filter', raw: 'content_filter' }, 'SAFETY'],
    [{ reason: 'filter', raw: 'RECITATION' }, 'RECITATION'],
    [{ reason: 'broken' }, 'OTHER'],
    [{ reason: 'broken', raw: 'MALFORMED_FUNCTION_CALL' }, 'MALFORMED_FUNCTION_CALL'],
  ]
  for (const [stop, finishReason] of table) {
    t.match(encodeWhole([{ type: 'text', text: 'a' }], stop).candidates, [{ finishReason }])
    t.match(encodeStreamed([{ type: 'text', text: 'a' }], stop).at(-1)?.candidates, [
      { finishReason },
    ])
  }
  t.end()
})
t.test('Gemini encoder: a refused prompt has no candidates', t => {
  for (const [raw, blockReason] of [
    ['PROHIBITED_CONTENT', 'PROHIBITED_CONTENT'],
    ['content_filter', 'SAFETY'],
  ] as const) {
    const stop: Stop = { reason: 'filter', raw, message: 'no' }
    for (const output of [encodeWhole([], stop), encodeStreamed([], stop).at(-1)]) {
      t.same(output?.promptFeedback, { blockReason, blockReasonMessage: 'no' })
      t.equal(output?.candidates, undefined)
    }
  }
  t.match(encodeWhole([{ type: 'refusal', text: 'I cannot.' }], { reason: 'refusal' }).candidates, [
    { content: { parts: [{ text: 'I cannot.' }] }, finishReason: 'SAFETY' },
  ])
  t.end()
})
t.test('Gemini stream encoder: sends a text’s payload after the text (edge 7)', t => {
  const parts = [
    { text: 'words', thoughtSignature: 'S' },
    { functionCall: { id: 'i', name: 'f', args: {} } },
  ]
  const { choices } = codec.decodeAnswer({
    candidates: [{ content: { parts }, finishReason: 'STOP' }],
  })
  const { content = [] } = choices[0] ?? {}
  for (const chunks of [[encodeWhole(content)], encodeStreamed(content)]) {
    const source = partsIn(chunks).filter(each => each.text !== '' || each.thoughtSignature)
    t.same(source.slice(0, 2), [{ text: 'words' }, { text: '', thoughtSignature: 'S' }])
    const { prompt } = decodePrompt(NAME, { contents: [{ role: 'model', parts: source as never }] })
    t.same(encodePrompt(NAME, prompt).body.contents, [{ role: 'model', parts }])
  }
  t.end()
})
