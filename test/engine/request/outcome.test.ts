/** The outcome that stages get at the end of a call: its target, its times and its trace. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import type { Exchange, Outcome, Stage, Target } from '../../../engine/plugin.ts'
import { rawClient } from '../../helpers/gateway/raw-client.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'
import { openSocket } from '../../helpers/gateway/web-socket.ts'

/** ms that the upstream waits before its head, and before its second chunk. */
const WAIT = 60
const pause = (): Promise<void> => new Promise(resolve => setTimeout(resolve, WAIT))

type Ended = readonly [outcome: Outcome, exchange: Exchange]

/** Requests `/`; resolves at the end of the exchange. */
const endOf = async (
  t: Test,
  respond: (response: ServerResponse, trace: string) => unknown,
  options: { targets?: readonly Target[]; stage?: Stage; method?: string } = {},
) => {
  const { targets, stage = {}, method = 'GET' } = options
  const ended = Promise.withResolvers<Ended>()
  const upstream = await startHttpUpstream(t, (request, response) => {
    respond(response, String(request.headers.traceparent))
  })
  const watching: Stage = {
    async handle(exchange, next) {
      if (targets) exchange.targets = targets
      exchange.onEnd(outcome => ended.resolve([outcome, exchange]))
      await next()
    },
  }
  const upstreams = { up: { url: upstream }, down: { url: 'http://127.0.0.1:1' } }
  const core = await startTestServer(
    t,
    { watching: pluginOf(watching), own: pluginOf(stage) },
    { upstreams, routes: [{ path: `${method} /`, upstream: 'up' }] },
  )
  const send = (headers = {}) => fetch(core.url, { method, headers })
  return { send, core, ended: ended.promise }
}

t.test('outcome: a plain reply has its target, and times in their order', async t => {
  const target = { upstream: 'up', name: 'small' }
  const { send, ended } = await endOf(
    t,
    async response => {
      await pause()
      response.end('whole')
    },
    { targets: [target] },
  )
  t.equal(await (await send()).text(), 'whole')
  const [outcome] = await ended
  t.match(outcome, { end: 'complete', status: 200, attempts: 1, bytes: 5, target })
  const { waited, first = 0, whole } = outcome.ms
  t.ok(waited >= WAIT - 5 && waited <= first && first <= whole, `${waited} ${first} ${whole}`)
})

t.test('outcome: the first byte of a stream is earlier than its end', async t => {
  const received = Promise.withResolvers<void>()
  const { send, ended } = await endOf(t, async response => {
    await pause()
    response.write('a')
    await received.promise
    await pause()
    response.end('b')
  })
  for await (const _ of (await send()).body ?? []) received.resolve()
  const [{ ms }] = await ended
  t.ok(ms.whole - (ms.first ?? ms.whole) >= WAIT - 5, 'one pause lies between them')
  t.ok(ms.waited >= WAIT - 5 && ms.waited <= (ms.first ?? 0), 'waiting ends at the head')
})

t.test('outcome: a fallback names the target that answered, and adds both waits', async t => {
  const targets = [
    { upstream: 'down', name: 'large' },
    { upstream: 'up', name: 'small' },
  ]
  const { send, ended } = await endOf(t, response => response.end('b'), { targets })
  t.equal(await (await send()).text(), 'b')
  t.match((await ended)[0], { attempts: 2, target: { upstream: 'up', name: 'small' } })
})

t.test('outcome: where every attempt fails the target is the last one tried', async t => {
  const targets = [{ upstream: 'down', name: 'large' }]
  const { send, ended } = await endOf(t, response => response.end(), { targets })
  t.equal((await send()).status, 502)
  const [outcome] = await ended
  t.match(outcome, { end: 'refused', status: 502, fault: { code: 'TARGET_UNREACHABLE' } })
  t.match(outcome.target, { upstream: 'down', name: 'large' })
  t.ok((outcome.ms.first ?? 0) > 0, 'the refusal has a body')
})

t.test('outcome: a call that no upstream got has no target and no wait', async t => {
  const { send, ended } = await endOf(t, response => response.end(), {
    stage: { answers: true, handle: async exchange => void exchange.answer(204) },
  })
  t.equal((await send()).status, 204)
  const [outcome] = await ended
  t.same(Object.keys(outcome.ms).sort(), ['waited', 'whole'], 'no body, no first byte')
  t.match(outcome, { end: 'complete', status: 204, attempts: 0, bytes: 0, ms: { waited: 0 } })
  t.notOk('target' in outcome)
  t.notOk('fault' in outcome)
})

t.test('outcome: a reply that is cut has its target and its first byte', async t => {
  const received = Promise.withResolvers<void>()
  const { send, ended } = await endOf(t, async response => {
    response.write('a')
    await received.promise
    await pause()
    response.destroy()
  })
  const read = async (): Promise<void> => {
    for await (const _ of (await send()).body ?? []) received.resolve()
  }
  await t.rejects(read())
  const [outcome] = await ended
  t.match(outcome, { end: 'cut', bytes: 1, target: { upstream: 'up' } })
  t.ok(outcome.ms.whole - (outcome.ms.first ?? outcome.ms.whole) >= WAIT - 5)
})

t.test('outcome: a client that leaves before the first byte got none', async t => {
  const arrived = Promise.withResolvers<void>()
  const { core, ended } = await endOf(t, () => arrived.resolve())
  const client = await rawClient({ port: Number(new URL(core.url).port) })
  await client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await arrived.promise
  client.reset()
  const [outcome] = await ended
  t.match(outcome, { end: 'hangup', target: { upstream: 'up' } })
  t.equal(outcome.ms.first, undefined)
  t.ok(outcome.ms.whole > 0)
})

t.test('outcome: the first byte of a WebSocket is its first message', async t => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', socket => {
    socket.on('message', async text => {
      await pause()
      socket.send(`${text}!`)
    })
  })
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const ended = Promise.withResolvers<Ended>()
  const watching: Stage = {
    async handle(exchange, next) {
      exchange.onEnd(outcome => ended.resolve([outcome, exchange]))
      await next()
    },
  }
  const core = await startTestServer(
    t,
    { watching: pluginOf(watching) },
    {
      upstreams: { up: { url: `http://127.0.0.1:${port}` } },
      routes: [{ path: 'WS /', upstream: 'up' }],
    },
  )
  const client = await openSocket(core.url)
  client.socket.send('hello')
  t.same(await client.until(1), ['hello!'])
  client.socket.close()
  const [{ end, target, ms }, { trace }] = await ended.promise
  t.match({ end, target }, { end: 'complete', target: { upstream: 'up' } })
  t.ok((ms.first ?? 0) >= Math.max(ms.waited, WAIT - 5) && (ms.first ?? 0) <= ms.whole)
  t.match(trace, /^[0-9a-f]{32}$/)
})

t.test('trace: is that of the client, and goes to the upstream', async t => {
  const traces: string[] = []
  const { send, ended } = await endOf(t, (response, trace) => {
    traces.push(trace)
    response.end()
  })
  const trace = '0af7651916cd43dd8448eb211c80319c'
  await send({ traceparent: `00-${trace}-b7ad6b7169203331-01` })
  const [, exchange] = await ended
  t.equal(exchange.trace, trace)
  t.match(traces[0], new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
})

t.test('trace: is new if the client sends none', async t => {
  const { send, ended } = await endOf(t, (response, trace) => response.end(trace.split('-')[1]))
  const received = await (await send()).text()
  const [, exchange] = await ended
  t.equal(exchange.trace, received)
  t.not(exchange.trace, '0'.repeat(32))
})
