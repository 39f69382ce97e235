/** Attacks on the WebSockets of a billed route, by clients and by upstreams: each ends its own
 *  connection with the code of the rule that it broke, each session is billed once, and other
 *  clients are served. The long form sends 200,000 random frames. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { deflateRawSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addSession } from '../../../plugins/credentials/statements.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { type RawClient, rawClient } from '../../helpers/gateway/raw-client.ts'
import { type Client, openSocket, type RefusedUpgrade } from '../../helpers/gateway/web-socket.ts'
import {
  acceptance,
  closeCodeOf,
  closeFrame,
  frame,
  handshake,
  PING,
} from '../../helpers/gateway/web-socket-frames.ts'
import {
  type Customer,
  database,
  gateway,
  prepareCustomer,
  rows,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'
import { growthDuring, workersOf } from '../../helpers/process-tree.ts'
import { createChance, shortOrLong } from '../../helpers/run-settings.ts'

const FRAMES = shortOrLong(20_000, 200_000)
const HALF_OPEN = shortOrLong(1_000, 4_000)
const MEBIBYTE = 2 ** 20
const MOST_GROWTH = 300 * MEBIBYTE
const LIMIT = 64 * 1024

const ANSWER = JSON.stringify({
  type: 'response.done',
  response: { usage: { input_tokens: 10, output_tokens: 5 } },
})
/** Nanos of an answer: 10 × 0.01 + 5 × 0.02. */
const COST = 200_000_000

/** An upstream that accepts, answers once, and then sends the bytes of the case that the query
 *  names; without a case it never responds. */
const upstreamCases: (readonly Buffer[])[] = []
let silentConnections = 0
const hostile = createServer(socket => {
  socket.on('error', () => {})
  socket.once('data', data => {
    const head = data.toString('latin1')
    const bytes = upstreamCases[Number(/case=(\d+)/.exec(head)?.[1] ?? -1)]
    if (!bytes) {
      silentConnections++
      return void socket.on('close', () => silentConnections--)
    }
    socket.write(acceptance(head))
    socket.write(Buffer.concat([frame(ANSWER, { isMasked: false }), ...bytes]))
  })
})
hostile.listen(0, '127.0.0.1')
await once(hostile, 'listening')
t.teardown(() => hostile.close())

const ROUTES = `
pipeline: [errors, auth, model, meter, realtime]
upstreams:
  gp: { url: '${upstream.url}/s/gp/v1', health: { failures: 1000000 } }
  hostile: { url: 'http://127.0.0.1:${(hostile.address() as AddressInfo).port}', health: { failures: 1000000 } }
models:
  talk: { to: gp/there, context: 100, output: 50, price: { input: 0.01, output: 0.02 } }
  hostile: { to: hostile/there, context: 100, output: 50, price: { input: 0.01, output: 0.02 } }
routes:
  - { path: 'WS /v1/realtime', auth: [key, session], model: { query: model }, realtime: true, errors: openai, websocket: { payload: ${LIMIT / 1024}KiB } }
`
let customer: Customer
t.test('setup: routes and an account', async () => {
  customer = await prepareCustomer(ROUTES, 1_000_000n * UNIT)
  await upstream.script('gp', [{ do: 'websocket', manner: 'echo' }])
})

const PATH = '/v1/realtime?model='
const bearer = () => `Authorization: Bearer ${customer.key}`
const dial = (query = 'talk') =>
  openSocket(gateway.url + PATH + query, [], { headers: { authorization: bearer().slice(15) } })
const requestIdOf = (head: string): string => /^x-request-id: *(\S+)/im.exec(head)?.[1] ?? ''

