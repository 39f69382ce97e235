/** Translation between the responses format and others: errors and broken streams, at any chunk
 *  boundary. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { STREAM_ERRORED, USAGE } from '../../../../plugins/slots.ts'
import { eventsOf } from '../../../helpers/responses.ts'
import { lifecycleErrors } from '../../../helpers/responses-lifecycle.ts'
import { JSON_TYPE, SSE } from '../../../helpers/translate-stage.ts'
import { translateAttempt } from '../../../helpers/translated-attempt.ts'

const RESPONSES = 'openai-responses'
const event = (type: string, members: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
const createdEvent = event('response.created', { response: { id: 'r', status: 'in_progress' } })
const word = event('response.output_text.delta', { output_index: 0, content_index: 0, delta: 'hé' })
const over = event('response.completed', {
  response: { status: 'completed', output: [], usage: { input_tokens: 3, output_tokens: 2 } },
})
const chat: Json = { model: 'asked', messages: [{ role: 'user', content: 'hi' }], stream: true }
const requestBody: Json = { model: 'asked', input: 'hi', stream: true }
const chunk = (delta: object, reason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`

const upstream = (...chunks: readonly string[]) =>
  translateAttempt({
    body: chat,
    target: RESPONSES,
    upstreamReply: { headers: SSE, chunks: [...chunks] },
  })
const client = (...chunks: readonly string[]) =>
  translateAttempt({
    body: requestBody,
    client: RESPONSES,
    upstreamReply: { headers: SSE, chunks: [...chunks] },
  })

t.test('translation from responses: reads a stream byte by byte', async t => {
  const bytes = [...Buffer.from(createdEvent + word + over)].map(byte => Buffer.from([byte]))
  const {
    output,
    exchange,
    upstreamRequest: request,
  } = await translateAttempt({
    body: chat,
    target: RESPONSES,
    upstreamReply: { headers: SSE, chunks: bytes },
  })
  t.match(request, { model: 'there', input: [{ role: 'user', content: 'hi' }], stream: true })
  t.match(output?.text, /"content":"hé"/)
  t.equal(output?.tail, 'data: [DONE]\n\n')
  t.same(exchange.slots.get(USAGE), { meters: { input: 3, output: 2 }, estimated: false })
})
t.test('translation from responses: reads every shape of error (edge 17)', async t => {
  const error = { code: 'rate_limit_exceeded', message: 'too many', param: null }
  const failedEvent = { response: { status: 'failed', error: { code: 'x', message: 'too many' } } }
  const cases = [
    [event('error', error)],
    [event('error', { error: { type: 'rate_limit_error', ...error } })],
    [createdEvent, word, event('error', error)],
    [createdEvent, event('response.failed', failedEvent)],
    [createdEvent, word, event('response.failed', failedEvent)],
  ]
  for (const chunks of cases) {
    const { output, reply, fault } = await upstream(...chunks)
    const result = `${output?.text} ${output?.fault?.message} ${fault?.message}`
    t.match(result, /too many/, chunks.join(''))
    t.notMatch(output?.tail ?? '', /DONE/)
    if (chunks.length === 1) t.equal(reply?.status, 429)
  }
})
t.test('translation from responses: reports an unterminated stream (edge 17)', async t => {
  const dies = Object.assign(new Error('gone'), {
    code: 'TARGET_RESET',
    status: 502,
    expose: true,
  })
  for (const more of [{}, { dies }]) {
    const { output, exchange } = await translateAttempt({
      body: chat,
      target: RESPONSES,
      upstreamReply: { headers: SSE, chunks: [createdEvent, word], ...more },
    })
    t.match(output?.text, /data: \{"error":/)
    t.notMatch(output?.text, /\[DONE\]/)
    t.equal(exchange.slots.get(STREAM_ERRORED), true)
  }
})
t.test('translation to responses: writes all lifecycle events of a stream', async t => {
  const usage = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n'
  const { output, exchange } = await client(
    chunk({ role: 'assistant', content: 'h' }),
    chunk({ content: 'é' }),
    chunk({}, 'stop'),
    usage,
    'data: [DONE]\n\n',
  )
  t.same(lifecycleErrors(output?.text ?? ''), [])
  const last = eventsOf(output?.text ?? '').at(-1)
  t.match(last, {
    type: 'response.completed',
    response: { model: 'asked', usage: { total_tokens: 5 } },
  })
  t.match(last?.response?.output, [{ content: [{ text: 'hé' }] }])
  t.match(output?.tail, /^event: response\.completed|^event: response\.output_text\.done/)
  t.match(exchange.slots.get(USAGE), { estimated: false })
})
t.test('translation to responses: reports every broken stream (edge 17)', async t => {
  const error = 'data: {"error":{"message":"gone","type":"server_error"}}\n\n'
  for (const chunks of [[chunk({ content: 'h' })], [chunk({ content: 'h' }), error]]) {
    const { output, fault } = await client(...chunks)
    if (output?.fault || fault) continue
    t.same(lifecycleErrors(output?.text ?? ''), [])
    t.match(eventsOf(output?.text ?? '').slice(-2), [
      { type: 'error' },
      { type: 'response.failed' },
    ])
    t.notMatch(output?.text, /response\.completed/)
  }
})
t.test('translation to responses: writes an answer and an error', async t => {
  const message = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', function: { name: 'f', arguments: '' } }],
  }
  const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
  const plain = { model: 'asked', input: 'hi' }
  const complete = await translateAttempt({
    body: plain,
    client: RESPONSES,
    upstreamReply: { headers: JSON_TYPE, body },
  })
  t.match(JSON.parse(complete.output?.text ?? ''), {
    object: 'response',
    status: 'completed',
    output: [{ type: 'function_call', call_id: 'c', arguments: '{}' }],
  })
  const rejection = await translateAttempt({
    body: plain,
    client: RESPONSES,
    upstreamReply: { status: 429, headers: JSON_TYPE, body: '{"error":{"message":"slow down"}}' },
  })
  t.equal(rejection.reply?.status, 429)
  t.match(rejection.output?.text, /slow down/)
})
