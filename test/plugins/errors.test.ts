/** Faults in every error dialect: body, status, headers and stream event. */
import t from 'tap'
import { TollgateError } from '../../engine/errors.ts'
import type { Fault, Json, Refusal, Request } from '../../engine/plugin.ts'
import { type DialectName, dialects } from '../../plugins/dialects/index.ts'
import errors from '../../plugins/errors.ts'
import { fakeExchange, fakeHost } from '../helpers/gateway/fake-exchange.ts'

const routes = [
  { path: 'POST /v1/chat/completions' },
  { path: 'GET /v1/files' },
  { path: 'POST /v1/files' },
  { path: 'GET /v1/files/{file_id}' },
  { path: 'POST /v1beta/models/{model}:generateContent' },
  { path: 'WS /v1/realtime' },
]
const host = fakeHost({ document: { routes } })
const exchange = fakeExchange()
const ID = exchange.id
const render = (dialect: DialectName, fault: Fault): Refusal => {
  const { fail } = errors.setup(dialect, host)
  return fail(fault, exchange)
}
const read = (refusal: Refusal) => JSON.parse(Buffer.from(refusal.body).toString())
const eventOf = (refusal: Refusal) => refusal.event && Buffer.from(refusal.event).toString()

const missing = new TollgateError('REQUIRED_PARAMETER', 400, "Missing required parameter: 'x'.", {
  param: 'x',
})
const unknown = new TollgateError('MODEL_UNKNOWN', 404, 'No such model.', { param: 'model' })
const rateLimited = new TollgateError('RATE_LIMITED', 429, 'Slow down.', {
  headers: { 'retry-after': '30' },
})
const badKey = new TollgateError('AUTH_UNKNOWN', 401, 'Who?')
const noFunds = new TollgateError('INSUFFICIENT', 402, 'The balance is used up.')
const unknownRoute = new TollgateError('ROUTE_NOT_FOUND', 404, 'Invalid URL (POST /v1/x)')
const wrongMethod = new TollgateError(
  'METHOD_NOT_ALLOWED',
  405,
  'GET is not allowed here; allowed: POST.',
  {
    headers: { allow: 'POST' },
  },
)
const secret = new TollgateError('STAGE_THREW', 500, 'password is hunter2', { param: 'hunter2' })
const away = new TollgateError('STORE_UNAVAILABLE', 503, 'Later.', {
  headers: { 'retry-after': '1' },
})

t.equal(errors.default, 'openai', 'the default dialect is openai')

const NOT_PROCESSED =
  'The service is temporarily unavailable and could not complete this request. Retry it.'
const NOT_CONFIRMED = 'The service could not confirm this request in time. Retry it.'
const TEXTS: Readonly<Record<DialectName, (body: Fields) => unknown>> = {
  openai: ({ error }) => (error as Fields).message,
  anthropic: ({ error }) => (error as Fields).message,
  google: ({ error }) => (error as Fields).message,
  vidu: ({ message }) => message,
  midjourney: ({ description }) => description,
  'new-api': ({ message }) => message,
  envelope: ({ message }) => message,
  scim: ({ detail }) => detail,
}
type Fields = Readonly<Record<string, unknown>>

for (const dialect of Object.keys(dialects) as DialectName[])
  t.test(`errors in ${dialect}: a 503 of the store has a message for customers`, async t => {
    const cases = {
      STORE_UNAVAILABLE: NOT_PROCESSED,
      STORE_READ_ONLY: NOT_PROCESSED,
      STORE_UNKNOWN: NOT_CONFIRMED,
      LEASE_GONE: NOT_CONFIRMED,
      CHARGE_CLOSED: NOT_CONFIRMED,
      CHARGE_EXISTS: NOT_CONFIRMED,
    }
    const suffix = dialect === 'openai' ? ` (request id: ${ID})` : ''
    for (const [code, text] of Object.entries(cases)) {
      // The store's own message is for programmers.
      const inside = new TollgateError(code, 409, 'write the same list again', { expose: false })
      const refusal = render(dialect, inside)
      t.equal(TEXTS[dialect](read(refusal)), text + suffix, code)
      t.equal(refusal.status, dialect === 'anthropic' ? 529 : 503)
      t.equal(refusal.headers['retry-after'], '1')
      t.notMatch(`${refusal.body}${eventOf(refusal)}`, 'same list')
    }
  })