interface Session {
  readonly client: RawClient
  /** The id of its request. */
  readonly id: string
}
/** A session whose frames the test writes itself. */
const openSession = async (headers: readonly string[] = []): Promise<Session> => {
  const client = await rawClient(gateway)
  await client.send(handshake(`${PATH}talk`, [bearer(), ...headers]))
  const head = await client.until('\r\n\r\n')
  if (!head.startsWith('HTTP/1.1 101')) throw new Error(head)
  return { client, id: requestIdOf(head) }
}
/** Has the upstream, which echoes, send an answer with its usage. */
const takeAnswer = async ({ client }: Session): Promise<void> => {
  await client.send(frame(ANSWER))
  await client.until('response.done')
}
/** Whether each session has one charge of this amount: 0 if nothing was answered. */
const checkCharges = async (
  t: Test,
  amounts: ReadonlyMap<string, number>,
  title: string,
): Promise<void> => {
  const closed = await eventually(async () => {
    const all = await rows(
      `SELECT request, state, amount FROM charges WHERE account = ${customer.account}`,
    )
    return all.some(({ state }) => state === 'open') ? undefined : all
  })
  const charges = Map.groupBy(closed, ({ request }) => String(request))
  const wrong = [...amounts].flatMap(([id, amount]) => {
    const [charge, ...more] = charges.get(id) ?? []
    const isRight = more.length === 0 && charge && Number(charge.amount ?? 0) === amount
    return isRight ? [] : [{ id, amount, charge }]
  })
  t.same(wrong, [], title)
}
const isServed = async (t: Test, client: Client, title: string): Promise<void> => {
  const count = client.received.length
  client.socket.send(`still there? ${count}`)
  t.equal((await client.until(count + 1)).at(-1), `still there? ${count}`, title)
}

const NOT_UTF8 = Buffer.from([0xc3, 0x28])
const half = (first: number, text = 'a'): Buffer => frame(text, { first })
const times = (count: number, bytes: Buffer): Buffer[] => Array.from({ length: count }, () => bytes)
const bomb = deflateRawSync(Buffer.alloc(16 * MEBIBYTE))

/** The frames that a peer sends, and the code that it gets. */
type Attacks = Readonly<Record<string, readonly [code: number, ...frames: readonly Buffer[]]>>
/** `isMasked`: of a client. */
const attacksOf = (isMasked: boolean): Attacks => ({
  'the first reserved bit': [1002, frame('x', { first: 0xc1, isMasked })],
  'the second reserved bit': [1002, frame('x', { first: 0xa1, isMasked })],
  'the third reserved bit': [1002, frame('x', { first: 0x91, isMasked })],
  'an unknown opcode of data': [1002, frame('x', { first: 0x83, isMasked })],
  'an unknown opcode of control': [1002, frame('x', { first: 0x8b, isMasked })],
  'the wrong masking': [1002, frame('x', { isMasked: !isMasked })],
  'a fragmented ping': [1002, frame('x', { first: 0x09, isMasked })],
  'a fragmented close': [1002, closeFrame(1000, { first: 0x08, isMasked })],
  'a ping of 126 bytes': [1002, frame('x'.repeat(126), { first: PING, isMasked })],
  'a continuation of nothing': [1002, frame('x', { first: 0x80, isMasked })],
  'a message inside another': [
    1002,
    frame('x', { first: 0x01, isMasked }),
    frame('y', { isMasked }),
  ],
  'a compressed message': [1002, frame(bomb, { first: 0xc2, isMasked })],
  'a message over the limit': [1009, frame('x'.repeat(LIMIT + 1), { isMasked })],
  'a length of a tebibyte': [1009, frame('x', { length: 2n ** 40n, isMasked })],
  'a length of 63 bits': [1009, frame('x', { length: 2n ** 63n - 1n, isMasked })],
  'fragments without an end': [
    1009,
    frame('x', { first: 0x01, isMasked }),
    ...times(LIMIT / 1_024, frame('x'.repeat(1_024), { first: 0x00, isMasked })),
  ],
  'empty fragments without an end': [
    1008,
    frame('', { first: 0x01, isMasked }),
    ...times(1_200, frame('', { first: 0x00, isMasked })),
  ],
  'text that is not UTF-8': [1007, frame(NOT_UTF8, { isMasked })],
  'text that ends inside a character': [
    1007,
    frame('x', { first: 0x01, isMasked }),
    frame(NOT_UTF8.subarray(0, 1), { first: 0x80, isMasked }),
  ],
  'a reason that is not UTF-8': [
    1007,
    frame(Buffer.concat([Buffer.from([3, 232]), NOT_UTF8]), { first: 0x88, isMasked }),
  ],
  'half a close code': [1002, frame('x', { first: 0x88, isMasked })],
  ...Object.fromEntries(
    [0, 999, 1004, 1005, 1006, 1015, 2999, 5000].map(
      code => [`the close code ${code}`, [1002, closeFrame(code, { isMasked })]] as const,
    ),
  ),
})

