/** Pipelined requests of one connection: which run concurrently, and which wait. */
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { plugin, startCore } from '../../helpers/core.ts'
import { rawClient, replies } from '../../helpers/raw.ts'

const request = (method: string, path: string, ...lines: readonly string[]): string =>
  `${method} ${path} HTTP/1.1\r\n${['host: x', ...lines, '', ''].join('\r\n')}`
const post = (path: string, body: string, ...lines: readonly string[]): string =>
  request('POST', path, `content-length: ${body.length}`, ...lines) + body
/** Waits for more turns of the event loop than a request takes. */
const pause = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 100))

/** A gateway whose requests end when the test calls `end`; `startOrder` lists them. */
const arrange = async (t: Test) => {
  const startOrder: string[] = []
  const ends = new Map<string, () => void>()
  const core = await startCore(
    t,
    {
      own: plugin({
        answers: true,
        async handle(exchange) {
          const { method, path } = exchange.request
          const name = `${method} ${path}`
          startOrder.push(name)
          const body = Buffer.from(await exchange.request.bytes()).toString()
          await new Promise<void>(resolve => ends.set(name, resolve))
          exchange.answer(200, Buffer.from(`${name} ${body}`))
        },
      }),
    },
    { routes: [{ path: 'GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE /{id}' }, { path: 'WS /socket' }] },
  )
  const client = await rawClient({ port: Number(new URL(core.url).port) })
  t.teardown(() => client.close())
  /** Ends these requests once they have started. */
  const end = async (...names: readonly string[]) => {
    for (const name of names) {
      while (!ends.has(name)) await new Promise(resolve => setImmediate(resolve))
      ends.get(name)?.()
    }
  }
  const readBodies = async (count: number) => {
    await client.until(text => replies(text).filter(({ whole }) => whole).length >= count)
    return replies(client.text()).map(({ body }) => body)
  }
  return { core, client, startOrder, end, readBodies }
}

t.test('pipelined requests: safe ones run concurrently', async t => {
  const { client, startOrder, end, readBodies } = await arrange(t)
  const all = ['GET /1', 'OPTIONS /2', 'GET /3']
  await client.send(all.map(each => request(...(each.split(' ') as [string, string]))).join(''))
  await end('GET /3', 'OPTIONS /2', 'GET /1')
  t.same(startOrder, all)
  t.same(await readBodies(3), ['GET /1 ', 'OPTIONS /2 ', 'GET /3 '])
})

for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
  t.test(`pipelined requests: ${method} runs alone, in its order`, async t => {
    const { client, startOrder, end, readBodies } = await arrange(t)
    const bytes = [
      request('GET', '/1'),
      request('GET', '/2'),
      request(method, '/3', 'content-length: 0'),
      request('GET', '/4'),
      request('GET', '/5'),
      request(method, '/6', 'content-length: 0'),
    ]
    await client.send(bytes.join(''))
    await end('GET /1')
    await pause()
    t.same(startOrder, ['GET /1', 'GET /2'])
    await end('GET /2')
    await end(`${method} /3`)
    t.equal(startOrder.length, 3)
    await end('GET /4')
    await pause()
    t.same(startOrder.slice(2), [`${method} /3`, 'GET /4', 'GET /5'])
    await end('GET /5', `${method} /6`)
    t.same(
      (await readBodies(6)).map(body => body.trim()),
      startOrder,
    )
  })

t.test('pipelined requests: bodies of waiting requests arrive whole', async t => {
  const { client, end, readBodies } = await arrange(t)
  const large = 'x'.repeat(300_000)
  await client.send(post('/1', 'one') + post('/2', large) + post('/3', 'three'))
  await pause()
  await end('POST /1', 'POST /2', 'POST /3')
  const hashes = (await readBodies(3)).map(body => createHash('sha256').update(body).digest('hex'))
  const expected = ['POST /1 one', `POST /2 ${large}`, 'POST /3 three']
  t.same(
    hashes,
    expected.map(body => createHash('sha256').update(body).digest('hex')),
  )
})

t.test('pipelined requests: waiting requests are dropped when the connection ends', async t => {
  const { core, client, startOrder, end, readBodies } = await arrange(t)
  await client.send(post('/1', '1', 'connection: close') + post('/2', '2'))
  await end('POST /1')
  t.same(await readBodies(1), ['POST /1 1'])
  await client.closed
  t.same(startOrder, ['POST /1'])

  const other = await rawClient({ port: Number(new URL(core.url).port) })
  await other.send(post('/3', '3') + post('/4', '4'))
  while (!startOrder.includes('POST /3')) await pause()
  other.reset()
  await end('POST /3')
  await pause()
  t.same(startOrder, ['POST /1', 'POST /3'])
  t.equal(core.server.openRequests, 0)
})

t.test('pipelined requests: requests before malformed bytes get their responses', async t => {
  const { client, end } = await arrange(t)
  await client.send(`${post('/1', '1')}${post('/2', '2')}no request at all\r\n\r\n`)
  await pause()
  await end('POST /1', 'POST /2')
  await client.closed
  t.same(
    replies(client.text()).map(({ body }) => body),
    ['POST /1 1', 'POST /2 2'],
  )
})

t.test('pipelined requests: the refusal of a head waits for its turn', async t => {
  const { client, startOrder, end } = await arrange(t)
  await client.send(post('/1', '1') + request('GET', '/2', 'expect: tea') + request('GET', '/3'))
  await pause()
  t.equal(client.text(), '')
  await end('POST /1')
  await client.closed
  t.same(
    replies(client.text()).map(({ status }) => status),
    [200, 417],
  )
  t.same(startOrder, ['POST /1'])
})

t.test('pipelined requests: responses to upgrade and CONNECT wait for their turn', async t => {
  const { core } = await arrange(t)
  for (const [bytes, status] of [
    [request('CONNECT', 'a.test:443'), 405],
    [request('GET', '/socket', 'connection: upgrade', 'upgrade: websocket'), 426],
  ] as const) {
    const { client, end } = await arrange(t)
    await client.send(post('/1', '1') + bytes)
    await pause()
    t.equal(client.text(), '')
    await end('POST /1')
    await client.closed
    t.same(
      replies(client.text()).map(each => each.status),
      [200, status],
    )
  }
  t.equal(core.server.openRequests, 0)
})