for (const dialect of Object.keys(dialects) as DialectName[])
  t.test(`errors in ${dialect}: an unaffordable call reports its cost`, async t => {
    for (const code of ['INSUFFICIENT', 'KEY_EXHAUSTED']) {
      const text = 'Insufficient balance: this call may cost up to 1.89 CNY, you have 0.40 CNY.'
      const message = TEXTS[dialect](read(render(dialect, new TollgateError(code, 403, text))))
      t.ok(String(message).startsWith(text), String(message))
    }
  })

t.test('errors: paths of several kinds of clients speak the dialect of the client', async t => {
  const rendered = (
    headers: Readonly<Record<string, string>>,
    options: { translate?: string } = {},
  ) => {
    const route = {
      option: (name: string) => (name === 'translate' ? options.translate : undefined),
    }
    const { fail } = errors.setup('openai', fakeHost({ document: { routes }, route }))
    return read(fail(unknown, fakeExchange({ headers })))
  }
  const google = { 'x-goog-api-key': 'sk-x' }
  t.match(rendered(google), { error: { code: 404, status: 'NOT_FOUND' } })
  t.match(rendered({ 'anthropic-version': '1' }), { error: { type: 'not_found_error' } })
  t.match(rendered({ authorization: 'Bearer x' }), { error: { param: 'model', code: String } })
  t.match(rendered(google, { translate: 'openai-chat' }), { error: { code: 'model_not_found' } })
})

t.test('errors: each dialect recognises its stream requests', async t => {
  const streams = (dialect: DialectName, body: Json, path = '/v1/x') => {
    const [, query = ''] = path.split('?')
    const request = { path, query: new URLSearchParams(query), json: async () => body }
    return errors.setup(dialect, host).streams(request as unknown as Request)
  }
  const STREAM = '/v1beta/models/m:streamGenerateContent'
  for (const dialect of ['openai', 'anthropic'] as const) {
    t.equal(await streams(dialect, { stream: true }), true, dialect)
    for (const body of [{ stream: 'true' }, {}, [true], null, 'stream'])
      t.equal(await streams(dialect, body, STREAM), false, `${dialect} ${JSON.stringify(body)}`)
  }
  t.equal(await streams('google', {}, `${STREAM}?alt=sse`), true)
  t.equal(await streams('google', {}, STREAM), false, 'one JSON list')
  t.equal(await streams('google', { stream: true }), false)
  for (const dialect of ['vidu', 'midjourney', 'new-api', 'envelope'] as const)
    t.equal(await streams(dialect, { stream: true }, STREAM), false, dialect)
})

t.test('errors in openai: body, status and stream event', async t => {
  const body = (fault: Fault) => read(render('openai', fault))
  t.same(body(missing), {
    error: {
      message: `Missing required parameter: 'x'. (request id: ${ID})`,
      type: 'invalid_request_error',
      param: 'x',
      code: 'missing_required_parameter',
    },
  })
  t.match(body(unknown), { error: { code: 'model_not_found', param: 'model' } })
  t.match(body(badKey), { error: { type: 'invalid_request_error', code: 'invalid_api_key' } })
  t.match(body(rateLimited), { error: { type: 'requests', code: 'rate_limit_exceeded' } })
  t.match(body(noFunds), { error: { code: 'insufficient_user_quota' } })
  t.equal(render('openai', noFunds).status, 403)
  t.same(body(unknownRoute).error, {
    message: `Invalid URL (POST /v1/x) (request id: ${ID})`,
    type: 'invalid_request_error',
    param: null,
    code: null,
  })
  t.equal(
    eventOf(render('openai', rateLimited)),
    `data: ${JSON.stringify(body(rateLimited))}\n\n`,
    'an event without a name',
  )
})

