/** A client that disconnects aborts its upstream call at any moment. */
import t, { type Test } from 'tap'
import { plain, text } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { scaled } from '../../helpers/long.ts'
import { type RawClient, rawClient } from '../../helpers/raw.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors]
upstreams: { raw: { url: '${upstream.url}', connections: 1000 } }
routes:
  - { path: 'POST /s/{name}', upstream: raw }
  - { path: 'POST /drained/s/{name}', rewrite: '/s/{name}', upstream: raw, hangup: { drain: 20s, bytes: 1MiB } }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

/** 100 ms is the promise; a functional deadline gets ten times that. */
const DEADLINE = 1_000
const STREAM: Step = text(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)
const EVENT: Step = { do: 'send', bytes: 'data: {"n":{n}}\n\n', inChunks: true }

const post = (path: string, body: string, length = body.length): string =>
  `POST ${path} HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: video/mp4\r\nContent-Length: ${length}\r\n\r\n${body}`

/** Disconnects after `moment` resolves and expects the upstream connection to close. */
const disconnectAt = async (
  t: Test,
  name: string,
  moment: (client: RawClient) => Promise<unknown>,
  how: 'reset' | 'close' = 'close',
): Promise<void> => {
  const client = await rawClient(gateway)
  const { connection } = await Promise.all([
    upstream.until('request', event => event.script === name),
    moment(client),
  ]).then(([event]) => event)
  const leftTime = performance.timeOrigin + performance.now()
  client[how]()
  const closing = await upstream.until('close', event => event.connection === connection)
  t.ok(
    closing.at - leftTime < DEADLINE,
    `the upstream connection closed after ${(closing.at - leftTime).toFixed(1)} ms`,
  )
}

for (const how of ['close', 'reset'] as const) {
  t.test(`client abort: ${how} before the response head`, async t => {
    const name = `before-${how}`
    await upstream.script(name, [{ do: 'body' }, { do: 'stall' }])
    await disconnectAt(
      t,
      name,
      async client => {
        await client.send(post(`/s/${name}`, '{}'))
        await upstream.until('body', event => event.script === name)
      },
      how,
    )
  })

  t.test(`client abort: ${how} between two events`, async t => {
    const name = `between-${how}`
    await upstream.script(name, [{ do: 'body' }, STREAM, EVENT, { do: 'stall' }])
    await disconnectAt(
      t,
      name,
      async client => {
        await client.send(post(`/s/${name}`, '{}'))
        await client.until('data: {"n":0}')
      },
      how,
    )
  })

  t.test(`client abort: ${how} while events flow`, async t => {
    const name = `flowing-${how}`
    await upstream.script(name, [{ do: 'body' }, STREAM, { ...EVENT, times: 100_000, every: 1 }])
    await disconnectAt(
      t,
      name,
      async client => {
        await client.send(post(`/s/${name}`, '{}'))
        await client.until('data: {"n":5}')
      },
      how,
    )
  })

  t.test(`client abort: ${how} in the middle of an upload`, async t => {
    const name = `upload-${how}`
    await upstream.script(name, [{ do: 'body' }, plain({ ok: true })])
    await disconnectAt(
      t,
      name,
      client => client.send(post(`/s/${name}`, 'x'.repeat(200_000), 1_000_000)),
      how,
    )
    const [body] = await upstream.seen('body', name)
    t.not(body?.body.whole, true, 'a partial upload does not look complete')
  })

  t.test(`client abort: ${how} in the middle of a plain response`, async t => {
    const name = `plain-${how}`
    await upstream.script(name, [
      { do: 'body' },
      text(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{"half":"',
      ),
      { do: 'send', bytes: 'x'.repeat(100_000) },
      { do: 'stall' },
    ])
    await disconnectAt(
      t,
      name,
      async client => {
        await client.send(post(`/s/${name}`, '{}'))
        await upstream.until('sent', event => event.script === name && event.step === 2)
      },
      how,
    )
  })
}

t.test('client abort: the gateway keeps serving after many disconnects at once', async t => {
  const count = scaled(100, 500)
  await upstream.script('crowd', [{ do: 'body' }, STREAM, EVENT, { do: 'stall' }])
  const clients = await Promise.all(Array.from({ length: count }, () => rawClient(gateway)))
  await Promise.all(clients.map(client => client.send(post('/s/crowd', '{}'))))
  await Promise.all(clients.map(client => client.until('data: {"n":0}')))
  const connections = new Set(
    (await upstream.seen('request', 'crowd')).map(event => event.connection),
  )
  t.equal(connections.size, count, 'one upstream call per client')
  for (const client of clients) client.reset()
  for (const connection of connections)
    await upstream.until('close', event => event.connection === connection)
  const response = await fetch(`${gateway.url}/s/json`, { method: 'POST', body: '{}' })
  t.equal(await response.text(), '{"ok":true}')
})

t.test('client abort: a route may keep reading up to a byte limit', async t => {
  await upstream.script('drained', [
    { do: 'body' },
    STREAM,
    EVENT,
    { do: 'gate', name: 'left' },
    { ...EVENT, times: 20 },
    text('0\r\n\r\n'),
  ])
  const client = await rawClient(gateway)
  await client.send(post('/drained/s/drained', '{}'))
  await client.until('data: {"n":0}')
  client.close()
  await upstream.open('left')
  await upstream.until('sent', event => event.script === 'drained' && event.step === 5)
  const { connection } = await upstream.until('request', event => event.script === 'drained')
  const isClosed = (await upstream.seen('close')).some(event => event.connection === connection)
  t.notOk(isClosed, 'the upstream ended its stream by itself and its connection is kept')
})

t.test('client abort: a route that keeps reading stops at its limit', async t => {
  await upstream.script('endless', [
    { do: 'body' },
    STREAM,
    { do: 'send', bytes: `data: ${'x'.repeat(10_000)}\n\n`, inChunks: true, times: 1_000_000 },
  ])
  const client = await rawClient(gateway)
  await client.send(post('/drained/s/endless', '{}'))
  await client.until('data: x')
  const { connection } = await upstream.until('request', event => event.script === 'endless')
  client.close()
  const closing = await upstream.until('close', event => event.connection === connection)
  t.ok(closing.bytesWritten < 20_000_000, `${closing.bytesWritten} bytes were written`)
})
