/** Before the upgrade a WebSocket is a normal request: stages may answer or refuse it, and targets
 *  fall back. */
import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { TollgateError } from '../../../engine/errors.ts'
import { pluginOf, startTestServer } from '../../helpers/gateway/test-server.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { openSocket, type RefusedUpgrade } from '../../helpers/gateway/web-socket.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.stop())
await upstream.script('echo', [{ do: 'websocket', manner: 'echo' }])

t.test(
  'WebSocket upgrade: a stage may answer instead, and its failure refuses the upgrade',
  async t => {
    const answering = pluginOf({
      answers: true,
      async handle(exchange) {
        exchange.answer(402, { sorry: true })
      },
    })
    const late = pluginOf({
      async handle(_, next) {
        await next()
        throw new TollgateError('HOLD_FAILED', 503, 'no hold')
      },
    })
    const document = {
      upstreams: { raw: { url: upstream.url } },
      routes: [{ path: 'WS /s/{name}', upstream: 'raw' }],
    }
    for (const [set, status] of [
      [{ answering }, 402],
      [{ late }, 503],
    ] as const) {
      const core = await startTestServer(t, set, document)
      const refusal = await openSocket(`${core.url}/s/echo`).catch((error: RefusedUpgrade) => error)
      t.match(refusal, { status })
    }
  },
)

t.test('WebSocket upgrade: a stage may answer with a socket of its own', async t => {
  const sockets: WebSocket[] = []
  const dialing = pluginOf({
    async forward(attempt) {
      const socket = new WebSocket(`${upstream.url}/s/echo`.replace('http', 'ws'))
      socket.once('open', () => socket.pause())
      await once(socket, 'open')
      sockets.push(socket)
      attempt.answer(101, socket, { 'x-from': 'the stage' })
    },
  })
  const late = pluginOf({
    async handle(exchange, next) {
      await next()
      if (exchange.request.query.has('late')) throw new TollgateError('HOLD_FAILED', 503, 'no hold')
    },
  })
  const core = await startTestServer(
    t,
    { late, dialing },
    { upstreams: { own: { url: 'dialing:' } }, routes: [{ path: 'WS /own', upstream: 'own' }] },
  )
  const client = await openSocket(`${core.url}/own`)
  t.equal(client.headers['x-from'], 'the stage')
  client.socket.send('x')
  t.same(await client.until(1), ['x'], 'messages pass both ways')
  client.socket.close(4_000, 'done')
  const [code, reason] = await once(sockets[0] as WebSocket, 'close')
  t.same([code, String(reason)], [4_000, 'done'], 'it is closed as the client closed')

  const refused = openSocket(`${core.url}/own?late`).catch((error: RefusedUpgrade) => error)
  t.match(await refused, { status: 503 })
  const unused = sockets[1] as WebSocket
  if (unused.readyState !== WebSocket.CLOSED) await once(unused, 'close')
  t.pass('it is closed where a later stage fails')
})

t.test('WebSocket upgrade: falls back to another target', async t => {
  const trace: string[] = []
  const traceStage = pluginOf({
    async forward(attempt, next) {
      trace.push(attempt.target.upstream)
      await next()
      trace.push(String(attempt.reply.status))
    },
  })
  await upstream.script('full', [
    { do: 'send', bytes: 'HTTP/1.1 503 Full\r\ncontent-length: 0\r\n\r\n' },
    { do: 'close' },
  ])
  const core = await startTestServer(
    t,
    { trying: traceStage },
    {
      upstreams: {
        dead: { url: 'http://127.0.0.1:1' },
        full: { url: `${upstream.url}/s/full` },
        raw: { url: upstream.url },
        inside: { url: 'trying:' },
      },
      routes: [
        { path: 'WS /s/{name}', upstream: ['dead', 'full', 'raw'], rewrite: '/s/{name}' },
        { path: 'WS /inside', upstream: 'inside' },
      ],
    },
  )
  await upstream.script('echo', [{ do: 'websocket', manner: 'echo' }])
  const client = await openSocket(`${core.url}/s/echo`)
  client.socket.send('x')
  t.same(await client.until(1), ['x'])
  t.same(trace.slice(0, 1), ['dead'])
  t.same(trace.slice(-2), ['raw', '101'])
  client.socket.terminate()
  const inside = await openSocket(`${core.url}/inside`).catch((error: RefusedUpgrade) => error)
  t.match(inside, { status: 500 })
})

t.test(
  'WebSocket upgrade: headers of the 101 come from the upstream and stages, without injected ones',
  async t => {
    let value = 'fine'
    const adding = pluginOf({
      async forward(attempt, next) {
        await next()
        attempt.reply.headers['x-added'] = value
      },
    })
    const core = await startTestServer(
      t,
      { adding },
      {
        upstreams: { raw: { url: upstream.url } },
        routes: [{ path: 'WS /s/{name}', upstream: 'raw' }],
      },
    )
    const openNow = () =>
      core.resources.metrics
        .report()
        .filter(({ name, labels }) => /open_streams/.test(name) && labels.kind === 'websocket')
        .map(({ values }) => values[0])
    const client = await openSocket(`${core.url}/s/echo`)
    t.equal(client.headers['x-added'], 'fine')
    t.equal(client.headers['sec-websocket-protocol'], undefined)
    t.same(openNow(), [1])
    client.socket.close()
    await client.closed
    while (core.server.openRequests > 0) await new Promise(resolve => setImmediate(resolve))
    t.same(openNow(), [0])
    value = 'x\r\nset-cookie: a=b'
    const refusal = await openSocket(`${core.url}/s/echo`).catch((error: RefusedUpgrade) => error)
    t.match(refusal, { status: 500 })
    t.notMatch(refusal, { headers: { 'set-cookie': String } })
  },
)
