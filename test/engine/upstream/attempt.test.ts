/** The request of an attempt: allowed headers, signed, traced, at its own path. */
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Document, Stage } from '../../../engine/plugin.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { pluginOf, startTestServer } from '../../helpers/gateway/test-server.ts'

interface UpstreamRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}
/** Starts a gateway; returns a function that resolves with the request the upstream received. */
const arrange = async (
  t: Test,
  upstream: object = {},
  route: object = {},
  stage: Stage = {},
  credentialHeaders: readonly string[] = [],
) => {
  const url = await startTextUpstream(t, (text, response, incoming) => {
    const { method, url, headers } = incoming
    response.end(JSON.stringify({ method, url, headers, body: text }))
  })
  const core = await startTestServer(t, { own: { ...pluginOf(stage), credentialHeaders } }, {
    upstreams: { up: { url: `${url}/base/v1`, ...upstream } },
    routes: [{ path: 'GET|POST|DELETE /v1/{id}', upstream: 'up', ...route }],
  } as Document)
  return async (path: string, init: RequestInit = {}): Promise<UpstreamRequest> =>
    (await (await fetch(core.url + path, init)).json()) as UpstreamRequest
}

t.test('attempt: path joined to the base, query unchanged', async t => {
  const ask = await arrange(t)
  t.match(await ask('/v1/a%20b?x=1&x=%2f'), { method: 'GET', url: '/base/v1/a%20b?x=1&x=%2f' })
  const rewritten = await arrange(t, {}, { rewrite: '/other/{id}' })
  t.match(await rewritten('/v1/a%20b?x=1'), { url: '/base/v1/other/a%20b?x=1' })
})

t.test("attempt: carries the upstream's credential and none of the client's", async t => {
  const headers = {
    authorization: 'Bearer client',
    'x-api-key': 'client',
    cookie: 'client',
    'x-goog-api-key': 'client',
  }
  const bearer = await arrange(t, { key: 'ours' })
  const request = await bearer('/v1/x', { headers })
  t.equal(request.headers.authorization, 'Bearer ours')
  t.notMatch(JSON.stringify(request), /client/)
  const query = await arrange(t, { key: 'o&urs', auth: { query: 'key' } })
  t.match(await query('/v1/x?a=1', { headers }), {
    url: '/base/v1/x?a=1&key=o%26urs',
    headers: { authorization: undefined },
  })
  const none = await arrange(t)
  t.notMatch(JSON.stringify(await none('/v1/x', { headers })), /client/)
})

t.test(
  'attempt: a credential header of a plugin is not forwarded, even where the upstream lists it',
  async t => {
    const headers = { 'x-secret': 'client', 'x-other': 'client' }
    const pass = { headers: { pass: ['x-secret', 'x-*'] } }
    const ask = await arrange(t, pass, {}, {}, ['x-secret'])
    const request = await ask('/v1/x', { headers })
    t.match(request.headers, { 'x-secret': undefined, 'x-other': 'client' })
    const open = await arrange(t, pass)
    t.match(
      (await open('/v1/x', { headers })).headers,
      headers,
      'without a plugin that declares it',
    )
  },
)

t.test('attempt: headers that the operator sets win over client and stages', async t => {
  const stage: Stage = {
    async forward(attempt, next) {
      attempt.request.headers['x-both'] = 'stage'
      attempt.request.headers['x-stage'] = 'stage'
      await next()
    },
  }
  const headers = {
    set: { 'x-both': 'operator', accept: 'operator' },
    pass: ['x-client', 'x-both'],
  }
  const ask = await arrange(t, { headers }, {}, stage)
  const client = { 'x-client': 'client', 'x-both': 'client', accept: 'client', 'x-other': 'client' }
  t.match(await ask('/v1/x', { headers: client }), {
    headers: {
      'x-both': 'operator',
      accept: 'operator',
      'x-stage': 'stage',
      'x-client': 'client',
      'x-other': undefined,
    },
  })
})

t.test('attempt: one request id and trace in both directions', async t => {
  const ask = await arrange(t)
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const request = await ask('/v1/x', {
    headers: { 'x-request-id': 'theirs-1', traceparent: `00-${trace}-b7ad6b7169203331-01` },
  })
  t.equal(request.headers['x-request-id'], 'theirs-1')
  t.match(request.headers.traceparent, new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
  t.notMatch(request.headers.traceparent, /b7ad6b7169203331/, 'with a span of its own')
  for (const traceparent of ['', 'nonsense', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
    const { headers } = await ask('/v1/x', { headers: { traceparent } })
    t.match(headers.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    t.match(headers['x-request-id'], /^req_[0-9a-f]{32}$/)
    t.match(
      headers.traceparent,
      headers['x-request-id']?.slice(4),
      'a generated id is used for both',
    )
  }
})

t.test(
  'attempt: JSON is sent with its length, other bodies with the framing of the client',
  async t => {
    const ask = await arrange(t)
    const json = {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json' },
    }
    t.match(await ask('/v1/x', json), {
      body: '{"a":1}',
      headers: { 'content-length': '7', 'content-type': 'application/json' },
    })
    const text = { method: 'POST', body: 'text', headers: { 'content-type': 'text/plain' } }
    t.match(await ask('/v1/x', text), { body: 'text', headers: { 'content-length': '4' } })
    const long = 'x'.repeat(100_000)
    const stream = (...parts: string[]) =>
      ({ method: 'POST', body: new Blob(parts).stream(), duplex: 'half' }) as const
    t.match(await ask('/v1/x', stream('st', long)), {
      body: `st${long}`,
      headers: { 'transfer-encoding': 'chunked', 'content-length': undefined },
    })
    t.match(
      await ask('/v1/x', stream('st', 'ream')),
      { body: 'stream', headers: { 'content-length': '6' } },
      'a short stream is read whole before it is sent',
    )
    t.match(await ask('/v1/x', { method: 'DELETE' }), { method: 'DELETE', body: '' })
  },
)

t.test('attempt: a compressed body is sent inflated', async t => {
  const ask = await arrange(
    t,
    { headers: { pass: ['content-*'] } },
    { body: { encodings: ['gzip'] } },
  )
  for (const type of ['application/json', 'text/plain']) {
    const headers = { 'content-encoding': 'gzip', 'content-type': type, 'content-language': 'en' }
    const request = await ask('/v1/x', { method: 'POST', body: gzipSync('{"a":1}'), headers })
    t.match(request, { body: '{"a":1}', headers: { 'content-language': 'en' } }, type)
    t.notOk('content-encoding' in request.headers)
  }
})

t.test('attempt: a stage may change the request for one attempt', async t => {
  const stage: Stage = {
    async forward({ request }, next) {
      request.method = 'POST'
      request.path = '/v1/else?y=2'
      request.body = Buffer.from('made')
      await next()
    },
  }
  const ask = await arrange(t, {}, {}, stage)
  t.match(await ask('/v1/x?x=1'), {
    method: 'POST',
    url: '/base/v1/else?y=2',
    body: 'made',
    headers: { 'content-length': '4' },
  })
})
