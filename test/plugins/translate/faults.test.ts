/** Pass-through of upstream faults: broken streams, error events, error responses, and whether the
 *  client or the gateway's key is the cause. */
import t from 'tap'
import { TollgateError } from '../../../engine/errors.ts'
import type { Json } from '../../../engine/plugin.ts'
import { USAGE } from '../../../plugins/slots.ts'
import { delta, JSON_TYPE, runTranslate, SSE } from '../../helpers/formats/translation.ts'
import { readReply } from '../../helpers/gateway/fake-exchange.ts'

t.test('pass-through: a stream with content-length can end in an error event', async t => {
  const dies = new TollgateError('TARGET_CUT', 502, 'It broke.')
  const headers = { ...SSE, 'content-length': '999' }
  const { attempt } = await runTranslate({ headers, chunks: [delta], dies })
  t.equal(attempt.reply.headers['content-length'], undefined)
  t.match((await readReply(attempt.reply)).text, /data: \{"error"/)
})

t.test(
  'pass-through: a stream that breaks ends in an error event of the client format',
  async t => {
    const dies = new TollgateError('TARGET_CUT', 502, 'It broke.')
    const firsts: Readonly<Record<string, readonly [first: string, expected: RegExp]>> = {
      'openai-chat': [delta, /^data: \{"error":\{"message":"It broke\. \(request id: req_.*\n\n$/],
      'openai-responses': [
        'event: response.created\ndata: {"type":"response.created","sequence_number":41,"response":{}}\n\n',
        /^event: error\ndata: \{"type":"error","code":"upstream_error","message":"It broke.*","param":null,"sequence_number":42\}\n\n$/,
      ],
      'anthropic-messages': [
        'event: message_start\ndata: {"type":"message_start","message":{}}\n\n',
        /^event: error\ndata: \{"type":"error","error":\{"type":"api_error","message":"It broke\."\},"request_id":"req_.*\n\n$/,
      ],
      'google-gemini': [
        'data: {"candidates":[{}]}\r\n\r\n',
        /^data: \{"error":\{"code":502,"message":"It broke\.","status":"UNAVAILABLE"\}\}\r\n\r\n$/,
      ],
    }
    for (const [format, [first, expected]] of Object.entries(firsts)) {
      const { attempt, host } = await runTranslate(
        { headers: SSE, chunks: [first, first.slice(0, 12)], dies },
        { format, path: '/v1beta/models/m:streamGenerateContent' },
      )
      const { text, fault } = await readReply(attempt.reply)
      t.ok(text.startsWith(first), format)
      t.match(text.slice(first.length), expected, 'half an event is dropped, the error can be read')
      t.equal(fault, undefined)
      t.same(host.logLines, ['warn response stream ended in an error'])
    }
  },
)

t.test('pass-through: a leading error event becomes an error response', async t => {
  const rows: readonly (readonly [format: string, event: string, status: number, body: Json])[] = [
    [
      'openai-chat',
      'data: {"error":{"message":"later","type":"server_error","param":null,"code":"overloaded"}}\n\n',
      503,
      { error: { message: 'later', type: 'server_error', param: null, code: 'overloaded' } },
    ],
    [
      'openai-chat',
      'data: {"id":"x","error":{"message":"slow","code":429},"choices":[]}\n\n',
      429,
      { error: { message: 'slow', type: null, param: null, code: 429 } },
    ],
    [
      'openai-responses',
      'event: error\ndata: {"type":"error","code":"rate_limit_exceeded","message":"slow","param":null,"sequence_number":0}\n\n',
      429,
      { error: { message: 'slow', type: null, param: null, code: 'rate_limit_exceeded' } },
    ],
    [
      'openai-responses',
      'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"bad","param":"x","code":null}}\n\n',
      400,
      { error: { message: 'bad', type: 'invalid_request_error', param: 'x', code: null } },
    ],
    [
      'anthropic-messages',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"later"}}\n\n',
      529,
      { type: 'error', error: { type: 'overloaded_error', message: 'later' } },
    ],
    [
      'google-gemini',
      'data: {"error":{"code":503,"message":"later","status":"UNAVAILABLE"}}\r\n\r\n',
      503,
      { error: { code: 503, message: 'later', status: 'UNAVAILABLE' } },
    ],
  ]
  for (const [format, event, status, body] of rows)
    for (const chunks of [[event], [...`: hi\n${event}`]]) {
      const { attempt, fault } = await runTranslate(
        { headers: { ...SSE, 'retry-after': '7' }, chunks },
        { format, path: '/v1beta/models/m:streamGenerateContent' },
      )
      t.equal(fault, undefined)
      t.equal(attempt.reply.status, status, format)
      t.same(JSON.parse((await readReply(attempt.reply)).text), body)
      t.equal(attempt.reply.headers['content-type'], 'application/json')
      t.equal(attempt.reply.headers['retry-after'], '7')
    }
})

t.test('pass-through: a later error event stays in the stream', async t => {
  const error =
    'data: {"error":{"message":"no","type":"server_error","param":null,"code":null}}\n\n'
  const { attempt } = await runTranslate({ headers: SSE, chunks: [delta, error] })
  t.equal((await readReply(attempt.reply)).text, delta + error)
})

t.test('pass-through: an error response keeps its body, status and retry-after', async t => {
  for (const [status, type, body] of [
    [400, 'application/json', '{"error":{"message":"bad","code":"context_length_exceeded"}}'],
    [404, 'application/json', '{"error":{"message":"no such model"}}'],
    [429, 'application/json', '{"error":{"message":"slow"}}'],
    [503, 'text/html', '<h1>later</h1>'],
    [529, 'text/event-stream', '{"type":"error"}'],
  ] as const) {
    const headers = { 'content-type': type, 'retry-after': '9' }
    const { attempt, exchange, fault } = await runTranslate({ status, headers, body })
    t.equal(fault, undefined)
    t.equal(attempt.reply.status, status)
    t.equal((await readReply(attempt.reply)).text, body)
    t.equal(attempt.reply.headers['retry-after'], '9')
    t.equal(exchange.slots.get(USAGE), undefined, 'and nothing was used')
  }
})

t.test('pass-through: a rejected gateway key becomes a 502', async t => {
  const keyless =
    '{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}'
  const rows = [
    ['openai-chat', 401, '{"error":{"message":"Incorrect API key provided: sk-the-gateways"}}'],
    ['openai-chat', 402, '{}'],
    ['openai-chat', 403, '{}'],
    ['google-gemini', 400, keyless],
  ] as const
  for (const [format, status, body] of rows) {
    const path = '/v1beta/models/m:generateContent'
    const { fault, host } = await runTranslate(
      { status, headers: JSON_TYPE, body },
      { format, path },
    )
    t.match(fault, { code: 'UPSTREAM_KEY_REFUSED', status: 502, retryable: true, expose: true })
    t.notMatch(fault?.message, /sk-the-gateways/)
    t.same(host.logLines, ["error upstream rejects the gateway's API key"])
  }
  const path = '/v1beta/models/m:generateContent'
  const bad = { status: 400, headers: JSON_TYPE, body: '{"error":{"code":400}}' }
  const { attempt, fault } = await runTranslate(bad, { format: 'google-gemini', path })
  t.equal(fault, undefined)
  t.equal((await readReply(attempt.reply)).text, bad.body, 'another 400 is the customer’s')
  const event = 'data: {"error":{"message":"sk-1","code":"invalid_api_key"}}\n\n'
  const streamedReply = await runTranslate({ headers: SSE, chunks: [event] })
  t.match(streamedReply.fault, { code: 'UPSTREAM_KEY_REFUSED' }, 'nor in an event')
})

t.test('pass-through: a redirect becomes a 502', async t => {
  const headers = { location: 'http://169.254.169.254/' }
  const { fault } = await runTranslate({ status: 302, headers, chunks: ['x'] })
  t.match(fault, { code: 'UPSTREAM_REDIRECTED', status: 502 })
})
