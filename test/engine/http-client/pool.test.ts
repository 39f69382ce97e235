/** The connections to one address: how many are opened, and which are reused. */
import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type Connect, connect } from '../../../engine/http-client/connect.ts'
import { Pool } from '../../../engine/http-client/pool.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import { OK, sendThroughPool, startByteUpstream } from '../../helpers/gateway/direct-client.ts'
import { startReceiver, trustReceivers } from '../../helpers/money/receiver.ts'

const open = (t: Test, address: string, connections = 4): Pool => {
  const pool = new Pool(address, { connect: 10_000, connections })
  t.teardown(() => pool.destroy())
  return pool
}
const waitBriefly = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 10))
const parts = (...chunks: string[]): AsyncIterable<Bytes> =>
  (async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk)
  })()

t.test('pool: opens at most the allowed connections, and serves every request', async t => {
  const upstream = await startByteUpstream(t, socket => {
    setTimeout(() => socket.write(OK), 5)
    return undefined
  })
  const pool = open(t, upstream.url, 3)
  const answers = await Promise.all(Array.from({ length: 20 }, () => sendThroughPool(pool)))
  t.ok(answers.every(({ status, body }) => status === 200 && body === 'ok'))
  t.equal(upstream.connections, 3)
  t.equal(upstream.requests.length, 20)
})

t.test(
  'pool: requests in turn use one connection, unless it ends or sends excess bytes',
  async t => {
    const reuseByResponse: Readonly<Record<string, boolean>> = {
      [OK]: true,
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n': true,
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok': false,
      'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok': false,
      'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok': false,
      [`${OK}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison`]: false,
    }
    for (const [text, isReused] of Object.entries(reuseByResponse)) {
      const upstream = await startByteUpstream(t, () => text)
      const pool = open(t, upstream.url)
      for (let n = 0; n < 3; n++) {
        t.equal((await sendThroughPool(pool)).body, 'ok', text)
        await waitBriefly()
      }
      t.equal(upstream.connections, isReused ? 1 : 3, JSON.stringify(text))
    }
  },
)

t.test('pool: after bytes that no request asked for each connection is used once', async t => {
  for (const isIdle of [true, false]) {
    let strays = `${OK}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison`
    const upstream = await startByteUpstream(t, socket => {
      const bytes = strays
      strays = ''
      if (bytes === '') return OK
      if (!isIdle) return bytes
      setTimeout(() => socket.write(bytes.slice(OK.length)), 5)
      return OK
    })
    const pool = open(t, upstream.url)
    // Two connections: the second is idle when the stray bytes arrive on the first.
    await Promise.all([sendThroughPool(pool), sendThroughPool(pool)])
    await upstream.connectionsEnded(2)
    for (let count = 1; count <= 3; count++) {
      t.equal((await sendThroughPool(pool)).body, 'ok')
      await upstream.connectionsEnded(2 + count)
    }
    t.equal(upstream.connections, 5)
  }
})

for (const [when, text] of [
  ['an answer', `${OK.slice(0, -2)}no`],
  ['half an answer', 'HTTP/1.1 200'],
] as const)
  for (const isRead of [true, false])
    t.test(
      `pool: ${when} before its request fails it, ${isRead ? 'read' : 'unread'} on connect`,
      async t => {
        let earlyBytes: string = text
        const served = new EventEmitter()
        const upstream = await startByteUpstream(
          t,
          () => OK,
          socket => {
            if (earlyBytes !== '') socket.write(earlyBytes, () => served.emit('written'))
            else served.emit('written')
          },
        )
        const connector: Connect = (endpoint, options, callback) => {
          const writing = once(served, 'written')
          connect(endpoint, options, async (...outcome) => {
            await writing
            if (isRead) await waitBriefly()
            callback(...outcome)
          })
        }
        const pool = new Pool(upstream.url, { connect: 10_000, connections: 1, connector })
        t.teardown(() => pool.destroy())
        await t.rejects(sendThroughPool(pool), /before it had a request/)
        t.equal(upstream.requests.length, 0)
        earlyBytes = ''
        t.equal((await sendThroughPool(pool)).body, 'ok', 'the next connection is used')
      },
    )

