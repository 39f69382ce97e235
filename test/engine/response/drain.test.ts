/** Draining a server: requests end within the grace, or are cut with an event and settled. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import type { Outcome, Stage, Statement } from '../../../engine/plugin.ts'
import { plugin, startCore, startUpstream } from '../../helpers/core.ts'
import { rawClient, replies } from '../../helpers/raw.ts'

const settlement: Statement = { sql: { name: 'settle', text: '' }, values: [] }

/** A gateway of one streaming route that settles at the end of each reply. */
const arrange = async (t: Test) => {
  const ends: Outcome[] = []
  const responses: ServerResponse[] = []
  const requestArrived = Promise.withResolvers<void>()
  const upstream = await startUpstream(t, (incoming, response) => {
    if (incoming.url === '/plain') return void response.end('plain')
    responses.push(response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
    requestArrived.resolve()
  })
  const meter: Stage = {
    async handle(exchange, next) {
      exchange.onEnd(outcome => void ends.push(outcome))
      await next()
      exchange.reply.through({
        end(tail, out) {
          exchange.writes.add(settlement)
          out.end(tail)
        },
        fail(reason, out) {
          exchange.writes.add(settlement)
          out.fail(reason)
        },
      })
    },
    fail: ({ code, status, headers }) => ({
      status,
      headers: { ...headers },
      body: Buffer.from(code),
      event: Buffer.from(`data: ${code}\n\n`),
    }),
  }
  const core = await startCore(
    t,
    { meter: plugin(meter) },
    {
      upstreams: { up: { url: upstream } },
      routes: ['/stream', '/plain'].map(path => ({ path: `GET ${path}`, upstream: 'up' })),
    },
  )
  const port = Number(new URL(core.url).port)
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`
  return { core, port, get, ends, responses, requestArrived: requestArrived.promise }
}

t.test(
  'drain: requests that end within the grace are complete, and close their connections',
  async t => {
    const { core, port, get, ends, responses, requestArrived } = await arrange(t)
    const client = await rawClient({ port })
    await client.send(get('/stream'))
    await requestArrived
    await client.until('data: 1')
    t.equal(core.server.openRequests, 1)
    const draining = core.server.drain(60_000)
    responses[0]?.end('data: 2\n\n')
    await draining
    t.equal(await client.closed, 'end')
    t.match(replies(client.text()), [{ whole: true, body: 'data: 1\n\ndata: 2\n\n' }])
    t.match(ends, [{ end: 'complete', status: 200 }])
    t.equal(core.server.openRequests, 0)
  },
)

t.test('drain: new connections are refused, and replies close open ones', async t => {
  const { core, port, get, responses, requestArrived } = await arrange(t)
  const idle = await rawClient({ port })
  await idle.send(get('/plain'))
  await idle.until('plain')
  const busy = await rawClient({ port })
  await busy.send(get('/stream'))
  await requestArrived
  await busy.until('data: 1')
  const draining = core.server.drain(60_000)
  t.equal(await idle.closed, 'end', 'an idle connection is closed at once')
  const connection = connect({ port, host: '127.0.0.1' })
  const [error] = await once(connection, 'error')
  t.equal((error as NodeJS.ErrnoException).code, 'ECONNREFUSED')
  const nextRequest = once(core.server.http, 'request')
  await busy.send(get('/plain'))
  await nextRequest
  responses[0]?.end()
  await draining
  await busy.closed
  const [, second] = replies(busy.text())
  t.match(second, { status: 200, body: 'plain', headers: { connection: 'close' } })
})

t.test('drain: requests that outlive the grace are cut with an event and settled', async t => {
  const { core, port, get, ends, requestArrived } = await arrange(t)
  const client = await rawClient({ port })
  await client.send(get('/stream'))
  await requestArrived
  await client.until('data: 1')
  await core.server.drain(20)
  await client.closed
  t.match(replies(client.text()), [{ whole: true, body: /^data: 1\n\n\n*data: DRAINING\n\n$/ }])
  t.match(ends, [{ end: 'cut', fault: { code: 'DRAINING', status: 503 } }])
  t.same(core.store.lines, ['begin settle()', 'durable settle()'])
  t.equal(core.server.openRequests, 0)
})

t.test('drain: a request without a reply is refused after the grace', async t => {
  const waiting = Promise.withResolvers<void>()
  const silent = await startUpstream(t, () => waiting.resolve())
  const core = await startCore(
    t,
    {},
    { upstreams: { up: { url: silent } }, routes: [{ path: 'GET /', upstream: 'up' }] },
  )
  const reply = fetch(core.url)
  await waiting.promise
  await core.server.drain(0)
  const { status, headers } = await reply
  t.equal(status, 503)
  t.equal(headers.get('retry-after'), '1')
  t.equal(headers.get('connection'), 'close')
})

t.test('drain: a reply that ends during the drain is sent completely', async t => {
  const size = 8_000_000
  const requestArrived = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const replyEnd = Promise.withResolvers<void>()
  const own = plugin({
    answers: true,
    async handle(exchange) {
      requestArrived.resolve()
      await release.promise
      exchange.onEnd(() => replyEnd.resolve())
      exchange.answer(200, Buffer.alloc(size, 'x'))
    },
  })
  const core = await startCore(t, { own }, { routes: [{ path: 'GET /' }] })
  const client = await rawClient({ port: Number(new URL(core.url).port) }, { deaf: true })
  await client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await requestArrived.promise
  let isDrained = false
  const draining = core.server.drain(60_000).then(() => {
    isDrained = true
  })
  release.resolve()
  await replyEnd.promise
  for (let n = 0; n < 10; n++) await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(isDrained, false)
  client.socket.resume()
  await draining
  await client.closed
  t.equal(replies(client.text())[0]?.body.length, size)
})

t.test('drain: a reply queued behind another one is sent', async t => {
  const { core, port, get, responses, requestArrived, ends } = await arrange(t)
  const client = await rawClient({ port })
  await client.send(get('/stream') + get('/plain'))
  await requestArrived
  await client.until('data: 1')
  while (ends.length === 0) await new Promise(resolve => setImmediate(resolve))
  const draining = core.server.drain(60_000)
  responses[0]?.end()
  await draining
  await client.closed
  t.match(replies(client.text()), [{ whole: true }, { status: 200, body: 'plain', whole: true }])
})

t.test('drain: waits until a slow reader has read a reply that ended', async t => {
  const size = 8_000_000
  const core = await startCore(
    t,
    {
      own: plugin({
        answers: true,
        handle: async exchange => void exchange.answer(200, Buffer.alloc(size, 'x')),
      }),
    },
    { routes: [{ path: 'GET /' }] },
  )
  const client = await rawClient({ port: Number(new URL(core.url).port) }, { deaf: true })
  await client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await new Promise(resolve => client.socket.once('readable', resolve))
  const draining = core.server.drain(60_000)
  client.socket.resume()
  await draining
  await client.closed
  const [reply] = replies(client.text())
  t.equal(reply?.body.length, size)
})

t.test('drain: an idle server drains at once, also twice', async t => {
  const { core } = await arrange(t)
  await core.server.drain(60_000)
  await core.server.drain(60_000)
  t.equal(core.server.openRequests, 0)
})
