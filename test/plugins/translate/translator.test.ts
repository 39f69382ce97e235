/** Translation between formats: requests, dropped fields, and every way a response can fail. */
import t from 'tap'
import { asFault } from '../../../engine/errors.ts'
import type { Fault } from '../../../engine/plugin.ts'
import { STREAM_ERRORED, USAGE } from '../../../plugins/slots.ts'
import { StreamResponseEncoder } from '../../../plugins/translate/response/response-encoder.ts'
import { TranslatedStream } from '../../../plugins/translate/response/translated-stream.ts'
import { codecOf, contextWith } from '../../helpers/formats/codec.ts'
import { responseListener } from '../../helpers/formats/response-listener.ts'
import { JSON_TYPE, SSE, translateAttempt } from '../../helpers/formats/translation.ts'

const body = { model: 'asked', messages: [{ role: 'user', content: 'hi' }] }
const answer = (message: object, reason = 'stop') =>
  JSON.stringify({
    id: 'theirs',
    model: 'there',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  })
const plain = { headers: JSON_TYPE, body: answer({ content: 'hello' }) }
const chunk = (delta: object, reason: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
const streaming = (...chunks: string[]) => ({ headers: SSE, chunks })
const stream = { ...body, stream: true }

t.test('translator: a plain answer has the client’s model name and usage', async t => {
  const { upstreamRequest, output, exchange } = await translateAttempt({
    body,
    upstreamReply: plain,
  })
  t.match(upstreamRequest, { model: 'there', messages: body.messages })
  const response = JSON.parse(output?.text ?? '')
  t.match(response, { model: 'asked', choices: [{ message: { content: 'hello' } }] })
  t.equal(output?.tail, output?.text, 'all of it waits until it is paid for')
  t.same(exchange.slots.get(USAGE), { meters: { input: 3, output: 2 }, estimated: false })
})

t.test(
  'translator: a stream is the same at any chunk boundary and its end is held back',
  async t => {
    const whole = [
      chunk({ content: 'hél' }),
      chunk({ content: 'lo' }, 'stop'),
      'data: [DONE]\n\n',
    ].join('')
    const bytes = Buffer.from(whole)
    const single = [...bytes].map(byte => Buffer.from([byte]))
    for (const chunks of [[whole], single]) {
      const { output } = await translateAttempt({
        body: stream,
        upstreamReply: { headers: SSE, chunks },
      })
      t.match(output?.text, /"content":"hél"/)
      t.equal(output?.tail, 'data: [DONE]\n\n')
    }
  },
)

t.test(
  'translator: a stream that breaks or ends early ends in an error event (edge 17)',
  async t => {
    const dead = Object.assign(new Error('gone'), {
      code: 'TARGET_RESET',
      status: 502,
      expose: true,
    })
    for (const dies of [undefined, dead]) {
      const chunks = [chunk({ content: 'a' })]
      const { output, exchange } = await translateAttempt({
        body: stream,
        upstreamReply: { headers: SSE, chunks, ...(dies && { dies }) },
      })
      t.match(output?.text, /data: \{"error":/)
      t.notMatch(output?.text, /\[DONE\]/)
      t.equal(exchange.slots.get(STREAM_ERRORED), true)
      t.match(exchange.slots.get(USAGE), { estimated: true })
    }
  },
)
t.test('translator: a leading error event becomes a response, a later one an event', async t => {
  const error =
    'data: {"error":{"message":"too many","type":"rate_limit_error","code":"rate_limit_exceeded"}}\n\n'
  const first = await translateAttempt({ body: stream, upstreamReply: streaming(error) })
  t.equal(first.reply?.status, 429)
  t.match(first.output?.text, /too many/)
  // Before any text was sent, the error still becomes a response.
  const second = await translateAttempt({
    body: stream,
    upstreamReply: streaming(chunk({ content: 'a' }) + error),
  })
  t.match(second.output?.fault, { status: 429, message: 'too many' })
})
t.test('translator: an error after sent text becomes an error event', t => {
  const codec = codecOf('openai-chat')
  const encoder = new StreamResponseEncoder(codec, contextWith())
  const brokenReasons: string[] = []
  const translatedStream = new TranslatedStream(
    { codec, stream: { error: () => undefined }, served: { members: [], read: () => ({}) } },
    encoder,
    responseListener({
      encodeFailure: reason => encoder.fail({ error: { message: reason.message } }),
      errorIn: event =>
        event.data?.includes('"error"') ? asFault(new Error('too many')) : undefined,
      onBroken: reason => void brokenReasons.push(reason?.message ?? ''),
    }),
  )
  const calls: string[] = []
  const out = {
    write: (bytes: Uint8Array) => void calls.push(Buffer.from(bytes).toString()),
    end: (tail?: Uint8Array, fault?: Fault) =>
      void calls.push(`END ${Buffer.from(tail ?? []).toString()} ${fault?.message}`),
    fail: () => void calls.push('FAIL'),
  }
  translatedStream.write(Buffer.from(chunk({ content: 'a' })), out)
  translatedStream.write(Buffer.from('data: {"error":{}}\n\n'), out)
  translatedStream.end(undefined, out)
  t.match(calls, [/"content":"a"/, /^END data: \{"error":\{"message":"too many".* too many$/s])
  t.same(brokenReasons, ['too many'])
  t.equal(calls.length, 2, 'once')
  t.end()
})
t.test(
  'translator: an error response keeps status and message unless it blames the gateway’s key',
  async t => {
    const refusal = {
      error: { message: 'no such thing', type: 'invalid_request_error', param: 'x' },
    }
    const rejection = await translateAttempt({
      body,
      upstreamReply: {
        status: 429,
        headers: { 'retry-after': '7' },
        body: JSON.stringify(refusal),
      },
    })
    t.match(rejection.reply, { status: 429, headers: { 'retry-after': '7' } })
    t.match(rejection.output?.text, /no such thing/)
    const key = await translateAttempt({
      body,
      upstreamReply: { status: 401, body: '{"error":{"message":"sk-secret"}}' },
    })
    t.match(key.fault, { code: 'UPSTREAM_KEY_REFUSED', status: 502 })
    t.notMatch(key.fault?.message, /secret/)
  },
)
t.test('translator: an unreadable answer becomes a 502', async t => {
  for (const text of ['<html>', '[]', '']) {
    const { output, exchange } = await translateAttempt({
      body,
      upstreamReply: { headers: JSON_TYPE, body: text },
    })
    t.match(output?.fault, { code: 'UPSTREAM_UNREADABLE', status: 502 }, text)
    t.match(exchange.slots.get(USAGE), { estimated: true })
  }
})
t.test('translator: an answer that failed without content is an error (edge 5)', async t => {
  const failedReply = { headers: JSON_TYPE, body: answer({ content: null }, 'error') }
  const { output } = await translateAttempt({ body, upstreamReply: failedReply })
  t.match(output?.fault, { code: 'UPSTREAM_REFUSED', status: 502 })
  for (const [content, code] of [
    [null, 'UPSTREAM_REFUSED'],
    ['a', 'UPSTREAM_BROKE_OFF'],
  ] as const) {
    const whole = { headers: JSON_TYPE, body: answer({ content }, 'error') }
    const plainFailure = await translateAttempt({ body: stream, upstreamReply: whole })
    t.match(plainFailure.output?.fault, { code, status: 502 }, 'for a streaming client, too')
  }
  const chunks = [chunk({ content: 'a' }), chunk({}, 'error'), 'data: [DONE]\n\n']
  const failedStream = await translateAttempt({
    body: stream,
    upstreamReply: { headers: SSE, chunks },
  })
  t.match(failedStream.output?.fault ?? failedStream.output?.tail, /error|BROKE/)
  t.notMatch(failedStream.output?.text, /DONE/)
})

t.test('translator: a failed plain answer is an error for a streaming client', async t => {
  const google = (finishReason: string, parts: object[]) => ({
    headers: JSON_TYPE,
    body: JSON.stringify({ candidates: [{ content: { parts }, finishReason }] }),
  })
  const codes = new Map([
    [[], 'UPSTREAM_REFUSED'],
    [[{ text: 'so far' }], 'UPSTREAM_BROKE_OFF'],
  ])
  for (const [parts, code] of codes) {
    const failedAnswer = google('MALFORMED_FUNCTION_CALL', parts)
    const { output } = await translateAttempt({
      body: stream,
      target: 'google-gemini',
      upstreamReply: failedAnswer,
    })
    t.match(output?.fault, { code })
    t.equal(output?.text, '', 'nothing that looks like an end')
  }
  const queuedResponse = { id: 'resp_1', object: 'response', status: 'queued', output: [] }
  const { output } = await translateAttempt({
    client: 'google-gemini',
    target: 'openai-responses',
    path: '/v1beta/models/asked:streamGenerateContent?alt=sse',
    body: { contents: [{ parts: [{ text: 'hi' }] }] },
    upstreamReply: { headers: JSON_TYPE, body: JSON.stringify(queuedResponse) },
  })
  t.match(output?.fault, { code: 'UPSTREAM_BROKE_OFF' })
})
t.test('translator: streams to a streaming client when the upstream does not stream', async t => {
  const { output, reply } = await translateAttempt({ body: stream, upstreamReply: plain })
  t.match(reply?.headers['content-type'], /event-stream/)
  t.match(output?.text, /"content":"hello"[\s\S]*\[DONE\]/)
  const whole = streaming(
    chunk({ content: 'hel' }),
    chunk({ content: 'lo' }, 'stop'),
    'data: [DONE]\n\n',
  )
  const joinedAnswer = await translateAttempt({ body, upstreamReply: whole })
  t.match(JSON.parse(joinedAnswer.output?.text ?? ''), {
    choices: [{ message: { content: 'hello' } }],
  })
})

t.test('dropped fields: are named in a header and the log, or refused when strict', async t => {
  const more = { ...body, ponder: {}, sniff: 1 }
  const { reply, host } = await translateAttempt({ body: more, upstreamReply: plain })
  t.equal(reply?.headers['x-tollgate-dropped'], 'ponder, sniff')
  t.match(host.logLines, ['info dropped fields that the target does not support'])
  const strict = { code: 'FIELD_LOST', status: 400, param: 'ponder' }
  const strictAttempt = await translateAttempt({
    body: more,
    headers: { 'x-tollgate-strict': 'true' },
    upstreamReply: plain,
  })
  t.match(strictAttempt.fault, strict)
  t.match(
    (await translateAttempt({ body: more, upstreamReply: plain, context: { strict: true } })).fault,
    strict,
  )
  const loose = { 'x-tollgate-strict': 'false' }
  t.notOk(
    (
      await translateAttempt({
        body: more,
        upstreamReply: plain,
        headers: loose,
        context: { strict: true },
      })
    ).fault,
  )
  t.equal(
    (await translateAttempt({ body, upstreamReply: plain })).reply?.headers['x-tollgate-dropped'],
    undefined,
  )
})
t.test('dropped fields: replace characters that a header cannot hold', async t => {
  const { reply } = await translateAttempt({
    body: { ...body, 'schlüssel\n': 1 },
    upstreamReply: plain,
  })
  t.match(reply?.headers['x-tollgate-dropped'], /^[\x20-\x7e]+$/)
})

t.test('default thinking: is turned on by the model’s trait', async t => {
  const traits = { thinks: { budget: '80%' } }
  const thinking = async (more: object) =>
    translateAttempt({ body: { ...body, ...more }, traits, upstreamReply: plain })
  t.match((await thinking({})).upstreamRequest, {
    max_completion_tokens: 8192,
    reasoning_effort: 'medium',
  })
  t.match((await thinking({ max_tokens: 100 })).upstreamRequest, { max_completion_tokens: 1280 })
  const hot = await thinking({ temperature: 0.2, top_p: 0.5 })
  t.equal(hot.reply?.headers['x-tollgate-dropped'], 'temperature, top_p')
  t.equal(hot.upstreamRequest?.temperature, undefined)
  t.match((await thinking({ reasoning_effort: 'high' })).upstreamRequest, {
    reasoning_effort: 'high',
  })
})