t.test('WebSocket attacks: a client gets the code of the rule that it broke', async t => {
  const other = await dial()
  const amounts = new Map<string, number>()
  const attacks = Object.entries(attacksOf(true)).map(async ([name, [code, ...frames]]) => {
    const offer = 'Sec-WebSocket-Extensions: permessage-deflate'
    const session = await openSession(name === 'a compressed message' ? [offer] : [])
    await takeAnswer(session)
    amounts.set(session.id, COST)
    for (const bytes of frames) await session.client.send(bytes)
    await session.client.closed
    t.equal(closeCodeOf(session.client.bytes()), code, name)
  })
  await Promise.all(attacks)
  await isServed(t, other, 'another client is served')
  other.socket.terminate()
  await checkCharges(t, amounts, 'each session is billed once')
})

t.test('WebSocket attacks: clients that leave in any way pay for what they received', async t => {
  const amounts = new Map<string, number>()
  const ways: Readonly<Record<string, (client: RawClient) => unknown>> = {
    'a reset': client => client.reset(),
    'a close of the connection': client => client.close(),
    'half of the connection closed': client => client.halfClose(),
    'half a frame, then a reset': client =>
      client.send(frame('x', { length: 1_000 })).then(() => client.reset()),
    'a close frame twice': client => client.send(Buffer.concat(times(2, closeFrame(1000)))),
    'a close frame, then a message': client =>
      client.send(Buffer.concat([closeFrame(1000), frame(ANSWER)])),
    async 'a frame byte by byte'(client) {
      for (const byte of frame('slow')) await client.send(Buffer.from([byte]))
      await client.until('slow')
      client.close()
    },
  }
  for (const [name, leave] of Object.entries(ways)) {
    const session = await openSession()
    await takeAnswer(session)
    amounts.set(session.id, COST)
    await leave(session.client)
    if (!session.client.socket.destroyed) await session.client.closed
    t.pass(name)
  }
  await checkCharges(t, amounts, 'each session is billed once')
})

t.test('WebSocket attacks: an upstream that breaks a rule ends its own sessions', async t => {
  const other = await dial()
  const amounts = new Map<string, number>()
  const attacks = Object.entries(attacksOf(false)).map(async ([name, [, ...frames]]) => {
    const number = upstreamCases.push(frames) - 1
    const client = await dial(`hostile&case=${number}`)
    amounts.set(String(client.headers['x-request-id']), COST)
    t.equal((await client.closed).code, 1011, name)
    t.same(client.received, [ANSWER], `${name}: only the answer before it`)
  })
  await Promise.all(attacks)
  await isServed(t, other, 'another client is served')
  other.socket.terminate()
  await checkCharges(t, amounts, 'each session is billed once')
})

t.test('WebSocket attacks: a page of another site opens no socket with the cookie', async t => {
  const secret = makeSecret('session')
  const { account } = customer
  const session = { account, name: 'test', secret, expires: Date.now() + 3_600_000 }
  await database.write(addSession(session, undefined, Date.now()))
  const open = (headers: Readonly<Record<string, string>>) =>
    openSocket(`${gateway.url}${PATH}talk`, [], { headers }).catch(
      (error: RefusedUpgrade) => error.status,
    )
  const cookie = `tollgate-session=${secret.text}`
  const origin = 'https://evil.example'
  await upstream.forget()
  t.equal(await open({ cookie, origin }), 403)
  t.equal(await open({ cookie, origin: gateway.url }), 403, 'an origin can be written by a script')
  t.equal(await open({ cookie, origin, 'x-csrf-token': 'x' }), 403)
  t.same(await upstream.events('connection'), [], 'no upstream call')
})

