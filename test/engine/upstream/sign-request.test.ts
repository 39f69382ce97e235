/** `sign` of a stage: runs last, with the request that is sent; retries, `host.send`, sockets. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { errors } from '../../../engine/errors.ts'
import type { Document, Host, SignableRequest, Stage } from '../../../engine/plugin.ts'
import { signRequest } from '../../../engine/upstream/sign-request.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { pluginOf, recordHosts, startTestServer } from '../../helpers/gateway/test-server.ts'
import { openSocket } from '../../helpers/gateway/web-socket.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const SECRET = 'shared secret'
const digest = (method: string, target: string, body: string): string =>
  createHmac('sha256', SECRET).update(`${method}\n${target}\n${body}`).digest('base64')
const signing: Stage = {
  async sign({ method, url, headers, body, isStreamed }) {
    await undefined
    const text = isStreamed ? 'streamed' : Buffer.from(body ?? '').toString()
    headers['x-signature'] = digest(method, url.pathname + url.search, text)
  },
}

interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
/** An upstream that records requests, and answers 503 to those that `refuses` accepts. */
const startRecorder = async (t: Test, refuses: (count: number) => boolean = () => false) => {
  const received: Received[] = []
  const url = await startTextUpstream(t, (text, response, incoming) => {
    const { method = '', url = '', headers } = incoming
    received.push({ method, url, headers, body: text })
    response.writeHead(refuses(received.length) ? 503 : 200).end('ok')
  })
  return { received, url }
}
const ROUTE = { path: 'GET|POST|DELETE /v1/{id}', upstream: 'up' }
const isSigned = ({ method, url, headers, body }: Received): boolean =>
  headers['x-signature'] === digest(method, url, body)

t.test('sign: covers the URL, credential and bytes that are sent', async t => {
  const { received, url } = await startRecorder(t)
  const signables: SignableRequest[] = []
  const rewriting: Stage = {
    async forward({ request }, next) {
      request.body = Buffer.from('changed')
      request.path += '&late=1'
      await next()
    },
  }
  const watching: Stage = { sign: request => void signables.push(request) }
  const up = {
    url: `${url}/base`,
    key: 'k e',
    auth: { query: 'key' },
    headers: { set: { 'x-set': 'ours' } },
  }
  const own = { watching: pluginOf(watching), signing: pluginOf(signing) }
  const core = await startTestServer(t, { ...own, rewriting: pluginOf(rewriting) }, {
    upstreams: { up },
    routes: [ROUTE],
  } as Document)
  const response = await fetch(`${core.url}/v1/a%20b?x=%2f`, { method: 'POST', body: 'original' })
  t.equal(response.status, 200)
  const [request] = received as [Received]
  t.match(request, { url: '/base/v1/a%20b?x=%2f&late=1&key=k%20e', body: 'changed' })
  t.ok(isSigned(request), 'the signature is that of the request as it arrived')
  t.equal(signables[0]?.url.origin, url)
  t.equal(signables[0]?.headers['x-set'], 'ours')
})

t.test('sign: may change headers, path and query, but not the host', async t => {
  const { received, url } = await startRecorder(t)
  const stage: Stage = {
    sign({ url, headers }) {
      url.host = '192.0.2.1:81'
      url.pathname = '/moved'
      url.searchParams.set('signature', 'a/b')
      headers.authorization = 'Own x'
    },
  }
  const document = { upstreams: { up: { url, key: 'k' } }, routes: [ROUTE] } as Document
  const core = await startTestServer(t, { own: pluginOf(stage) }, document)
  t.equal((await fetch(`${core.url}/v1/x?a=1`)).status, 200)
  t.match(received, [{ url: '/moved?a=1&signature=a%2Fb', headers: { authorization: 'Own x' } }])
})

t.test('sign: runs for each attempt, and for none that is not sent', async t => {
  const { received, url } = await startRecorder(t, count => count === 1)
  let calls = 0
  const stage: Stage = {
    sign({ headers }, target) {
      headers['x-call'] = `${++calls} ${target.upstream}`
    },
  }
  const document = {
    upstreams: { up: { url }, other: { url } },
    routes: [{ ...ROUTE, upstream: ['up', 'other'] }],
  } as Document
  const core = await startTestServer(t, { own: pluginOf(stage) }, document)
  t.equal((await fetch(`${core.url}/v1/x`)).status, 200)
  t.same(
    received.map(({ headers }) => headers['x-call']),
    ['1 up', '2 other'],
  )
  t.equal((await fetch(`${core.url}/nowhere`)).status, 404)
  t.equal(calls, 2)
})

t.test('sign: a streamed body is not given, and is sent', async t => {
  const { received, url } = await startRecorder(t)
  const document = { upstreams: { up: { url } }, routes: [ROUTE] } as Document
  const core = await startTestServer(t, { own: pluginOf(signing) }, document)
  const long = 'x'.repeat(100_000)
  const init = { method: 'POST', body: new Blob([long]).stream(), duplex: 'half' } as const
  t.equal((await fetch(`${core.url}/v1/x`, init)).status, 200)
  const [{ headers, body }] = received as [Received]
  t.equal(body, long)
  t.equal(headers['x-signature'], digest('POST', '/v1/x', 'streamed'))
  await fetch(`${core.url}/v1/x`, { method: 'DELETE' })
  t.ok(isSigned(received[1] as Received), 'no body is not a streamed one')
})

