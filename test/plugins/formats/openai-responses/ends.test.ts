/** Ends, usage and error replies of the responses format. */
import t from 'tap'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Answer, Stop } from '../../../../plugins/formats/hub/answer.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { formats } from '../../../../plugins/formats/index.ts'
import { codecOf, contextWith } from '../../../helpers/formats/codec.ts'

const NAME = 'openai-responses'
const codec = codecOf(NAME)
const decode = (response: object): Answer => codec.decodeAnswer(response as Fields)
const encode = (content: readonly Content[], stop: Stop) =>
  codec.encodeAnswer({ choices: [{ content, stop }] }, contextWith())
const text = (words: string): Content => ({ type: 'text', text: words })

t.test('responses decoder: maps every status to a stop reason', async t => {
  const stop = (response: object) => decode(response).choices[0]?.stop
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{' }
  const refusal = { type: 'message', content: [{ type: 'refusal', refusal: 'no' }] }
  const incompleteResponse = (reason: string, ...items: readonly object[]) => ({
    status: 'incomplete',
    incomplete_details: { reason },
    output: items,
  })
  t.match(stop({ status: 'completed', output: [] }), { reason: 'end' })
  t.match(stop({ status: 'complete', output: [] }), { reason: 'end' })
  t.match(stop({ status: 'completed', output: [call] }), { reason: 'call' })
  t.match(stop({ status: 'completed', output: [refusal] }), { reason: 'refusal' })
  // A truncated call does not hide the reason (edges 3 and 23).
  t.match(stop(incompleteResponse('max_output_tokens', call)), {
    reason: 'length',
    raw: 'max_output_tokens',
  })
  t.match(stop(incompleteResponse('content_filter')), { reason: 'filter' })
  const error = { code: 'server_error', message: 'oops' }
  t.match(stop({ status: 'failed', error }), { reason: 'broken', message: 'oops' })
  t.match(stop({ status: 'queued', output: [] }), { reason: 'broken', raw: 'queued' })
})
t.test('responses encoder: maps every stop reason to a status (edge 23)', async t => {
  const encodeWithStop = (stop: Stop, ...content: readonly Content[]) => encode(content, stop)
  const rejection: Content = { type: 'refusal', text: 'no' }
  t.match(encodeWithStop({ reason: 'length' }, text('a')), {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [{ status: 'incomplete' }],
  })
  t.match(encodeWithStop({ reason: 'filter' }), {
    incomplete_details: { reason: 'content_filter' },
  })
  t.match(encodeWithStop({ reason: 'refusal' }, rejection), {
    status: 'completed',
    output: [{ content: [{ type: 'refusal', refusal: 'no' }] }],
  })
  t.match(encodeWithStop({ reason: 'refusal', message: 'no way' }), {
    status: 'completed',
    output: [{ content: [{ type: 'refusal', refusal: 'no way' }] }],
  })
  t.match(encodeWithStop({ reason: 'refusal' }, text('a')), { status: 'incomplete' })
  // A failed answer is not a success (edge 5).
  t.match(encodeWithStop({ reason: 'broken', raw: 'MALFORMED_FUNCTION_CALL' }, text('a')), {
    status: 'failed',
    error: { code: 'server_error', message: /MALFORMED_FUNCTION_CALL/ },
  })
  t.match(encodeWithStop({ reason: 'pause' }, text('a')), { status: 'incomplete' })
  for (const reason of ['end', 'sequence', 'call'] as const)
    t.match(encodeWithStop({ reason }, text('a')), {
      status: 'completed',
      incomplete_details: null,
    })
  // No choice (edge 6).
  t.match(codec.encodeAnswer({ choices: [] }, contextWith()), { status: 'incomplete', output: [] })
})

t.test('responses usage: encoding inverts decoding, including totals (edge 12)', async t => {
  const meters = formats.get(NAME)?.usage.meters
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 30, cache_write_tokens: 5 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 20 },
    total_tokens: 150,
  }
  const answer = { choices: [], meters: meters?.(usage) ?? {} }
  t.same(codec.encodeAnswer(answer, contextWith()).usage, usage)
  const other = { input: 1, cache_write_1h: 2, image_input: 3, audio_output: 4 }
  t.match(codec.encodeAnswer({ choices: [], meters: other }, contextWith()).usage, {
    input_tokens: 6,
    output_tokens: 4,
    total_tokens: 10,
    input_tokens_details: { cache_write_tokens: 2 },
  })
  t.equal(codec.encodeAnswer({ choices: [] }, contextWith()).usage, null)
})
t.test('responses decoder: tolerates odd types and unknown items (edge 4)', async t => {
  t.same(decode({ output: null, usage: null, status: null }).choices[0]?.content, [])
  const odd = [
    { type: 'message', content: null },
    { type: 'message', content: [{ type: 'output_text' }] },
    { type: 'reasoning', summary: null, content: [null] },
    { type: 'smell_call', id: 's' },
    { type: 'function_call', arguments: { a: 1 }, name: null },
    {},
    { type: null },
  ]
  t.match(decode({ output: [...odd, null, 7] }).choices[0]?.content, [
    { type: 'hostedCall', tool: 'other', id: 's' },
    { type: 'call', input: '{"a":1}' },
  ])
})
t.test('responses codec: keeps log probabilities', async t => {
  const odds = [{ token: 'hi', logprob: -0.1, bytes: [104, 105], top_logprobs: [] }]
  const content = [{ type: 'output_text', text: 'hi', annotations: [], logprobs: odds }]
  const [choice] = decode({ status: 'completed', output: [{ type: 'message', content }] }).choices
  t.same(choice?.logprobs, { content: odds, refusal: null })
})
t.test('responses encoder: a whole answer has the log probabilities of its text', async t => {
  const entry = {
    token: 'hi',
    logprob: -0.1,
    bytes: null,
    top_logprobs: [{ token: 'a', bytes: null }],
  }
  const logprobs = { content: [entry], refusal: null }
  const stop: Stop = { reason: 'end' }
  const encoded = codec.encodeAnswer(
    { choices: [{ content: [text('hi')], stop, logprobs }] },
    contextWith(),
  )
  const bytes: readonly number[] = []
  t.match(encoded.output, [
    { content: [{ logprobs: [{ ...entry, bytes, top_logprobs: [{ token: 'a', bytes }] }] }] },
  ])
})
t.test('responses encoder: sound and files that no item holds are text', async t => {
  const sound = { type: 'data', data: 'QUJD', mime: 'audio/wav' } as const
  const film = { type: 'url', url: 'https://example.com/a.mp4' } as const
  const encoded = encode(
    [
      { type: 'media', kind: 'audio', source: sound },
      { type: 'media', kind: 'video', source: film },
    ],
    { reason: 'end' },
  )
  const texts = '[audio](data:audio/wav;base64,QUJD)[video](https://example.com/a.mp4)'
  t.match(encoded.output, [{ content: [{ text: texts }] }])
})
t.test('responses error replies: keep message, type and code', async t => {
  const error = { message: 'no', type: 'invalid_request_error', param: 'input', code: 'x' }
  t.same(codec.decodeError(400, { error }), {
    status: 400,
    message: 'no',
    type: 'invalid_request_error',
    param: 'input',
    code: 'x',
  })
  t.same(codec.decodeError(500, { error: 'oops' }), { status: 500, message: 'oops' })
  t.match(codec.decodeError(400, { detail: 'bad' }), { message: 'bad' })
  t.match(codec.decodeError(400, [{ error: { message: 'in a list', code: 400 } }]), { code: '400' })
  t.match(codec.decodeError(502, undefined), { message: /502/ })
  t.match(codec.decodeError(429, { error: { message: null } }), { status: 429, message: /429/ })
})
