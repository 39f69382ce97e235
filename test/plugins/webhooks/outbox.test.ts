/** The outbox over real TLS receivers: deliveries and retries. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import {
  createAccount,
  deleteAccount,
  suspendAccount,
} from '../../../plugins/credentials/statements.ts'
import { DELAYS } from '../../../plugins/webhooks/schedule.ts'
import { replay } from '../../../plugins/webhooks/statements.ts'
import { ok, publicAccess, startReceiver, status } from '../../helpers/money/receiver.ts'
import { openDesk, SECRET } from '../../helpers/money/webhooks.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const isFinished = ({ state }: { state?: unknown }) => state !== 'pending'
const hasAttempts = (times: number) => (row: { attempts?: unknown }) =>
  Number(row.attempts) >= times

for (const engine of ENGINES)
  t.test(`outbox on ${engine}: delivers a signed event with an unchanged query`, async t => {
    const desk = await openDesk(t, engine)
    const receiver = await startReceiver(t)
    await desk.endpoint(1, `${receiver.origin}/a%20b?token=s%2Fe+c%3Dret&x=1`)
    desk.start()
    const body = '{"topic":"user_quota_too_low","data":{"quota":0.5}}'
    await desk.event('msg_1', 1, { body })
    await desk.eventually('msg_1', isFinished)
    const [request] = receiver.received
    t.match(request, { method: 'POST', url: '/a%20b?token=s%2Fe+c%3Dret&x=1', body })
    t.equal(request?.headers['content-type'], 'application/json')
    t.equal(request?.headers['webhook-id'], 'msg_1')
    t.doesNotThrow(() => new Webhook(SECRET).verify(body, request?.headers ?? {}))
    t.match(await desk.attempts('msg_1'), [{ number: 1, outcome: 'delivered', status: 200 }])
    t.match(desk.counts, ['webhook_attempts_total delivered'])
    t.notMatch(desk.lines.join('\n'), /token|s%2Fe|whsec|a%20b/, 'no secret in the log')
    t.match(desk.lines.join('\n'), `127.0.0.1:${receiver.port}`)
  })

for (const engine of ENGINES)
  t.test(`outbox on ${engine}: an account that was deleted gets nothing more`, async t => {
    const desk = await openDesk(t, engine)
    const receiver = await startReceiver(t)
    const now = Date.now()
    for (const [index, name] of ['deleted', 'suspended'].entries()) {
      await desk.database.write(createAccount({ name, role: 'customer' }, now))
      await desk.endpoint(index + 1, receiver.origin)
      await desk.event(`msg_${name}`, index + 1)
    }
    await desk.database.write(deleteAccount(1, 'deleted', now))
    await desk.database.write(suspendAccount(2, now))
    desk.start()
    t.match(await desk.eventually('msg_suspended', isFinished), { state: 'delivered' })
    t.match(await desk.eventually('msg_deleted', isFinished), { state: 'failed', attempts: 1 })
    t.match(await desk.attempts('msg_deleted'), [{ outcome: 'removed' }])
    t.same(
      receiver.received.map(({ headers }) => headers['webhook-id']),
      ['msg_suspended'],
    )
  })

t.test('outbox: the coding of a response does not change its meaning', async t => {
  const desk = await openDesk(t)
  const text = Buffer.from('{"ok":true}')
  const bodies: Readonly<Record<string, Buffer>> = {
    gzip: gzipSync(text),
    br: brotliCompressSync(text),
    zstd: zstdCompressSync(text),
    snappy: text,
    deflate: text,
  }
  const codings = Object.keys(bodies)
  let answers = 0
  const receiver = await startReceiver(t, (_, response) => {
    const coding = codings[answers++] ?? ''
    response.writeHead(200, { 'content-encoding': coding }).end(bodies[coding])
  })
  await desk.endpoint(1, receiver.origin)
  desk.start()
  for (const coding of codings) {
    await desk.event(coding, 1)
    await desk.eventually(coding, isFinished)
    t.match(await desk.attempts(coding), [{ number: 1, outcome: 'delivered', status: 200 }])
  }
  t.equal(receiver.received.length, codings.length)
})

t.test('outbox: a failing receiver gets ten attempts of one event by schedule', async t => {
  const desk = await openDesk(t)
  const receiver = await startReceiver(t, status(500))
  await desk.endpoint(1, receiver.origin)
  desk.start()
  await desk.event('msg_1', 1)
  for (const [index, delay] of DELAYS.entries()) {
    const { due, state } = await desk.eventually('msg_1', hasAttempts(index + 1))
    const wait = Number(due) - (Date.now() + desk.ahead)
    t.ok(wait <= delay && wait > delay - 4_000, `attempt ${index + 2} in ${wait} of ${delay} ms`)
    t.equal(state, 'pending')
    desk.ahead += delay
  }
  const { state } = await desk.eventually('msg_1', hasAttempts(10))
  t.equal(state, 'failed')
  t.same(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])), new Set(['msg_1']))
  for (const { body, headers } of receiver.received.slice(0, 1))
    new Webhook(SECRET).verify(body, headers)
  const stamps = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
  t.same([...stamps].sort(), stamps, 'each attempt has its own time')
  t.ok((stamps[9] ?? 0) - (stamps[0] ?? 0) > 75 * 3_600, 'the attempts span three days')
  t.match(await desk.attempts('msg_1'), Array(10).fill({ outcome: 'refused', status: 500 }))
})

for (const engine of ENGINES)
  t.test(
    `outbox on ${engine}: a 410 disables the endpoint and fails its pending events`,
    async t => {
      const desk = await openDesk(t, engine)
      const receiver = await startReceiver(t, status(410))
      await desk.endpoint(1, receiver.origin)
      for (const id of ['msg_1', 'msg_2']) await desk.event(id, 1)
      desk.start()
      await desk.eventually('msg_1', isFinished)
      await desk.eventually('msg_2', isFinished)
      t.equal(receiver.received.length, 1)
      t.match(await desk.rows('SELECT state FROM webhook_events'), [
        { state: 'failed' },
        { state: 'failed' },
      ])
      await t.rejects(desk.event('msg_3', 1), { code: 'NO_ENDPOINT' })
      await t.rejects(desk.database.write([replay('msg_1', 10, 0)]), { code: 'NO_ENDPOINT' })
      await desk.endpoint(1, receiver.origin)
      await desk.event('msg_3', 1)
      await receiver.until(2)
    },
  )

t.test('outbox: a redirect fails and is not followed', async t => {
  const desk = await openDesk(t)
  const elsewhere = await startReceiver(t)
  const receiver = await startReceiver(t, status(307, { location: `${elsewhere.origin}/` }))
  await desk.endpoint(1, receiver.origin)
  desk.start()
  await desk.event('msg_1', 1)
  const { state } = await desk.eventually('msg_1', hasAttempts(1))
  t.equal(state, 'pending', 'the event is retried')
  t.match(await desk.attempts('msg_1'), [{ outcome: 'redirected', status: 307 }])
  t.equal(elsewhere.connections(), 0)
})

t.test('outbox: pauses an overloaded receiver for its Retry-After', async t => {
  const desk = await openDesk(t)
  let busy = true
  const receiver = await startReceiver(t, (one, response) =>
    (busy ? status(429, { 'retry-after': '600' }) : ok)(one, response, undefined as never),
  )
  await desk.endpoint(1, receiver.origin)
  desk.start()
  await desk.event('msg_1', 1)
  const { due } = await desk.eventually('msg_1', hasAttempts(1))
  t.ok(Math.abs(Number(due) - Date.now() - 600_000) < 5_000, 'after its Retry-After instead of 5 s')
  await desk.event('msg_2', 1)
  await desk.endpoint(2, (await startReceiver(t)).origin)
  await desk.event('msg_3', 2)
  await desk.eventually('msg_3', isFinished)
  t.equal(receiver.received.length, 1, 'later events to it wait too')
  busy = false
  desk.ahead = 610_000
  for (const id of ['msg_1', 'msg_2'])
    t.match(await desk.eventually(id, isFinished), { state: 'delivered' })
})

t.test('outbox: retries after broken and refused connections', async t => {
  const desk = await openDesk(t)
  const reset = await startReceiver(t, (_, __, incoming) => void incoming.socket.destroy())
  const wrong = await startReceiver(t, ok, '127.0.0.2')
  const urls: Record<string, string> = {
    reset: reset.origin,
    wrong: wrong.origin,
    closedPort: 'https://127.0.0.1:1/',
    nameless: 'https://no-such-name.invalid/',
    inside: 'https://10.0.0.1/',
  }
  for (const [index, name] of Object.keys(urls).entries()) {
    await desk.endpoint(index + 1, urls[name] ?? '')
    await desk.event(name, index + 1)
  }
  desk.start()
  const outcomes: Record<string, unknown> = {}
  for (const name in urls) {
    await desk.eventually(name, hasAttempts(1))
    const [last] = await desk.attempts(name)
    outcomes[name] = last?.outcome
  }
  t.match(outcomes, {
    reset: /^[A-Z_]+$/,
    closedPort: 'ECONNREFUSED',
    wrong: 'ERR_TLS_CERT_ALTNAME_INVALID',
    nameless: 'EGRESS_NAME',
    inside: 'EGRESS_ADDRESS',
  })
  t.equal(wrong.received.length, 0, 'a receiver with a wrong certificate gets nothing')
})

t.test('outbox: does not repeat an attempt whose result cannot be written', async t => {
  const desk = await openDesk(t)
  const receiver = await startReceiver(t)
  await desk.endpoint(1, receiver.origin)
  await desk.event('msg_1', 1)
  const { write } = desk.database
  let failures = 3
  desk.database.write = list => {
    const records = list.some(({ sql }) => sql.name === 'webhooks: finish attempt')
    return records && failures-- > 0
      ? Promise.reject(Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' }))
      : write(list)
  }
  t.teardown(() => {
    desk.database.write = write
  })
  desk.start()
  t.match(await desk.eventually('msg_1', isFinished), { state: 'delivered', attempts: 1 })
  t.equal(receiver.received.length, 1)
})

t.test('outbox: refuses a host name that no longer resolves to a public address', async t => {
  const desk = await openDesk(t)
  const inside = await startReceiver(t)
  const answers = [['1.1.1.1'], ['127.0.0.1']]
  let lookups = 0
  const world = publicAccess('', async () => answers[Math.min(lookups++, 1)] ?? [])
  t.equal(
    await world.checkUrl('https://hook.test/'),
    'https://hook.test/',
    'the name was public when it was saved',
  )
  await desk.endpoint(1, 'https://hook.test:8443/')
  await desk.event('msg_1', 1)
  desk.start(world)
  await desk.eventually('msg_1', hasAttempts(1))
  t.match(await desk.attempts('msg_1'), [{ outcome: 'EGRESS_ADDRESS' }])
  t.equal(inside.connections(), 0)
})

t.test('outbox: does not send to a stored URL without https', async t => {
  const desk = await openDesk(t)
  await desk.endpoint(1, 'http://127.0.0.1:1/')
  await desk.event('msg_1', 1)
  desk.start()
  await desk.eventually('msg_1', hasAttempts(1))
  t.match(await desk.attempts('msg_1'), [{ outcome: 'WEBHOOK_URL' }])
})

for (const engine of ENGINES)
  t.test(
    `outbox on ${engine}: deletes finished events after a month and keeps pending ones`,
    async t => {
      const desk = await openDesk(t, engine)
      const receiver = await startReceiver(t)
      await desk.endpoint(1, receiver.origin)
      await desk.endpoint(2, 'https://127.0.0.1:1/')
      await desk.event('msg_1', 1)
      await desk.event('msg_2', 2)
      const stop = desk.start()
      await desk.eventually('msg_1', isFinished)
      await desk.eventually('msg_2', hasAttempts(1))
      await stop()
      desk.ahead = 31 * 86_400_000
      desk.start()
      while ((await desk.rows("SELECT id FROM webhook_events WHERE id = 'msg_1'")).length > 0);
      t.match(await desk.rows('SELECT DISTINCT event FROM webhook_attempts'), [{ event: 'msg_2' }])
      t.match(await desk.rows('SELECT id FROM webhook_events'), [{ id: 'msg_2' }])
    },
  )
