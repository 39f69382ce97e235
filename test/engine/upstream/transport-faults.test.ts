/** Faults of one attempt: the code, the effect on health, and a usable pool afterwards. */
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { TollgateError } from '../../../engine/errors.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import { Origin } from '../../../engine/upstream/origin.ts'
import type { Sending } from '../../../engine/upstream/transport.ts'
import {
  HEALTH,
  LONG_DEADLINES,
  OK,
  readText,
  startByteUpstream,
  testClients,
} from '../../helpers/gateway/direct-client.ts'
import { scaled } from '../../helpers/machine-speed.ts'

interface Row {
  /** The behaviour of the upstream. */
  readonly respond: (socket: Socket) => string | undefined
  readonly code: string
  readonly status?: number
  readonly retryable?: boolean
  /** The fault comes with the body. */
  readonly late?: boolean
  readonly deadlines?: Partial<Sending['deadlines']>
}
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n'
const closing = (socket: Socket): undefined => void socket.destroy()
const FAULTS: Readonly<Record<string, Row>> = {
  'closed without an answer': { respond: closing, code: 'TARGET_BROKE', retryable: true },
  'reset without an answer': {
    respond: socket => void socket.resetAndDestroy(),
    code: 'TARGET_BROKE',
    retryable: true,
  },
  'closed in the middle of its head': {
    respond: socket => void socket.end('HTTP/1.1 200 OK\r\nx-a:'),
    code: 'TARGET_BROKE',
    retryable: true,
  },
  'no HTTP': { respond: () => 'hello\r\n\r\n', code: 'TARGET_BROKE', retryable: true },
  'two lengths': {
    respond: () => 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
    code: 'TARGET_BROKE',
    retryable: true,
  },
  'silent before its head': {
    respond: () => undefined,
    code: 'TARGET_TIMEOUT',
    status: 504,
    deadlines: { first_byte: scaled(100) },
  },
  'silent after an early hint': {
    respond: () => 'HTTP/1.1 103 Early Hints\r\n\r\n',
    code: 'TARGET_TIMEOUT',
    status: 504,
    deadlines: { first_byte: scaled(100) },
  },
  'closed in the middle of its body': {
    respond: socket => void socket.end(`${HEAD}half`),
    code: 'TARGET_CUT',
    late: true,
  },
  'chunks that are none': {
    respond: () => 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n',
    code: 'TARGET_CUT',
    late: true,
  },
  'silent in the middle of its body': {
    respond: () => `${HEAD}half`,
    code: 'TARGET_STALLED',
    status: 504,
    late: true,
    deadlines: { idle: scaled(100) },
  },
}
for (const [description, row] of Object.entries(FAULTS))
  testClients(`transport fault: an upstream that is ${description}`, async (t, openOrigin) => {
    const upstream = await startByteUpstream(t, (socket, _, count) =>
      count === 1 ? row.respond(socket) : OK,
    )
    const { origin, ask } = openOrigin(t, upstream.url, 1)
    const expected = {
      code: row.code,
      status: row.status ?? 502,
      retryable: row.retryable ?? false,
    }
    const deadlines = { ...LONG_DEADLINES, ...row.deadlines }
    const reply = ask({ deadlines })
    if (row.late) await t.rejects(readText(await reply), expected)
    else await t.rejects(reply, expected)
    t.equal(origin.busy, 0)
    const now = performance.now()
    t.equal(
      origin.health.recordFailure(now, HEALTH),
      true,
      'counted as a failure: the next one ejects',
    )
    t.equal(await readText(await ask()), 'ok', 'the next request gets a new connection')
    t.equal(origin.busy, 0)
    t.equal(origin.health.isAvailable(now), true)
  })

testClients('transport fault: a POST that was sent is not retryable', async (t, openOrigin) => {
  const upstream = await startByteUpstream(t, closing)
  const { ask } = openOrigin(t, upstream.url)
  const post = { method: 'POST', body: Buffer.from('x'), idempotent: false }
  await t.rejects(ask(post), { code: 'TARGET_BROKE', retryable: false })
})

testClients(
  'transport fault: without a connection any request is retryable',
  async (t, openOrigin) => {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await new Promise(resolve => server.close(resolve))
    const { origin, ask } = openOrigin(t, `http://127.0.0.1:${port}`)
    for (let n = 0; n < 2; n++)
      await t.rejects(ask({ method: 'POST', body: Buffer.from('x'), idempotent: false }), {
        code: 'TARGET_UNREACHABLE',
        status: 502,
        retryable: true,
        cause: { code: 'ECONNREFUSED' },
      })
    t.equal(origin.health.isAvailable(performance.now()), false, 'two failures eject the origin')
    t.equal(origin.busy, 0)
  },
)