t.test('pool: the connection that was idle longest is used next', async t => {
  const sockets: Socket[] = []
  const upstream = await startByteUpstream(t, (socket, _, count) => {
    sockets.push(socket)
    return count > 3 ? OK : undefined
  })
  const pool = open(t, upstream.url, 3)
  let answerCount = 0
  const firstReplies = Array.from({ length: 3 }, () =>
    sendThroughPool(pool).then(() => answerCount++),
  )
  while (sockets.length < 3) await waitBriefly()
  const [first, second, third] = sockets.slice()
  // They become idle in another order than the order in which they were opened.
  const order = [second, third, first]
  for (const [at, socket] of order.entries()) {
    socket?.write(OK)
    while (answerCount <= at) await waitBriefly()
  }
  await Promise.all(firstReplies)
  for (let n = 0; n < 5; n++) {
    await sendThroughPool(pool)
    await waitBriefly()
  }
  const reuseOrder = sockets.slice(3).map(socket => sockets.indexOf(socket))
  t.same(reuseOrder, [1, 2, 0, 1, 2])
  t.equal(upstream.connections, 3)
})

t.test('pool: connections that were closed or idle too long are not used', async t => {
  const upstream = await startByteUpstream(t, (socket, _, count) => {
    if (count === 1) setTimeout(() => socket.end(), 5)
    return OK
  })
  const pool = open(t, upstream.url)
  await sendThroughPool(pool)
  await upstream.connectionsEnded(1)
  await waitBriefly()
  t.equal((await sendThroughPool(pool)).body, 'ok')
  t.equal(upstream.connections, 2)
  await upstream.connectionsEnded(2) // after four seconds, swept
  t.equal((await sendThroughPool(pool)).body, 'ok')
  t.equal(upstream.connections, 3)
})

t.test('pool: a refused connection fails every waiting request', async t => {
  const pool = open(t, 'http://127.0.0.1:1', 2)
  const outcomes = await Promise.allSettled(Array.from({ length: 7 }, () => sendThroughPool(pool)))
  for (const each of outcomes)
    t.match(each, { status: 'rejected', reason: { code: 'ECONNREFUSED' } }, 'refused')
})

t.test('pool: a connection that takes too long fails', async t => {
  const pool = new Pool('http://10.255.255.1', {
    connect: 30,
    connections: 1,
    connector: (endpoint, options, callback) =>
      setTimeout(() => callback(new Error(`${endpoint.host} ${options.timeout}`), undefined), 5),
  })
  await t.rejects(sendThroughPool(pool), { message: '10.255.255.1 30' })
})

t.test('pool: closing waits for requests under way and queued', async t => {
  const upstream = await startByteUpstream(t, socket => {
    setTimeout(() => socket.write(OK), 20)
    return undefined
  })
  const pool = open(t, upstream.url, 1)
  const both = Promise.all([sendThroughPool(pool), sendThroughPool(pool)])
  pool.close()
  t.match(await both, [{ body: 'ok' }, { body: 'ok' }])
  await upstream.connectionsEnded(1)
})

t.test('pool: sends no body, bytes, and streams with and without a length', async t => {
  const requests: string[] = []
  const upstream = await startByteUpstream(t, (socket, request) => {
    requests.push(request)
    setTimeout(() => socket.write(OK), 20)
    return undefined
  })
  const pool = open(t, upstream.url, 1)
  const post = { method: 'POST', path: '/p?q=1', headers: { 'x-a': ['1', '2'] } }
  await sendThroughPool(pool, { ...post, body: undefined })
  t.match(requests.at(-1), /^POST \/p\?q=1 HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/)
  t.match(requests.at(-1), /\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 0\r\n\r\n$/)
  await sendThroughPool(pool)
  t.notMatch(requests.at(-1), /content-length/, 'GET without a body has no content-length')
  await sendThroughPool(pool, { ...post, body: Buffer.from('\xe9\0', 'latin1') })
  t.ok(requests.at(-1)?.endsWith('content-length: 2\r\n\r\n\xe9\0'))
  await sendThroughPool(pool, {
    ...post,
    headers: { 'content-length': '4' },
    body: parts('ab', '', 'cd'),
  })
  t.match(requests.join(''), /content-length: 4\r\n\r\nab/)
  await sendThroughPool(pool, { ...post, body: parts('ab', 'cd') })
  t.match(requests.join(''), /transfer-encoding: chunked\r\n\r\n2\r\nab\r\n/)
  t.equal(upstream.connections, 1)
})

