/** Same format on both sides: what is changed on the way up, what passes on the way down, and what is turned around. */
import t from 'tap'
import { TollgateError } from '../../engine/errors.ts'
import type { Json, Target } from '../../engine/plugin.ts'
import { MODEL, USAGE } from '../../plugins/slots.ts'
import translate from '../../plugins/translate.ts'
import {
  type FakeHost,
  fakeAttempt,
  fakeExchange,
  fakeHost,
  noNext,
  pour,
  type RequestOptions,
  thrownBy,
  type Upstreamed,
} from '../helpers/exchange.ts'

const SSE = { 'content-type': 'text/event-stream; charset=utf-8' }
const JSON_TYPE = { 'content-type': 'application/json' }
const TARGET: Target = { upstream: 'gp', name: 'gpt-4.1' }
const chat = { model: 'gp-4.1', messages: [] }

interface Passing extends RequestOptions {
  readonly format?: string
  readonly target?: Target
  readonly asked?: string
  readonly host?: FakeHost
}
/** One attempt through the stage. */
const pass = async (answered: Upstreamed, options: Passing = {}) => {
  const { format = 'openai-chat', target = TARGET, asked = 'gp-4.1', host = fakeHost() } = options
  const exchange = fakeExchange({ body: chat, ...options })
  exchange.slots.set(MODEL, { asked, entry: asked })
  const attempt = fakeAttempt(exchange, target, answered)
  const stage = translate.setup(format, host)
  const fault = await thrownBy(() => stage.forward(attempt, attempt.next))
  return { exchange, attempt, fault, host }
}
const bodyOf = (body: unknown): string => Buffer.from(body as Uint8Array).toString()
const USED = '{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}'
const plain = `{"id":"c","model":"gpt-4.1-2025","choices":[{"message":{"content":"hi"}}],"usage":${USED}}`

t.test('on the way up only the name changes', async t => {
  const body = Buffer.from('{ "messages" : [ ], "model" : "gp-4.1" , "x" : 1.0 }')
  const { attempt } = await pass({ headers: JSON_TYPE, body: plain }, { body })
  t.equal(bodyOf(attempt.request.body), '{ "messages" : [ ], "model" : "gpt-4.1", "x" : 1.0 }')
  t.equal(attempt.request.headers['content-type'], 'application/json')
  const same = await pass(
    { headers: JSON_TYPE, body: plain },
    { body, target: { upstream: 'gp', name: 'gp-4.1' } },
  )
  t.equal(same.attempt.request.body, same.exchange.request.whole, 'not even copied')
  const unnamed = await pass(
    { headers: JSON_TYPE, body: plain },
    { body, target: { upstream: 'gp' } },
  )
  t.equal(unnamed.attempt.request.body, unnamed.exchange.request.whole)
})

t.test('a plain answer passes byte for byte, and its counts are read', async t => {
  const { attempt, exchange } = await pass({ headers: JSON_TYPE, body: plain })
  const { text } = await pour(attempt.reply)
  t.equal(text, plain, 'the model by the upstream’s own name')
  t.same(exchange.slots.get(USAGE), { meters: { input: 3, output: 2 }, estimated: false })
})

t.test('an answer that counts nothing says so', async t => {
  for (const body of ['{"usage":null}', '{}', 'not json', '{"usage":"text"}']) {
    const { attempt, exchange } = await pass({ headers: JSON_TYPE, body })
    t.equal((await pour(attempt.reply)).text, body)
    t.same(exchange.slots.get(USAGE), { meters: {}, estimated: true })
  }
  const packed = await pass({ headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: plain })
  t.equal((await pour(packed.attempt.reply)).text, plain, 'unread')
  t.same(packed.exchange.slots.get(USAGE), { meters: {}, estimated: true })
})

t.test('a plain answer that breaks off breaks off', async t => {
  const dies = new TollgateError('TARGET_CUT', 502, 'It broke.')
  const { attempt, exchange } = await pass({ headers: JSON_TYPE, chunks: ['{"id"'], dies })
  t.equal((await pour(attempt.reply)).fault, dies)
  t.match(exchange.slots.get(USAGE), { estimated: true })
})

const delta = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
const usage = `data: {"id":"c","choices":[],"usage":${USED}}\n\n`
const DONE = 'data: [DONE]\n\n'