testClients(
  "transport fault: a broken request body is the client's fault",
  async (t, openOrigin) => {
    const upstream = await startByteUpstream(t, (_, request) =>
      request.startsWith('GET') ? OK : undefined,
    )
    const { origin, ask } = openOrigin(t, upstream.url, 1)
    const brokenBody = async function* (): AsyncGenerator<Bytes> {
      yield Buffer.from('half')
      throw new TollgateError('BODY_CUT', 400, 'The request body ended early.')
    }
    for (let n = 0; n < 5; n++)
      await t.rejects(ask({ method: 'POST', body: brokenBody() }), {
        code: 'BODY_CUT',
        status: 400,
      })
    t.equal(
      origin.health.isAvailable(performance.now()),
      true,
      'counts as no failure of the upstream',
    )
    t.equal(origin.busy, 0)
    t.equal(await readText(await ask()), 'ok')
  },
)

testClients(
  'transport fault: an unsendable request is not a failure of the upstream',
  async (t, openOrigin) => {
    const upstream = await startByteUpstream(t, () => OK)
    const { origin, ask } = openOrigin(t, upstream.url)
    const bad: Partial<Sending>[] = [
      { path: '/a b' },
      { path: 'relative' },
      { headers: { 'x-a': 'line\r\nbreak' } },
      { headers: { 'x a': 'space' } },
      { method: 'no method' },
      { method: 'POST', headers: { 'content-length': '9' }, body: Buffer.from('x') },
    ]
    for (const each of bad)
      await t.rejects(
        ask(each),
        { code: 'REQUEST_UNSENDABLE', status: 500, expose: false, retryable: false },
        JSON.stringify(each),
      )
    t.equal(origin.health.isAvailable(performance.now()), true)
    t.equal(origin.busy, 0)
    t.equal(await readText(await ask()), 'ok')
  },
)

testClients('transport fault: an inside upstream that no stage answers', async (t, openOrigin) => {
  const { ask } = openOrigin(t, 'http://127.0.0.1:9')
  const origin = new Origin(undefined, { connect: 0, connections: 0 })
  await t.rejects(ask({ origin }), { code: 'INSIDE_SILENT', status: 500, expose: false })
  await origin.close()
})

testClients('health of an origin: follows the status of responses', async (t, openOrigin) => {
  const answers = [
    'HTTP/1.1 429 Slow Down\r\nretry-after: 30\r\ncontent-length: 0\r\n\r\n',
    'HTTP/1.1 429 Slow Down\r\ncontent-length: 0\r\n\r\n',
    'HTTP/1.1 429 Slow Down\r\nretry-after: 99999\r\ncontent-length: 0\r\n\r\n',
    'HTTP/1.1 429 Slow Down\r\nretry-after: Wed, 21 Oct 2065 07:28:00 GMT\r\ncontent-length: 0\r\n\r\n',
  ]
  const RESTS = [30_000, 1_000, 60_000, 60_000]
  const upstream = await startByteUpstream(t, (_, __, count) => answers[count - 1])
  for (const rest of RESTS) {
    const { origin, ask } = openOrigin(t, upstream.url)
    const before = performance.now()
    t.equal((await ask()).status, 429)
    t.ok(origin.health.availableAt >= before + rest, `rests for ${rest} ms`)
    t.ok(origin.health.availableAt <= performance.now() + rest)
    t.equal(origin.health.isEjected(performance.now()), false)
  }
})

testClients(
  'health of an origin: 5xx are failures in a row, 4xx are none',
  async (t, openOrigin) => {
    const statuses = [500, 404, 503, 200, 500, 599]
    const upstream = await startByteUpstream(
      t,
      (_, __, count) => `HTTP/1.1 ${statuses[count - 1]} X\r\ncontent-length: 0\r\n\r\n`,
    )
    const { origin, ask } = openOrigin(t, upstream.url, 1)
    const availability: boolean[] = []
    for (const _ of statuses) {
      await readText(await ask())
      availability.push(origin.health.isAvailable(performance.now()))
    }
    t.same(availability, [true, true, true, true, true, false])
  },
)
