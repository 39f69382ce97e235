/** Clients that read slowly or not at all use bounded memory and are disconnected at last. */
import t from 'tap'
import { text } from '../fixtures/upstream/scenarios.ts'
import type { Send } from '../fixtures/upstream/script.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { rawClient } from '../helpers/gateway/raw-client.ts'
import { startUpstream } from '../helpers/gateway/upstream.ts'
import { growthDuring, openAt, untilOpenAt } from '../helpers/process-tree.ts'
import { shortOrLong } from '../helpers/run-settings.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  files: {
    'plugins/huge.ts': `export default {
      schema: { type: 'boolean' },
      setup: () => ({ answers: true, handle: async exchange => void exchange.answer(200, Buffer.alloc(50_000_000, 'x')) }),
    }`,
  },
  settings: 'timeouts: { idle_write: 1s }',
  routes: `
pipeline: [errors, huge]
upstreams: { raw: { url: '${upstream.url}', connections: 1000 } }
routes:
  - { path: 'POST /s/{name}', upstream: raw }
  - { path: 'GET /huge', huge: true }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const READERS = shortOrLong(12, 200)
const MIB = 1024 * 1024
const ask = (name: string): string =>
  `POST /s/${name} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`

const HEAD = text(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)
const EVENT: Send = { do: 'send', bytes: `data: ${'x'.repeat(65_000)}\n\n`, inChunks: true }
const LAST = text('0\r\n\r\n')

/** Resolves when no upstream connection accepts more bytes. */
const untilStalled = async (): Promise<void> => {
  let before = -1
  for (;;) {
    const writtenBytes = (await upstream.look()).reduce((sum, one) => sum + one.bytesWritten, 0)
    if (writtenBytes === before) return
    before = writtenBytes
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

/** Reads streams as large as those of the test, so that the heap has its full size. */
const warmUp = async (): Promise<void> => {
  const read = async (): Promise<void> => {
    const response = await fetch(`${gateway.url}/s/endless`, { method: 'POST', body: '{}' })
    for await (const _ of response.body ?? []);
  }
  for (let n = 0; n < 2; n++) await Promise.all([read(), read(), read(), read()])
}

t.test(
  'slow readers: clients that never read cost bounded memory and are disconnected',
  async t => {
    // 13 MB for each client, 100 MB in the long form: more than kernel buffers hold.
    const times = shortOrLong(200, 1_600)
    await upstream.script('endless', [{ do: 'body' }, HEAD, { ...EVENT, times }, LAST])
    await warmUp()
    await upstream.forget()
    const before = openAt(gateway.port)
    const clients = await Promise.all(
      Array.from({ length: READERS }, () => rawClient(gateway, { deaf: true })),
    )
    const growth = await growthDuring(gateway.pid, async () => {
      for (const client of clients) await client.send(ask('endless'))
      await upstream.until('sent', event => event.script === 'endless' && event.step === 1)
      await untilStalled()
      const other = await fetch(`${gateway.url}/s/sse`, { method: 'POST', body: '{}' })
      t.equal((await other.text()).length, 790, 'others are served')
    })
    t.ok(
      growth <= READERS * 256 * 1024 + 30 * MIB,
      `${READERS} of them cost ${(growth / MIB).toFixed(1)} MiB`,
    )
    await untilOpenAt(gateway.port, before + 1)
    t.pass('each is closed by the idle-write deadline')
    for (const { connection } of await upstream.events('request', 'endless'))
      await upstream.until('close', event => event.connection === connection)
    t.pass('their upstream calls are closed')
    for (const client of clients) client.close()
  },
)

t.test('slow readers: a large buffered answer that is not read is closed, too', async t => {
  const before = openAt(gateway.port)
  const client = await rawClient(gateway, { deaf: true })
  await client.send('GET /huge HTTP/1.1\r\nHost: x\r\n\r\n')
  await untilOpenAt(gateway.port, before)
  t.pass('the connection is closed')
  client.close()
})

t.test('slow readers: a client with pauses gets every byte', async t => {
  await upstream.script('paced', [{ do: 'body' }, HEAD, { ...EVENT, times: 300 }, LAST])
  const response = await fetch(`${gateway.url}/s/paced`, { method: 'POST', body: '{}' })
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length % 7 === 0) await new Promise(resolve => setTimeout(resolve, 5))
  }
  t.equal(length, 300 * 65_008)
})
