/** A pool of connections: abandoned requests, lost connections, closing and destroying it. */
import net, { type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import type { ResponseHandler } from '../../../engine/http-client/connection.ts'
import { Pool } from '../../../engine/http-client/pool.ts'
import type { Request } from '../../../engine/http-client/request-head.ts'
import {
  CLIENT_GONE,
  OK,
  openOrigin,
  readText,
  sendThroughPool,
  startByteUpstream,
} from '../../helpers/gateway/direct-client.ts'

const GET: Request = { method: 'GET', path: '/', headers: {}, body: undefined }
const open = (t: Test, address: string, connections = 1): Pool => {
  const pool = new Pool(address, { connect: 10_000, connections })
  t.teardown(() => pool.destroy())
  return pool
}
const recordingHandler = (
  over = false,
): ResponseHandler & { over: boolean; readonly events: string[] } => {
  const events: string[] = []
  return {
    over,
    events,
    onStart: () => void events.push('start'),
    onHead: status => void events.push(`head ${status}`),
    onData: () => void events.push('data'),
    onEnd: () => void events.push('end'),
    onError: error => void events.push(`error ${error.message}`),
  }
}
const pauseBriefly = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 30))

t.test(
  'pool: a request abandoned before it was sent is never sent, and holds no connection',
  async t => {
    const upstream = await startByteUpstream(t, () => OK)
    const { origin, ask } = openOrigin(t, upstream.url, 1)
    await readText(await ask())
    const abandonedReply = ask({ method: 'POST', path: '/abandoned' }, abort => abort(CLIENT_GONE))
    await t.rejects(abandonedReply, { code: 'GONE' })
    t.equal(await readText(await ask()), 'ok')
    t.equal(upstream.requests.length, 2)
    t.equal(origin.busy, 0)
  },
)

t.test('pool: abandoned queued requests are released, with what they hold', async t => {
  const upstream = await startByteUpstream(t, (socket, request) => {
    if (request.startsWith('GET /last')) return OK
    setTimeout(() => socket.write(OK), 100)
    return undefined
  })
  const pool = open(t, upstream.url)
  const first = sendThroughPool(pool)
  const handlers = Array.from({ length: 500 }, () => recordingHandler())
  for (const handler of handlers) {
    pool.send(GET, handler)
    handler.over = true
  }
  t.equal((await sendThroughPool(pool, { path: '/last' })).body, 'ok')
  await first
  t.equal(upstream.requests.length, 2)
  t.ok(handlers.every(({ events }) => events.length === 0))
})

t.test(
  'pool: an idle connection that is reset is not used by a request at that moment',
  async t => {
    const upstream = await startByteUpstream(t, (socket, request) => {
      if (request.startsWith('GET /reset')) setTimeout(() => socket.resetAndDestroy(), 10)
      return OK
    })
    let lastSocket: Socket | undefined
    const pool = new Pool(upstream.url, {
      connect: 10_000,
      connections: 4,
      connector(endpoint, { onread }, callback) {
        lastSocket = net.connect({ ...endpoint, ...(onread && { onread }) })
        const socket = lastSocket
        socket.once('connect', () => callback(undefined, socket))
      },
    })
    t.teardown(() => pool.destroy())
    await sendThroughPool(pool, { path: '/reset' })
    const reply = new Promise(resolve =>
      lastSocket?.once('error', () => resolve(sendThroughPool(pool))),
    )
    t.match(await reply, { body: 'ok' })
    t.equal(upstream.connections, 2)
  },
)

t.test('pool: a response before the end of a large body blocks no other request', async t => {
  const upstream = await startByteUpstream(t, (socket, request) => {
    if (!request.startsWith('POST')) return OK
    socket.pause()
    return 'HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\nno'
  })
  const pool = open(t, upstream.url)
  const big = Buffer.alloc(50_000_000, 'x')
  t.equal((await sendThroughPool(pool, { method: 'POST', body: big })).status, 413)
  t.equal((await sendThroughPool(pool)).body, 'ok')
  t.equal(upstream.connections, 2)
})

t.test('pool: an idle connection does not retain the objects of its last request', async t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const upstream = await startByteUpstream(t, () => OK)
  const pool = open(t, upstream.url)
  const ask = (): Promise<WeakRef<object>> =>
    new Promise(resolve => {
      const handler: ResponseHandler = {
        ...recordingHandler(),
        onEnd: () => resolve(new WeakRef(handler)),
      }
      pool.send(GET, handler)
    })
  const handlerRef = await ask()
  for (let n = 0; n < 20 && handlerRef.deref(); n++) {
    await pauseBriefly()
    collectGarbage()
  }
  t.equal(handlerRef.deref(), undefined)
})

