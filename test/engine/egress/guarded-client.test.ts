/** Requests through undici: replies, the code of each failure, and closed connections. */
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { sendDirect } from '../../../engine/egress/direct-send.ts'
import { createEgress } from '../../../engine/egress/egress.ts'
import type { Outgoing } from '../../../engine/plugin.ts'
import type { Snapshot } from '../../../engine/snapshot/snapshot.ts'
import { OK, startByteUpstream } from '../../helpers/gateway/direct-client.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n'

const arrange = async (
  t: Test,
  answer: (socket: Socket, request: string) => string | undefined,
) => {
  const upstream = await startByteUpstream(t, answer)
  const egress = createEgress(`127.0.0.1:${upstream.port}`)
  const snapshot = { egress, upstreams: new Map() } as unknown as Snapshot
  const send = (outgoing: Partial<Outgoing> = {}) =>
    sendDirect(snapshot, 'public', { method: 'GET', path: `${upstream.url}/a?b=c`, ...outgoing })
  return { upstream, send }
}
const parts = async function* (...chunks: readonly string[]) {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

t.test('guarded client: sends method, path, headers and body unchanged', async t => {
  const requests: string[] = []
  const { upstream, send } = await arrange(t, (_, request) => {
    requests.push(request)
    return OK
  })
  const headers = { 'Content-Type': 'text/plain', 'x-own': 'a' }
  const reply = await send({ method: 'POST', headers, body: Buffer.from('body') })
  t.equal(Buffer.from(await reply.bytes(10)).toString(), 'ok')
  t.match(requests[0], /^POST \/a\?b=c HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/)
  t.match(requests[0], /\r\ncontent-type: text\/plain\r\nx-own: a\r\n/)
  t.match(requests[0], /\r\ntraceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-01\r\n/)
  t.match(requests[0], /\r\ncontent-length: 4\r\n\r\nbody$/)
  await upstream.connectionsEnded(1)
})

t.test('guarded client: a request outside of a call has its own id, trace and span', async t => {
  const requests: string[] = []
  const { send } = await arrange(t, (_, request) => {
    requests.push(request)
    return OK
  })
  for (let count = 0; count < 2; count++) await (await send()).bytes(10)
  const ids = requests.map(request => {
    const [, trace = '', span = ''] = /traceparent: 00-(\w{32})-(\w{16})-01\r\n/.exec(request) ?? []
    t.match(request, `x-request-id: req_${trace}\r\n`)
    return [trace, span]
  })
  t.equal(new Set(ids.flat()).size, 4, JSON.stringify(ids))
})

t.test('guarded client: sends a streamed body in chunks', async t => {
  let received = ''
  const { send } = await arrange(t, (socket, request) => {
    received += request
    socket.on('data', part => {
      received += part
      if (received.endsWith('0\r\n\r\n')) socket.write(OK)
    })
    return received.endsWith('0\r\n\r\n') ? OK : undefined
  })
  await (await send({ method: 'PUT', body: parts('one', 'two') })).bytes(10)
  t.match(received, /transfer-encoding: chunked/)
  t.match(received, /3\r\none\r\n/)
})

t.test('guarded client: each failure has its own fault code', async t => {
  const bad: readonly (readonly [
    code: string,
    answer: string | undefined,
    more?: Partial<Outgoing>,
  ])[] = [
    ['TARGET_BROKE', undefined],
    ['TARGET_BROKE', 'no HTTP\r\n\r\n'],
    ['TARGET_BROKE', `HTTP/1.1 200 OK\r\na: ${'x'.repeat(17_000)}\r\n\r\n`],
    ['TARGET_CUT', `${HEAD}half`],
    ['REQUEST_UNSENDABLE', OK, { headers: { 'x-bad': 'line\nbreak' } }],
    [
      'REQUEST_UNSENDABLE',
      OK,
      { method: 'POST', headers: { 'content-length': '9' }, body: Buffer.from('x') },
    ],
    ['EGRESS_ADDRESS', OK, { path: 'http://127.0.0.2:80/' }],
    ['TARGET_UNREACHABLE', OK, { path: 'http://127.0.0.1:1/' }],
  ]
  for (const [code, answer, more] of bad) {
    const { upstream, send } = await arrange(t, socket => {
      if (answer) socket.write(answer)
      socket.end()
      return undefined
    })
    const egress = createEgress(`127.0.0.1:${upstream.port} 127.0.0.1:1`)
    const snapshot = { egress, upstreams: new Map() } as unknown as Snapshot
    const reply = more?.path
      ? sendDirect(snapshot, 'public', { method: 'GET', path: more.path })
      : send(more)
    await t.rejects(
      reply.then(reply => reply.bytes(100)),
      { code },
      JSON.stringify([code, answer?.slice(0, 30), more]),
    )
  }
})

t.test(
  'guarded client: a signal or timeout ends the request and closes its connection',
  async t => {
    const { upstream, send } = await arrange(t, socket => {
      socket.write(`${HEAD}half`)
      return undefined
    })
    const aborter = new AbortController()
    const reply = await send({ signal: aborter.signal })
    const whole = reply.bytes(100)
    aborter.abort()
    await t.rejects(whole, { code: 'TURN_CANCELLED' })
    await upstream.connectionsEnded(1)
    await t.rejects(send({ signal: AbortSignal.abort() }), { code: 'TURN_CANCELLED' })
    const late = await send({ timeout: scaled(200) })
    await t.rejects(late.bytes(100), { code: 'SEND_TIMEOUT' })
    await upstream.connectionsEnded(2)
    t.equal(upstream.connections, 2)
  },
)

t.test('guarded client: a slow reader applies back-pressure to the upstream', async t => {
  const size = 50_000_000
  let writtenBytes = 0
  const { upstream, send } = await arrange(t, socket => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`)
    const piece = Buffer.alloc(1_000_000, 'x')
    const push = (): void => {
      while (writtenBytes < size) {
        writtenBytes += piece.length
        if (!socket.write(piece)) return void socket.once('drain', push)
      }
    }
    push()
    return undefined
  })
  const reply = await send()
  await new Promise(resolve => setTimeout(resolve, 300))
  t.ok(writtenBytes < size / 2, `${writtenBytes} of ${size} were written without a reader`)
  let read = 0
  for await (const chunk of reply.body as AsyncIterable<Uint8Array>) read += chunk.length
  t.equal(read, size)
  await upstream.connectionsEnded(1)
})