t.test('errors in anthropic: body, status, header and stream event', async t => {
  const refusal = render('anthropic', missing)
  t.same(read(refusal), {
    type: 'error',
    error: { type: 'invalid_request_error', message: "Missing required parameter: 'x'." },
    request_id: ID,
  })
  t.equal(refusal.headers['request-id'], ID)
  t.match(read(render('anthropic', badKey)), { error: { type: 'authentication_error' } })
  t.match(read(render('anthropic', unknown)), { error: { type: 'not_found_error' } })
  t.match(read(render('anthropic', rateLimited)), { error: { type: 'rate_limit_error' } })
  t.match(read(render('anthropic', noFunds)), { error: { type: 'billing_error' } })
  t.equal(render('anthropic', noFunds).status, 403)
  t.equal(render('anthropic', away).status, 529, 'its clients expect 529 for overload')
  t.match(read(render('anthropic', away)), { error: { type: 'overloaded_error' } })
  t.match(eventOf(refusal), /^event: error\ndata: \{"type":"error",.*\}\n\n$/)
})

t.test('errors in google: body, status, retry delay and stream event', async t => {
  t.same(read(render('google', missing)), {
    error: { code: 400, message: "Missing required parameter: 'x'.", status: 'INVALID_ARGUMENT' },
  })
  t.match(read(render('google', badKey)), { error: { code: 401, status: 'UNAUTHENTICATED' } })
  t.match(read(render('google', noFunds)), { error: { code: 403, status: 'PERMISSION_DENIED' } })
  t.match(
    read(render('google', rateLimited)),
    { error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '30s' }] } },
    'its clients read the retry delay in the body',
  )
  t.match(read(render('google', unknown)), { error: { code: 404, status: 'NOT_FOUND' } })
  const overload = new TollgateError('X', 529, 'Later.')
  t.equal(render('google', overload).status, 503)
  t.match(read(render('google', overload)), { error: { code: 503, status: 'UNAVAILABLE' } })
  t.match(eventOf(render('google', missing)), /^data: \{"error":.*\}\r\n\r\n$/)
})

t.test('errors in vidu: body and status, without a stream event', async t => {
  t.same(read(render('vidu', missing)), {
    code: 400,
    reason: 'FieldLacking',
    message: 'field is missing or empty: x',
    metadata: { trace_id: ID.slice(4) },
  })
  t.match(ID.slice(4), /^[0-9a-f]{32}$/, '32 hexadecimal digits')
  t.match(read(render('vidu', noFunds)), { code: 400, reason: 'CreditInsufficient' })
  t.equal(render('vidu', noFunds).status, 400)
  t.match(read(render('vidu', badKey)), { code: 401, reason: 'Unauthorized', message: 'Who?' })
  t.match(read(render('vidu', rateLimited)), { code: 429, reason: 'TooManyRequests' })
  const tooManyAtOnce = new TollgateError('CONCURRENCY_EXCEEDED', 429, 'Too many at once.')
  t.match(read(render('vidu', tooManyAtOnce)), { code: 429, reason: 'QuotaExceeded' })
  t.match(read(render('vidu', secret)), { code: 500, reason: 'InternalServiceFailure' })
  const wrong = new TollgateError('INVALID_TYPE', 400, 'The body is not an object.')
  t.equal(
    read(render('vidu', wrong)).message,
    'The body is not an object.',
    'without a field the own message stays',
  )
  const specialName = new TollgateError('INVALID_VALUE', 400, 'Bad.', { param: "$& $' %s" })
  t.equal(
    read(render('vidu', specialName)).message,
    "invalid field: $& $' %s",
    'a field name is not a replacement pattern',
  )
  t.equal(render('vidu', missing).event, undefined, 'the dialect has no streams')
})

t.test('errors in midjourney: body with a numeric code', async t => {
  t.same(read(render('midjourney', missing)), {
    description: "Missing required parameter: 'x'.",
    type: 'gateway_error',
    code: 4,
  })
  t.match(read(render('midjourney', rateLimited)), { code: 30 })
  t.match(read(render('midjourney', unknown)), { code: 3 })
  t.match(read(render('midjourney', secret)), { code: 9 })
  const dead = new TollgateError('TARGET_UNREACHABLE', 502, 'Away.')
  t.match(read(render('midjourney', dead)), { type: 'upstream_error', code: 9 })
})