t.test('pool: destroy while connecting fails the queued request and closes the socket', async t => {
  let socket: Socket | undefined
  const upstream = await startByteUpstream(t, () => OK)
  const pool = new Pool(upstream.url, {
    connect: 10_000,
    connections: 1,
    connector(endpoint, _, callback) {
      socket = net.connect({ ...endpoint })
      socket.once('connect', () => callback(undefined, socket as Socket))
    },
  })
  const handler = recordingHandler()
  pool.send(GET, handler)
  await new Promise(resolve => setImmediate(resolve))
  pool.destroy()
  t.same(handler.events, ['error the pool is closed'])
  await upstream.connectionsEnded(1)
  t.equal(socket?.destroyed, true)
})

t.test('pool: a request is sent at the end of the turn, by a connection that is open', async t => {
  const sockets: Socket[] = []
  const upstream = await startByteUpstream(t, () => OK)
  const pool = new Pool(upstream.url, {
    connect: 10_000,
    connections: 1,
    connector(endpoint, { onread }, callback) {
      const socket = net.connect({ ...endpoint, onread })
      sockets.push(socket)
      socket.once('connect', () => callback(undefined, socket))
    },
  })
  t.teardown(() => pool.destroy())
  await sendThroughPool(pool)
  // By then the connection is idle.
  await pauseBriefly()
  const reply = sendThroughPool(pool, { method: 'POST', path: '/second' })
  sockets[0]?.destroy(new Error('reset'))
  t.match(await reply, { status: 200, body: 'ok' })
  t.same([sockets.length, upstream.requests.length], [2, 2])
})

t.test('pool: closes when everything under way has ended', async t => {
  const upstream = await startByteUpstream(t, socket => {
    setTimeout(() => socket.write(OK), 50)
    return undefined
  })
  const pool = open(t, upstream.url)
  const reply = sendThroughPool(pool)
  let isClosed = false
  const closing = pool.close().then(() => {
    isClosed = true
  })
  t.equal((await reply).body, 'ok')
  t.equal(isClosed, false)
  await closing
})

t.test('pool: a connector that throws is a failed connection', async t => {
  const pool = new Pool('http://127.0.0.1:1', {
    connect: 10_000,
    connections: 1,
    connector() {
      throw new Error('no ciphers')
    },
  })
  for (let n = 0; n < 3; n++) await t.rejects(sendThroughPool(pool), { message: 'no ciphers' })
})

t.test('pool: only the client frames a message; a Host header may be set', async t => {
  const upstream = await startByteUpstream(t, () => OK)
  const pool = open(t, upstream.url)
  for (const name of ['transfer-encoding', 'Transfer-Encoding', 'Upgrade', 'keep-alive', 'EXPECT'])
    await t.rejects(
      sendThroughPool(pool, { headers: { [name]: 'x' } }),
      { message: /set by the client alone/ },
      name,
    )
  const twice = { 'content-length': '1', 'Content-Length': '1' }
  await t.rejects(
    sendThroughPool(pool, { method: 'POST', headers: twice, body: Buffer.from('a') }),
    {
      message: 'it has two content-length',
    },
  )
  await t.rejects(sendThroughPool(pool, { headers: { host: 'a', Host: 'b' } }), {
    message: 'it has two host',
  })
  const headers = { Host: 'other.example', Connection: 'close', 'X-Number': 7 as never }
  await sendThroughPool(pool, { method: 'POST', headers, body: Buffer.from('a') })
  t.equal(
    upstream.requests[0],
    'POST / HTTP/1.1\r\nhost: other.example\r\nconnection: keep-alive\r\nx-number: 7\r\ncontent-length: 1\r\n\r\na',
  )
})

t.test('pool: a streamed body that is not bytes is not sent with a wrong length', async t => {
  const upstream = await startByteUpstream(t, () => undefined)
  const words = async function* (): AsyncGenerator<never> {
    yield '\xe9\u20ac' as never
  }
  await t.rejects(sendThroughPool(open(t, upstream.url), { method: 'POST', body: words() }), {
    message: 'its body is not made of bytes',
  })
})