t.test('sign: signs host.send, with bytes and streams', async t => {
  const { received, url } = await startRecorder(t)
  const { hosts, plugin: capture } = recordHosts({ answers: true })
  const plugins = { own: pluginOf(signing), capture }
  const document = { upstreams: { up: { url } }, routes: [{ path: 'GET /' }] } as Document
  await startTestServer(t, plugins, document)
  const [host] = hosts as [Host]
  const send = async (body: Uint8Array | AsyncIterable<Uint8Array>) =>
    (await host.send('up', { method: 'PUT', path: '/files?part=1', body })).bytes(100)
  await send(Buffer.from('bytes'))
  await send(
    (async function* () {
      yield Buffer.from('upload')
    })(),
  )
  t.ok(isSigned(received[0] as Received))
  t.match(received[1], {
    body: 'upload',
    headers: { 'x-signature': digest('PUT', '/files?part=1', 'streamed') },
  })
})

t.test('sign: signs the handshake of a WebSocket', async t => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  t.teardown(() => server.close())
  const handshakes: { url: string | undefined; headers: IncomingHttpHeaders }[] = []
  server.on('connection', (_, { url, headers }) => void handshakes.push({ url, headers }))
  const { port } = server.address() as AddressInfo
  const document = {
    upstreams: { up: { url: `http://127.0.0.1:${port}/base`, key: 'k' } },
    routes: [{ path: 'WS /live', upstream: 'up' }],
  } as Document
  const core = await startTestServer(t, { own: pluginOf(signing) }, document)
  const client = await openSocket(`${core.url}/live?x=1`)
  client.socket.close()
  await client.closed
  t.match(handshakes, [
    {
      url: '/base/live?x=1',
      headers: {
        authorization: 'Bearer k',
        'x-signature': digest('GET', '/base/live?x=1', ''),
      },
    },
  ])
})

const fault = errors({
  NO_SECRET: [502, 'There is no secret for %s.', { retryable: true }],
  SECRET_LOST: [502, 'The secret is lost.'],
})
t.test('sign: a fault ends the attempt before anything is sent', async t => {
  const { received, url } = await startRecorder(t)
  const stage: Stage = {
    sign(_, { upstream }) {
      if (upstream === 'up') throw fault('NO_SECRET', [upstream])
      if (upstream === 'lost') return Promise.reject(fault('SECRET_LOST'))
      return undefined
    },
  }
  const upstreams = { up: { url }, lost: { url }, other: { url } }
  const route = (path: string, upstream: unknown) => ({ path: `POST ${path}`, upstream })
  const routes = [
    route('/up', 'up'),
    route('/lost', ['lost', 'other']),
    route('/both', ['up', 'other']),
  ]
  const core = await startTestServer(t, { own: pluginOf(stage) }, {
    upstreams,
    routes,
  } as Document)
  const post = async (path: string) => {
    const response = await fetch(core.url + path, { method: 'POST', body: 'x' })
    return { status: response.status, text: await response.text() }
  }
  t.match(await post('/up'), { status: 502, text: /There is no secret for up\./ })
  t.match(await post('/lost'), { status: 502, text: /The secret is lost\./ })
  t.equal(received.length, 0)
  t.equal((await post('/both')).status, 200, 'a retryable one starts the next attempt')
  t.equal(received.length, 1)
})

t.test('sign: a stage that never settles ends by the stage timeout, with its name', async t => {
  const { received, url } = await startRecorder(t)
  const lines: string[] = []
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (_: object, text = '') => lines.push(text),
  }
  const stage: Stage = { sign: () => new Promise(() => {}) }
  const document = {
    settings: { timeouts: { stage: `${scaled(100)}ms` } },
    upstreams: { up: { url } },
    routes: [ROUTE],
  } as Document
  const core = await startTestServer(t, { sealing: pluginOf(stage) }, document, {
    ...log,
    error: (fields, text) => void log.error(fields, text),
  })
  t.equal((await fetch(`${core.url}/v1/x`)).status, 500)
  t.match(lines.join('\n'), /stage "sealing"/)
  t.equal(received.length, 0)
})

t.test('sign: a call whose client left while it was signed is not sent', async t => {
  const { received, url } = await startRecorder(t)
  const began = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const hangup = Promise.withResolvers<void>()
  const stage: Stage = {
    async handle(exchange, next) {
      exchange.signal.addEventListener('abort', () => hangup.resolve(), { once: true })
      await next()
    },
    async sign() {
      began.resolve()
      await release.promise
    },
  }
  const document = { upstreams: { up: { url } }, routes: [ROUTE] } as Document
  const core = await startTestServer(t, { own: pluginOf(stage) }, document)
  const aborter = new AbortController()
  const response = fetch(`${core.url}/v1/x`, { signal: aborter.signal })
  await began.promise
  aborter.abort()
  await t.rejects(response)
  await hangup.promise
  release.resolve()
  t.equal((await fetch(`${core.url}/v1/later`)).status, 200)
  t.same(
    received.map(({ url }) => url),
    ['/v1/later'],
  )
})

type Unsigned = Parameters<typeof signRequest>[0]
t.test('sign: a stage that returns no promise costs none', async t => {
  const attempt = (signers: Unsigned['signers']) =>
    ({
      candidate: {
        upstream: { sign: (_: object, path: string) => path },
        origin: { address: 'http://up.test' },
        base: '/v1',
      },
      request: { method: 'GET', path: '/x|y', body: undefined },
      target: { upstream: 'up' },
      signers,
    }) as unknown as Unsigned
  t.equal(signRequest(attempt([]), {}), '/v1/x|y')
  const headers = {}
  const sign: Stage['sign'] = ({ headers }) => {
    headers['x-signed'] = 'yes'
  }
  t.equal(signRequest(attempt([{ name: 'own', sign }]), headers), '/v1/x|y')
  t.same(headers, { 'x-signed': 'yes' })
})