t.test('errors in new-api: both bodies of its answers in one', async t => {
  const message = "Missing required parameter: 'x'."
  t.same(read(render('new-api', missing)), {
    code: 'invalid_request',
    message,
    data: null,
    error: {
      message: `${message} (request id: ${ID})`,
      type: 'new_api_error',
      param: 'x',
      code: 'invalid_request',
    },
  })
  t.match(read(render('new-api', badKey)), { error: { code: 'invalid_api_key' } })
  t.match(render('new-api', noFunds), { status: 403 })
  t.match(read(render('new-api', noFunds)), { code: 'insufficient_user_quota' })
  t.match(read(render('new-api', unknown)), { code: 'model_not_found' })
  t.match(read(render('new-api', rateLimited)), { code: 'rate_limit_exceeded' })
})

t.test('errors in envelope: body with success and message only', async t => {
  t.same(read(render('envelope', badKey)), { success: false, message: 'Who?' }, 'no data member')
})

for (const dialect of Object.keys(dialects) as DialectName[])
  t.test(
    `errors in ${dialect}: internal messages stay hidden, status and headers pass`,
    async t => {
      for (const fault of [
        missing,
        unknown,
        rateLimited,
        badKey,
        noFunds,
        unknownRoute,
        secret,
        away,
      ]) {
        const { status, headers, body } = render(dialect, fault)
        t.ok(status >= 400 && status < 600)
        const type = dialect === 'scim' ? 'application/scim+json' : 'application/json'
        t.equal(headers['content-type'], type)
        t.ok(typeof JSON.parse(Buffer.from(body).toString()) === 'object')
      }
      const refusal = render(dialect, secret)
      t.notMatch(Buffer.from(refusal.body).toString(), /hunter2/, 'no internal message in the body')
      t.notMatch(eventOf(refusal) ?? '', /hunter2/)
      t.equal(render(dialect, rateLimited).headers['retry-after'], '30')
      t.equal(render(dialect, wrongMethod).headers.allow, 'POST')
      t.equal(render(dialect, wrongMethod).status, 405)
      t.match(
        Buffer.from(render(dialect, unknownRoute).body).toString(),
        /Invalid URL \(POST \/v1\/x\)/,
      )
      const odd = new TollgateError('NEVER_HEARD_OF', 418, 'I am a teapot.')
      t.equal(render(dialect, odd).status, 418, 'a status without a row is unchanged')
      t.match(Buffer.from(render(dialect, odd).body).toString(), /I am a teapot/)
    },
  )

t.test('errors: an invalid URL names the route that it resembles', async t => {
  const messageFor = (method: string, path: string): string => {
    const { fail } = errors.setup('openai', host)
    const fault = new TollgateError('ROUTE_NOT_FOUND', 404, `Invalid URL (${method} ${path})`)
    return read(fail(fault, fakeExchange({ method, path }))).error.message
  }
  for (const [method, path, route] of [
    ['POST', '/chat/completions', 'POST /v1/chat/completions'],
    ['POST', '/v1/chat/completions/', 'POST /v1/chat/completions'],
    ['POST', '/v1/v1/chat/completions', 'POST /v1/chat/completions'],
    ['POST', '/v1//chat/completions', 'POST /v1/chat/completions'],
    ['POST', '/V1/Chat/Completions', 'POST /v1/chat/completions'],
    ['GET', '/chat/completions', 'POST /v1/chat/completions'],
    ['POST', '/files', 'POST /v1/files'],
    ['GET', '/files/file-1/', 'GET /v1/files/{file_id}'],
    ['POST', '/v1beta/models/x:generateContent/', 'POST /v1beta/models/{model}:generateContent'],
  ] as const)
    t.match(messageFor(method, path), `Invalid URL (${method} ${path}); did you mean ${route}?`)
  for (const path of ['/', '/x', '/v1', '/realtime', '/v1/files/a/b', `/files/${'a'.repeat(600)}`])
    t.match(messageFor('GET', path), /^Invalid URL \(GET \S+\) \(request id/, path.slice(0, 20))
})