t.test('pool: sends a large body whole', async t => {
  const big = Buffer.alloc(3_000_000, 'x')
  let size = 0
  const upstream = await startByteUpstream(t, (socket, request) => {
    if (!request.startsWith('POST')) return undefined
    size = request.length - request.indexOf('\r\n\r\n') - 4
    socket.on('data', part => {
      size += part.length
      if (size === big.length) socket.write(OK)
    })
    return undefined
  })
  t.equal((await sendThroughPool(open(t, upstream.url), { method: 'POST', body: big })).body, 'ok')
})

t.test('pool: a response before the end of a streamed body ends the connection', async t => {
  const upstream = await startByteUpstream(t, (_, request) =>
    request.startsWith('POST') ? OK : request.startsWith('GET') ? OK : undefined,
  )
  const pool = open(t, upstream.url, 1)
  let releaseBody = (): void => {}
  const endless = async function* (): AsyncGenerator<Bytes> {
    yield Buffer.from('start')
    await new Promise<void>(resolve => {
      releaseBody = resolve
    })
  }
  t.equal((await sendThroughPool(pool, { method: 'POST', body: endless() })).body, 'ok')
  t.equal((await sendThroughPool(pool)).body, 'ok')
  t.equal(upstream.connections, 2)
  releaseBody()
})

t.test('pool: a body of another length than announced is not sent as a whole one', async t => {
  const upstream = await startByteUpstream(t, () => undefined)
  const pool = open(t, upstream.url)
  const headers = { 'content-length': '2' }
  const send = (body: AsyncIterable<Bytes>) =>
    sendThroughPool(pool, { method: 'POST', headers, body })
  await t.rejects(send(parts('abc')), { message: 'its body is longer than its length' })
  await t.rejects(send(parts('a')), { message: 'its body is shorter than its length' })
})

t.test('pool: an invalid head is refused before anything is sent', async t => {
  const upstream = await startByteUpstream(t, () => OK)
  const pool = open(t, upstream.url)
  const bad = [
    { path: 'no-slash' },
    { path: '/a b' },
    { path: '/a\r\nx: y' },
    { path: '/\u{1f600}' },
    { method: 'GET /x' },
    { method: '' },
    { headers: { 'a b': 'c' } },
    { headers: { a: 'b\r\nc: d' } },
    { headers: { a: ['b', '\0'] } },
    { headers: { a: '\u20ac' } },
    { headers: { 'content-length': '1' }, body: Buffer.from('ab') },
    { headers: { 'content-length': '-1' }, body: parts('ab') },
  ]
  for (const request of bad)
    await t.rejects(sendThroughPool(pool, request), { message: /^(its|"a b"|the value of its) / })
  t.equal(upstream.requests.length, 0)
})

t.test('pool: over TLS an earlier session is resumed', async t => {
  trustReceivers()
  let resumedSessions = 0
  const receiver = await startReceiver(t, (_, response, incoming) => {
    if ((incoming.socket as import('node:tls').TLSSocket).isSessionReused()) resumedSessions++
    response.writeHead(200, { connection: 'close' }).end('ok')
  })
  const pool = open(t, receiver.origin)
  for (let n = 0; n < 3; n++) {
    t.equal((await sendThroughPool(pool)).body, 'ok')
    await waitBriefly()
  }
  t.equal(receiver.connections(), 3)
  t.equal(resumedSessions, 2)
})
