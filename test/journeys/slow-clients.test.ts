/** Clients that hold a connection and send almost nothing are disconnected, and do not affect
 *  others. */
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { type RawClient, rawClient, replies } from '../helpers/gateway/raw-client.ts'
import { startUpstream } from '../helpers/gateway/upstream.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { growthDuring, warmUp } from '../helpers/process-tree.ts'
import { LONG, shortOrLong } from '../helpers/run-settings.ts'
import { BODIES, HEADS, type SlowClient } from './slow-clients/kinds.ts'

const upstream = await startUpstream()
const routes = `
pipeline: [errors]
# One connection for all: a request that holds it blocks the others.
upstreams: { raw: { url: '${upstream.url}', connections: 1 } }
routes: [{ path: 'GET|POST /s/{name}', upstream: raw }]
`
const gateway = await startGateway({
  inside: !LONG, // thousands of clients would starve a gateway in their own process
  settings: `timeouts: { header: ${scaled(1_000)}ms, body_rate: 10KiB, keep_alive: 1s }`,
  routes,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const MIB = 1024 * 1024

/** Sends this piece repeatedly until the gateway closes the connection. */
const sendSlowly = async (client: RawClient, piece: string): Promise<void> => {
  while (!client.over()) {
    await client.send(piece)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
const ask = async (): Promise<string> => {
  const response = await fetch(`${gateway.url}/s/json`, { method: 'POST', body: '{}' })
  return response.text()
}
const checkServes = async (t: Test): Promise<void> =>
  void t.equal(await ask(), '{"ok":true}', 'others are served')

// Most of the time is spent waiting for deadlines.
t.test('slow clients: disconnected without harm to others', { jobs: LONG ? 1 : 8 }, async t => {
  t.test('each kind of slow request is ended', { jobs: 6 }, async t => {
    for (const [name, { start, piece }] of Object.entries({ ...HEADS, ...(LONG && BODIES) }))
      t.test(name, async t => {
        const client = await rawClient(gateway)
        await client.send(start)
        await sendSlowly(client, piece)
        const reply = replies(client.text())[0]
        t.equal(reply?.status ?? 408, 408, 'closed, with a 408 or without a response')
        client.close()
      })
  })

  t.test('a slow upload holds no upstream connection', async t => {
    const { start } = BODIES['a streamed body'] as SlowClient
    const slow = await Promise.all(Array.from({ length: 5 }, () => rawClient(gateway)))
    for (const client of slow) await client.send(start + ' '.repeat(1_000))
    await checkServes(t)
    const [first] = slow as [RawClient]
    await first.send(' '.repeat(99_000))
    await first.until('true}')
    t.pass('it takes one when enough bytes are buffered')
    await checkServes(t)
    for (const client of slow) client.close()
  })

  t.test('many slow clients at once cost bounded memory', async t => {
    const count = shortOrLong(100, 5_000)
    if (LONG) await warmUp(ask)
    const growth = await growthDuring(gateway.pid, async () => {
      const crowd = await Promise.all(Array.from({ length: count }, () => rawClient(gateway)))
      for (const client of crowd) await client.send('GET /s/json HTTP/1.1\r\nHost: x\r\nX-')
      for (let n = 0; n < 10; n++) await checkServes(t)
      for (const client of crowd) await client.closed
      t.pass(`${count} connections were closed by the gateway`)
    })
    t.ok(growth < 100 * MIB, `with a growth of ${(growth / MIB).toFixed(1)} MiB`)
    await checkServes(t)
  })

  t.test('an idle kept connection is closed', async t => {
    const client = await rawClient(gateway)
    await client.send('GET /s/json HTTP/1.1\r\nHost: x\r\n\r\n')
    await client.until('true}')
    await client.closed
    t.equal(replies(client.text()).length, 1)
  })
})