t.test('a stream passes byte for byte, its last event at last', async t => {
  const chunks = [delta, delta, usage, DONE]
  const { attempt, exchange } = await pass({ headers: SSE, chunks })
  const poured = await pour(attempt.reply)
  t.equal(poured.text, chunks.join(''))
  t.equal(poured.tail, DONE)
  t.same(exchange.slots.get(USAGE), { meters: { input: 3, output: 2 }, estimated: false })
  const loud = await pass({ headers: { 'content-type': 'TEXT/EVENT-STREAM' }, chunks })
  t.equal((await pour(loud.attempt.reply)).tail, DONE, 'the type in capitals')
})

t.test('a stream whose length was promised may still end in an error event', async t => {
  const dies = new TollgateError('TARGET_CUT', 502, 'It broke.')
  const headers = { ...SSE, 'content-length': '999' }
  const { attempt } = await pass({ headers, chunks: [delta], dies })
  t.equal(attempt.reply.headers['content-length'], undefined)
  t.match((await pour(attempt.reply)).text, /data: \{"error"/)
})

t.test('an upstream that dies in mid-stream ends in the client format’s error event', async t => {
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
    const { attempt, host } = await pass(
      { headers: SSE, chunks: [first, first.slice(0, 12)], dies },
      { format, path: '/v1beta/models/m:streamGenerateContent' },
    )
    const { text, fault } = await pour(attempt.reply)
    t.ok(text.startsWith(first), format)
    t.match(text.slice(first.length), expected, 'half an event is dropped, the error can be read')
    t.equal(fault, undefined)
    t.same(host.logged, ['warn a stream ended in an error'])
  }
})

t.test('an error event before anything else is the error it says it is', async t => {
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
      const { attempt, fault } = await pass(
        { headers: { ...SSE, 'retry-after': '7' }, chunks },
        { format, path: '/v1beta/models/m:streamGenerateContent' },
      )
      t.equal(fault, undefined)
      t.equal(attempt.reply.status, status, format)
      t.same(JSON.parse((await pour(attempt.reply)).text), body)
      t.equal(attempt.reply.headers['content-type'], 'application/json')
      t.equal(attempt.reply.headers['retry-after'], '7')
    }
})

t.test('later error events are the stream’s own', async t => {
  const error =
    'data: {"error":{"message":"no","type":"server_error","param":null,"code":null}}\n\n'
  const { attempt } = await pass({ headers: SSE, chunks: [delta, error] })
  t.equal((await pour(attempt.reply)).text, delta + error)
})

t.test('a refusal passes with its body, its status and when to come back', async t => {
  for (const [status, type, body] of [
    [400, 'application/json', '{"error":{"message":"bad","code":"context_length_exceeded"}}'],
    [404, 'application/json', '{"error":{"message":"no such model"}}'],
    [429, 'application/json', '{"error":{"message":"slow"}}'],
    [503, 'text/html', '<h1>later</h1>'],
    [529, 'text/event-stream', '{"type":"error"}'],
  ] as const) {
    const headers = { 'content-type': type, 'retry-after': '9' }
    const { attempt, exchange, fault } = await pass({ status, headers, body })
    t.equal(fault, undefined)
    t.equal(attempt.reply.status, status)
    t.equal((await pour(attempt.reply)).text, body)
    t.equal(attempt.reply.headers['retry-after'], '9')
    t.equal(exchange.slots.get(USAGE), undefined, 'and nothing was used')
  }
})

t.test('what blames the gateway’s key is not the customer’s fault', async t => {
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
    const { fault, host } = await pass({ status, headers: JSON_TYPE, body }, { format, path })
    t.match(fault, { code: 'UPSTREAM_KEY_REFUSED', status: 502, retryable: true, expose: true })
    t.notMatch(fault?.message, /sk-the-gateways/)
    t.same(host.logged, ['error upstream refuses our key'])
  }
  const path = '/v1beta/models/m:generateContent'
  const bad = { status: 400, headers: JSON_TYPE, body: '{"error":{"code":400}}' }
  const { attempt, fault } = await pass(bad, { format: 'google-gemini', path })
  t.equal(fault, undefined)
  t.equal((await pour(attempt.reply)).text, bad.body, 'another 400 is the customer’s')
  const event = 'data: {"error":{"message":"sk-1","code":"invalid_api_key"}}\n\n'
  const streamed = await pass({ headers: SSE, chunks: [event] })
  t.match(streamed.fault, { code: 'UPSTREAM_KEY_REFUSED' }, 'nor in an event')
})