t.test('WebSocket attacks: half-open upgrades do not keep others out', async t => {
  const growth = await growthDuring(gateway.pid, async () => {
    const halves = await Promise.all(
      Array.from({ length: HALF_OPEN }, async (_, index) => {
        const client = await rawClient(gateway)
        const request = handshake(`${PATH}${index % 10 === 0 ? 'hostile' : 'talk'}`, [bearer()])
        // Each tenth waits for an upstream that never responds; others never end their head.
        await client.send(index % 10 === 0 ? request : request.slice(0, -2))
        return client
      }),
    )
    // Beyond its capacity the gateway refuses some with 503.
    const refusedCount = () => halves.filter((half, at) => at % 10 === 0 && half.over()).length
    await eventually(() => silentConnections + refusedCount() === HALF_OPEN / 10 || undefined)
    const other = await dial()
    await isServed(t, other, `another client is served beside ${HALF_OPEN}`)
    other.socket.terminate()
    for (const half of halves) half.close()
    await eventually(() => (silentConnections === 0 ? true : undefined))
  })
  t.ok(growth < MOST_GROWTH, `memory grew by ${Math.round(growth / MEBIBYTE)} MiB`)
  await checkCharges(t, new Map(), 'nothing is held')
})

/** A random frame; most are valid. */
const drawFrame = (chance: () => number): Buffer => {
  const upTo = (most: number): number => Math.floor(chance() * most)
  const size = chance() < 0.02 ? upTo(LIMIT + 2_000) : upTo(chance() < 0.3 ? 300 : 30)
  const bytes = Buffer.from(Array.from({ length: size }, () => upTo(256)))
  if (chance() < 0.45) return frame('x'.repeat(size), { first: 0x81 })
  if (chance() < 0.5) return frame(bytes, { first: 0x82 })
  if (chance() < 0.6) return frame(bytes.subarray(0, 125), { first: 0x89 + upTo(2) })
  if (chance() < 0.3) return Buffer.concat([half(0x01), half(0x00), half(0x89), half(0x80)])
  if (chance() < 0.2) return bytes
  if (chance() < 0.2) return closeFrame(upTo(6_000))
  if (chance() < 0.2) return frame(bytes, { length: 2n ** BigInt(upTo(63)) })
  if (chance() < 0.2) return frame(bytes, { first: 0x81 })
  return frame(bytes, { first: upTo(256), isMasked: chance() < 0.8 })
}

t.test('WebSocket attacks: random frames end no session but their own', async t => {
  const chance = createChance()
  const other = await dial()
  const amounts = new Map<string, number>()
  const codes = new Map<number | undefined, number>()
  let remaining = FRAMES
  const lane = async (): Promise<void> => {
    while (remaining > 0) {
      const session = await openSession()
      const { client, id } = session
      const hasAnswer = chance() < 0.3
      if (hasAnswer) await takeAnswer(session)
      amounts.set(id, hasAnswer ? COST : 0)
      for (let count = 1 + Math.floor(chance() * 60); count > 0 && !client.over(); count--) {
        remaining--
        await client.send(drawFrame(chance))
      }
      if (chance() < 0.5) client.reset()
      else {
        client.halfClose()
        await client.closed
        const code = closeCodeOf(client.bytes())
        codes.set(code, (codes.get(code) ?? 0) + 1)
      }
    }
  }
  const growth = await growthDuring(gateway.pid, () =>
    Promise.all(Array.from({ length: 16 }, lane)),
  )
  await isServed(t, other, 'another client is served')
  other.socket.terminate()
  await checkCharges(t, amounts, 'each session is billed once')
  const invalid = [...codes.keys()].filter(code => code && (code < 1000 || code >= 5000))
  t.same(invalid, [], 'every code is a valid one')
  t.ok(growth < MOST_GROWTH, `memory grew by ${Math.round(growth / MEBIBYTE)} MiB`)
  t.comment(`${FRAMES} frames, ${amounts.size} sessions, codes ${JSON.stringify([...codes])}`)
})

t.test('WebSocket attacks: sessions of workers that are killed are billed once', async t => {
  const sessions = await Promise.all(Array.from({ length: 20 }, () => openSession()))
  for (const session of sessions) await takeAnswer(session)
  for (const pid of workersOf(gateway.pid)) process.kill(pid, 'SIGKILL')
  for (const { client } of sessions) await client.closed
  await checkCharges(
    t,
    new Map(sessions.map(({ id }) => [id, COST])),
    'each session is billed once',
  )
  const other = await eventually(() => dial().catch(() => undefined))
  await isServed(t, other, 'new sessions are served')
  other.socket.terminate()
})

t.test('WebSocket attacks: the books balance', async t => {
  await checkCharges(t, new Map(), 'no charge is open')
  t.same(await audit(database), [])
})
