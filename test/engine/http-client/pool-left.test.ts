/** What a pool of connections does with abandoned requests, lost connections, and its own close. */

import net, { type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import type { ResponseHandler } from '../../../engine/http-client/connection.ts'
import { Pool } from '../../../engine/http-client/pool.ts'
import type { Request } from '../../../engine/http-client/request-head.ts'
import { aim, GONE, text } from '../../helpers/aim.ts'
import { askPool } from '../../helpers/asked.ts'
import { OK, startScripted } from '../../helpers/scripted.ts'

const GET: Request = { method: 'GET', path: '/', headers: {}, body: undefined }
const open = (t: Test, address: string, connections = 1): Pool => {
  const pool = new Pool(address, { connect: 10_000, connections })
  t.teardown(() => pool.destroy())
  return pool
}
const listening = (over = false): ResponseHandler & { over: boolean; readonly told: string[] } => {
  const told: string[] = []
  return {
    ...{ over, told },
    onStart: () => void told.push('begun'),
    onHead: status => void told.push(`head ${status}`),
    onData: () => void told.push('data'),
    onEnd: () => void told.push('end'),
    onError: error => void told.push(`broke ${error.message}`),
  }
}
const soon = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 30))

t.test(
  'pool: a request abandoned before it was sent is never sent, and holds no connection',
  async t => {
    const upstream = await startScripted(t, () => OK)
    const { origin, ask } = aim(t, upstream.url, 1)
    await text(await ask())
    const left = ask({ method: 'POST', path: '/left' }, abort => abort(GONE))
    await t.rejects(left, { code: 'GONE' })
    t.equal(await text(await ask()), 'ok')
    t.equal(upstream.requests.length, 2)
    t.equal(origin.busy, 0)
  },
)

t.test('pool: abandoned queued requests are released, with what they hold', async t => {
  const upstream = await startScripted(t, (socket, request) => {
    if (request.startsWith('GET /last')) return OK
    setTimeout(() => socket.write(OK), 100)
    return undefined
  })
  const pool = open(t, upstream.url)
  const first = askPool(pool)
  const left = Array.from({ length: 500 }, () => listening())
  for (const asker of left) {
    pool.send(GET, asker)
    asker.over = true
  }
  t.equal((await askPool(pool, { path: '/last' })).body, 'ok')
  await first
  t.equal(upstream.requests.length, 2)
  t.ok(left.every(({ told }) => told.length === 0))
})

t.test(
  'pool: an idle connection that is reset is not used by a request at that moment',
  async t => {
    const upstream = await startScripted(t, (socket, request) => {
      if (request.startsWith('GET /reset')) setTimeout(() => socket.resetAndDestroy(), 10)
      return OK
    })
    let made: Socket | undefined
    const pool = new Pool(upstream.url, {
      ...{ connect: 10_000, connections: 4 },
      connector(place, { onread }, done) {
        made = net.connect({ ...place, ...(onread && { onread }) })
        const socket = made
        socket.once('connect', () => done(undefined, socket))
      },
    })
    t.teardown(() => pool.destroy())
    await askPool(pool, { path: '/reset' })
    const asked = new Promise(resolve => made?.once('error', () => resolve(askPool(pool))))
    t.match(await asked, { body: 'ok' })
    t.equal(upstream.connections, 2)
  },
)

t.test('pool: a response before the end of a large body blocks no other request', async t => {
  const upstream = await startScripted(t, (socket, request) => {
    if (!request.startsWith('POST')) return OK
    socket.pause()
    return 'HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\nno'
  })
  const pool = open(t, upstream.url)
  const big = Buffer.alloc(50_000_000, 'x')
  t.equal((await askPool(pool, { method: 'POST', body: big })).status, 413)
  t.equal((await askPool(pool)).body, 'ok')
  t.equal(upstream.connections, 2)
})

t.test('pool: an idle connection holds nothing of its last request', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const upstream = await startScripted(t, () => OK)
  const pool = open(t, upstream.url)
  const ask = (): Promise<WeakRef<object>> =>
    new Promise(resolve => {
      const asker: ResponseHandler = { ...listening(), onEnd: () => resolve(new WeakRef(asker)) }
      pool.send(GET, asker)
    })
  const asked = await ask()
  for (let n = 0; n < 20 && asked.deref(); n++) {
    await soon()
    collect()
  }
  t.equal(asked.deref(), undefined)
})

t.test('pool: destroyed while it connects, it leaves neither requests nor sockets', async t => {
  let socket: Socket | undefined
  const upstream = await startScripted(t, () => OK)
  const pool = new Pool(upstream.url, {
    ...{ connect: 10_000, connections: 1 },
    connector(place, _, done) {
      socket = net.connect({ ...place })
      socket.once('connect', () => done(undefined, socket as Socket))
    },
  })
  const asker = listening()
  pool.send(GET, asker)
  pool.destroy()
  t.same(asker.told, ['broke the pool is closed'])
  await upstream.ended(1)
  t.equal(socket?.destroyed, true)
})

t.test('pool: closes when everything under way has ended', async t => {
  const upstream = await startScripted(t, socket => {
    setTimeout(() => socket.write(OK), 50)
    return undefined
  })
  const pool = open(t, upstream.url)
  const asked = askPool(pool)
  let closed = false
  const closing = pool.close().then(() => {
    closed = true
  })
  t.equal((await asked).body, 'ok')
  t.equal(closed, false)
  await closing
})

t.test('pool: a connector that throws is a failed connection', async t => {
  const pool = new Pool('http://127.0.0.1:1', {
    ...{ connect: 10_000, connections: 1 },
    connector() {
      throw new Error('no ciphers')
    },
  })
  for (let n = 0; n < 3; n++) await t.rejects(askPool(pool), { message: 'no ciphers' })
})

t.test('pool: only the client frames a message; a Host header may be set', async t => {
  const upstream = await startScripted(t, () => OK)
  const pool = open(t, upstream.url)
  for (const name of ['transfer-encoding', 'Transfer-Encoding', 'Upgrade', 'keep-alive', 'EXPECT'])
    await t.rejects(
      askPool(pool, { headers: { [name]: 'x' } }),
      { message: /set by the client alone/ },
      name,
    )
  const twice = { 'content-length': '1', 'Content-Length': '1' }
  await t.rejects(askPool(pool, { method: 'POST', headers: twice, body: Buffer.from('a') }), {
    message: 'it has two content-length',
  })
  await t.rejects(askPool(pool, { headers: { host: 'a', Host: 'b' } }), {
    message: 'it has two host',
  })
  const headers = { Host: 'other.example', Connection: 'close', 'X-Number': 7 as never }
  await askPool(pool, { method: 'POST', headers, body: Buffer.from('a') })
  t.equal(
    upstream.requests[0],
    'POST / HTTP/1.1\r\nhost: other.example\r\nconnection: keep-alive\r\nx-number: 7\r\ncontent-length: 1\r\n\r\na',
  )
})

t.test('pool: a streamed body that is not bytes is not sent with a wrong length', async t => {
  const upstream = await startScripted(t, () => undefined)
  const words = async function* (): AsyncGenerator<never> {
    yield '\xe9\u20ac' as never
  }
  await t.rejects(askPool(open(t, upstream.url), { method: 'POST', body: words() }), {
    message: 'its body is not made of bytes',
  })
})