t.test('a redirect is not followed and not passed on', async t => {
  const headers = { location: 'http://169.254.169.254/' }
  const { fault } = await pass({ status: 302, headers, chunks: ['x'] })
  t.match(fault, { code: 'UPSTREAM_REDIRECTED', status: 502 })
})

t.test('google: the name in the path, the customer’s key nowhere', async t => {
  const { name, ...nameless } = { upstream: 'gx', name: 'gemini/2.5 pro' }
  const to = async (path: string, search: string, target: Target) => {
    const body = '{"usageMetadata":{"promptTokenCount":1}}'
    const { attempt } = await pass(
      { headers: JSON_TYPE, body },
      { format: 'google-gemini', path, search, target, asked: 'gx-2.5-pro' },
    )
    return attempt.request.path
  }
  const path = '/v1beta/models/gx-2.5-pro:generateContent'
  const renamed = '/v1beta/models/gemini%2F2.5%20pro:generateContent'
  t.equal(await to(path, '', { ...nameless, name }), renamed)
  t.equal(await to(path, 'alt=sse', { ...nameless, name }), `${renamed}?alt=sse`)
  t.equal(await to(path, 'key=sk-1&alt=sse', { ...nameless, name }), `${renamed}?alt=sse`)
  t.equal(await to(path, 'k%65y=sk-1', { ...nameless, name }), renamed, 'however it is spelt')
  t.equal(await to(path, 'key=sk-1&key=sk-2', nameless), path)
  t.equal(await to('/v1beta/models/m', '', { ...nameless, name: 'n' }), '/v1beta/models/n')
})

t.test('google: a stream that is an array is watched like an answer', async t => {
  const body =
    '[{"candidates":[{}],"usageMetadata":{"promptTokenCount":3}},\r\n{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":9}}]'
  const options = { format: 'google-gemini', path: '/v1beta/models/m:streamGenerateContent' }
  const { attempt, exchange } = await pass({ headers: JSON_TYPE, chunks: [...body] }, options)
  t.equal((await pour(attempt.reply)).text, body)
  t.same(exchange.slots.get(USAGE), { meters: { input: 3, output: 9 }, estimated: false })
})

t.test('headers an upstream insists on are there, the client’s own first', async t => {
  const exchange = fakeExchange({ body: chat })
  const stage = translate.setup('anthropic-messages', fakeHost())
  const attempt = fakeAttempt(exchange, TARGET, { headers: JSON_TYPE, body: '{}' })
  await stage.forward(attempt, attempt.next)
  t.equal(attempt.request.headers['anthropic-version'], '2023-06-01')
  const own = fakeAttempt(exchange, TARGET, { headers: JSON_TYPE, body: '{}' })
  own.request.headers['anthropic-version'] = '2099-01-01'
  await stage.forward(own, own.next)
  t.equal(own.request.headers['anthropic-version'], '2099-01-01')
})

t.test('targets that speak another format are left out; without any it is said', async t => {
  const upstreams = {
    gp: { options: { formats: ['openai-chat', 'openai-responses'] } },
    cl: { options: { formats: ['anthropic-messages'] } },
    any: { options: {} },
  }
  const stage = translate.setup('openai-chat', fakeHost({ upstreams }))
  const judge = async (...names: readonly string[]) => {
    const exchange = fakeExchange({ targets: names.map(upstream => ({ upstream })) })
    exchange.slots.set(MODEL, { asked: 'cl-sonnet-4-5', entry: 'cl-*' })
    const fault = await thrownBy(() => stage.handle(exchange, noNext))
    return fault ?? exchange.targets.map(({ upstream }) => upstream)
  }
  t.same(await judge('gp', 'any'), ['gp', 'any'])
  t.same(await judge('cl', 'gp', 'any'), ['gp', 'any'])
  t.match(await judge('cl'), { code: 'MODEL_NOT_HERE', status: 404, message: /cl-sonnet-4-5/ })
  t.same(await judge(), [], 'a route without targets is not its affair')
})

t.test('a format there is not', async t => {
  t.throws(
    () => translate.setup('esperanto', fakeHost()),
    /no format "esperanto"; there are openai/,
  )
})
