/** Clients that hold a connection by sending next to nothing are let go; the others do not notice them. */
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { LONG, scaled } from '../helpers/long.ts'
import { growthDuring } from '../helpers/memory.ts'
import { type RawClient, rawClient, replies } from '../helpers/raw.ts'
import { startUpstream } from '../helpers/upstream.ts'

const upstream = await startUpstream()
const routes = `
pipeline: [errors]
# One connection for all: whoever holds it keeps the others waiting.
upstreams: { raw: { url: '${upstream.url}', connections: 1 } }
routes: [{ path: 'GET|POST /s/{name}', upstream: raw }]
`
const gateway = await startGateway({
  inside: !LONG, // thousands of clients would starve a gateway in their own process
  settings: 'timeouts: { header: 1s, body_rate: 10KiB, keep_alive: 1s }',
  routes,
})
// Nearly all of the time is spent waiting for deadlines.
t.jobs = LONG ? 1 : 8
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const MIB = 1024 * 1024

/** Sends this piece again and again until the other side has enough of it. */
const drip = async (client: RawClient, piece: string): Promise<void> => {
  while (!client.over()) {
    await client.send(piece)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
const serves = async (t: Test, { url } = gateway): Promise<void> => {
  const response = await fetch(`${url}/s/json`, { method: 'POST', body: '{}' })
  t.equal(await response.text(), '{"ok":true}', 'others are served')
}

interface Slow {
  readonly start: string
  readonly piece: string
}
const POST = 'POST /s/json HTTP/1.1\r\nHost: x\r\n'
const HEADS: Readonly<Record<string, Slow>> = {
  'nothing at all': { start: '', piece: '' },
  'a request line that never ends': { start: 'GET /s/', piece: 'a' },
  'a head that never ends': { start: 'GET /s/json HTTP/1.1\r\nHost: x\r\n', piece: 'X-A: b\r\n' },
}
/** Their grace is ten seconds; test/engine/body-pace.test.ts shows the rule without waiting. */
const BODIES: Readonly<Record<string, Slow>> = {
  'a body': {
    start: `${POST}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n`,
    piece: ' ',
  },
  'a streamed body': {
    start: `${POST}Content-Type: video/mp4\r\nContent-Length: 100000\r\n\r\n`,
    piece: ' ',
  },
  'chunks of one byte': {
    start: `${POST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    piece: '1\r\n \r\n',
  },
}

t.test('one of each', { jobs: 6 }, async t => {
  for (const [name, { start, piece }] of Object.entries({ ...HEADS, ...(LONG && BODIES) }))
    t.test(name, async t => {
      const client = await rawClient(gateway)
      await client.send(start)
      await drip(client, piece)
      const reply = replies(client.text())[0]
      t.equal(reply?.status ?? 408, 408, 'let go, with a word or without')
      client.close()
    })
})

t.test('a slow upload holds no connection to the upstream', async t => {
  const { start } = BODIES['a streamed body'] as Slow
  const slow = await Promise.all(Array.from({ length: 5 }, () => rawClient(gateway)))
  for (const client of slow) await client.send(start + ' '.repeat(1_000))
  await serves(t)
  const [first] = slow as [RawClient]
  await first.send(' '.repeat(99_000))
  await first.until('true}')
  t.pass('it takes one when there is enough to be sent')
  await serves(t)
  for (const client of slow) client.close()
})

t.test('a crowd of them', async t => {
  const count = scaled(100, 5_000)
  if (LONG) await warm(gateway)
  const growth = await growthDuring(gateway.pid, async () => {
    const crowd = await Promise.all(Array.from({ length: count }, () => rawClient(gateway)))
    for (const client of crowd) await client.send('GET /s/json HTTP/1.1\r\nHost: x\r\nX-')
    for (let n = 0; n < 10; n++) await serves(t)
    for (const client of crowd) await client.closed
    t.pass(`${count} connections were closed from our side`)
  })
  t.ok(growth < 100 * MIB, `at the price of ${(growth / MIB).toFixed(1)} MiB`)
  await serves(t)
})

t.test('a crowd that comes back for two minutes', { skip: !LONG, timeout: 600_000 }, async t => {
  const usual = await startGateway({ routes })
  t.teardown(() => usual.stop())
  const until = performance.now() + Number(process.env.SLOW_SECONDS ?? 120) * 1000
  const kinds = [...Object.values(HEADS), ...Object.values(BODIES)]
  const ages: number[] = []
  const slow = async (_: unknown, index: number) => {
    const { start, piece } = kinds[index % kinds.length] ?? { start: '', piece: '' }
    await pause(index) // they come within five seconds
    while (performance.now() < until) {
      const client = await rawClient(usual)
      const born = performance.now()
      await client.send(start)
      for (; !client.over() && performance.now() < until; await pause(1_000))
        if (piece !== '') await client.send(piece)
      if (client.over()) ages.push(performance.now() - born)
      client.close()
    }
  }
  const good = async (until: number) => {
    const times: number[] = []
    for (; performance.now() < until; await pause(20)) {
      const started = performance.now()
      await serves(t, usual)
      times.push(performance.now() - started)
    }
    return times.sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0
  }
  await warm(usual)
  const alone = await good(performance.now() + 5_000)
  let beside = 0
  const growth = await growthDuring(usual.pid, async () => {
    const crowd = Array.from({ length: 5_000 }, slow)
    beside = await good(until)
    await Promise.all(crowd)
  })
  const oldest = Math.max(...ages)
  t.comment(
    `${ages.length} slow ones let go, the last after ${(oldest / 1000).toFixed(1)} s; ` +
      `p99 of the good ${alone.toFixed(0)} ms before, ${beside.toFixed(0)} ms beside them`,
  )
  t.ok(ages.length > 5_000)
  t.ok(growth < 200 * MIB, `at the price of ${(growth / MIB).toFixed(1)} MiB`)
})
/** Its memory is then what it is under any load, so that what is measured is the price of the slow ones. */
const warm = async ({ url }: { readonly url: string }): Promise<void> => {
  const until = performance.now() + 3_000
  const busy = async (): Promise<void> => {
    while (performance.now() < until)
      await fetch(`${url}/s/json`, { method: 'POST', body: '{}' }).then(reply => reply.text())
  }
  await Promise.all(Array.from({ length: 32 }, busy))
}
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

t.test('a kept connection is closed when nothing comes', async t => {
  const client = await rawClient(gateway)
  await client.send('GET /s/json HTTP/1.1\r\nHost: x\r\n\r\n')
  await client.until('true}')
  await client.closed
  t.equal(replies(client.text()).length, 1)
})
