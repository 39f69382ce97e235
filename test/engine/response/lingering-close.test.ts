/** Closing connections: nothing behind a refusal is served, and the client can read the refusal. */
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { type RawClient, rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { pluginOf, SILENT_LOG, startTestServer } from '../../helpers/gateway/test-server.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const GET = 'GET /plain HTTP/1.1\r\nhost: x\r\n\r\n'

/** A gateway that records the paths it serves; `/slow` and the second half of `/stream` wait for
 *  `release`. */
const arrange = async (t: Test, settings: object = {}) => {
  const logLines: object[] = []
  const log = { ...SILENT_LOG, info: (fields: object) => void logLines.push(fields) }
  const servedPaths: string[] = []
  const release = Promise.withResolvers<void>()
  const requestArrived = Promise.withResolvers<void>()
  const parts = async function* () {
    yield Buffer.from('first ')
    yield Buffer.from('second ')
    requestArrived.resolve()
    await release.promise
    yield Buffer.from('last')
  }
  const own = pluginOf({
    answers: true,
    async handle(exchange) {
      const { path } = exchange.request
      servedPaths.push(path)
      if (path === '/stream') return void exchange.answer(200, parts())
      if (path === '/slow') {
        requestArrived.resolve()
        await release.promise
      }
      if (path === '/body') await exchange.request.bytes()
      if (path === '/upload') for await (const _ of exchange.request.stream());
      exchange.answer(200, Buffer.from(`served ${path}`))
    },
  })
  const core = await startTestServer(
    t,
    { own },
    {
      settings,
      routes: [
        ...['/plain', '/slow', '/stream'].map(path => ({ path: `GET ${path}` })),
        { path: 'POST /body', body: { limit: '1KiB' } },
        { path: 'POST /upload', body: { limit: '1KiB' } },
        { path: 'POST /unread' },
      ],
    } as never,
    log,
  )
  const client = await rawClient({ port: Number(new URL(core.url).port) })
  return {
    core,
    logLines,
    client,
    servedPaths,
    release: release.resolve,
    requestArrived: requestArrived.promise,
  }
}
const readReplies = async (client: RawClient) => {
  await client.closed
  return replies(client.text())
}

const MALFORMED: Readonly<Record<string, readonly [bytes: string, status: number, code: RegExp]>> =
  {
    'no HTTP at all': ['hello\r\n\r\n', 400, /^HPE_/],
    'a space in the target': ['GET /a b HTTP/1.1\r\nhost: x\r\n\r\n', 400, /^HPE_/],
    'a control character in a header': [
      'GET / HTTP/1.1\r\nhost: x\r\na: \x01\r\n\r\n',
      400,
      /^HPE_/,
    ],
    'both lengths': [
      'POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      400,
      /./,
    ],
    'a head without end': [
      `GET / HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(60_000)}`,
      431,
      /HPE_HEADER_OVERFLOW/,
    ],
    'chunk extensions without end': [
      `POST /body HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}`,
      413,
      /HPE_CHUNK_EXTENSIONS_OVERFLOW/,
    ],
    'a tunnel': ['CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n', 405, /CONNECT_REFUSED/],
  }
for (const [what, [bytes, status, code]] of Object.entries(MALFORMED))
  t.test(`lingering close, ${what}: refused with a response, and the connection ends`, async t => {
    const { client, servedPaths, core, logLines } = await arrange(t)
    await client.send(bytes + GET)
    const [reply, ...more] = await readReplies(client)
    t.match(logLines, [{ status, code }], 'it has a log line')
    if (!('id' in (logLines[0] ?? {}))) t.match(logLines, [{ client: /127\.0\.0\.1/ }])
    const samples = core.resources.metrics.report()
    const labels = { route: 'none', status: String(status) }
    const counted = samples.filter(({ name }) => name === 'requests_total')
    t.match(counted, [{ labels, values: [1] }], 'it is counted')
    t.match(reply, { status, whole: true, headers: { connection: 'close' } })
    t.match(JSON.parse(reply?.body ?? ''), { error: { code, message: /\w+/ } })
    t.same(more, [])
    t.same(
      servedPaths.filter(path => path !== '/body'),
      [],
      'the request behind it is not served',
    )
    client.close()
    while (core.server.openRequests > 0) await new Promise(resolve => setImmediate(resolve))
  })

t.test('lingering close: requests behind a refused head are not served', async t => {
  const { client, servedPaths } = await arrange(t)
  await client.send(`GET /a%2fb HTTP/1.1\r\nhost: x\r\n\r\n${GET}${GET}`)
  const list = await readReplies(client)
  t.match(list, [{ status: 400 }])
  t.equal(list.length, 1)
  t.same(servedPaths, [])
})

t.test('malformed bytes: no second response behind a refused head', async t => {
  const { core, client } = await arrange(t)
  const clientError = once(core.server.http, 'clientError')
  await client.send('GET /a%2fb HTTP/1.1\r\nhost: x\r\n\r\nnonsense\r\n\r\n')
  await clientError
  t.equal((await readReplies(client)).length, 1)
})

t.test('malformed bytes: behind a valid request the reply is sent and is the last', async t => {
  const { core, client, servedPaths, release, requestArrived } = await arrange(t)
  await client.send('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n')
  await requestArrived
  const clientError = once(core.server.http, 'clientError')
  await client.send('nonsense\r\n\r\n')
  await clientError
  release()
  const list = await readReplies(client)
  t.match(list, [{ status: 200, body: 'served /slow', whole: true }])
  t.equal(list.length, 1, 'no 400 that a client could match to another request')
  t.same(servedPaths, ['/slow'])
})

t.test('malformed bytes: nothing is written into a stream in front of them', async t => {
  const { core, client, release, requestArrived } = await arrange(t)
  await client.send('GET /stream HTTP/1.1\r\nhost: x\r\n\r\n')
  await requestArrived
  await client.until('first')
  const clientError = once(core.server.http, 'clientError')
  await client.send('nonsense\r\n\r\n')
  await clientError
  release()
  await client.closed
  t.equal(client.text().match(/HTTP\/1\.1/g)?.length, 1)
  t.match(replies(client.text()), [{ body: /^first (second last)?/ }])
})

t.test('malformed bytes: within a body that is read the request is refused', async t => {
  const { client } = await arrange(t)
  await client.send('POST /body HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n')
  await client.until(received => replies(received).some(({ whole }) => whole))
  client.close()
  t.match(replies(client.text()), [{ status: 400, headers: { connection: 'close' } }])
})

t.test('lingering close: a client that is still sending can read its refusal', async t => {
  const { client, core } = await arrange(t)
  const size = 4_000_000
  await client.send(`POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: ${size}\r\n\r\n`)
  const piece = Buffer.alloc(100_000, 'x')
  for (let sentBytes = 0; sentBytes < size && !client.over(); sentBytes += piece.length)
    await client.send(piece)
  const [reply] = await readReplies(client)
  t.match(reply, { status: 413, whole: true, headers: { connection: 'close' } })
  client.close()
  while (core.server.openRequests > 0) await new Promise(resolve => setImmediate(resolve))
})

t.test('lingering close: a client that streams its body can read its refusal', async t => {
  const { client, core } = await arrange(t)
  const chunk = `800\r\n${'x'.repeat(0x800)}\r\n`
  await client.send('POST /upload HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
  for (let n = 0; n < 20; n++) await client.send(chunk)
  await client.until(received => replies(received).some(({ whole }) => whole))
  t.match(replies(client.text()), [{ status: 413, headers: { connection: 'close' } }])
  client.close()
  while (core.server.openRequests > 0) await new Promise(resolve => setImmediate(resolve))
})

t.test('timeouts: a client that stops within a head or a body is dropped', async t => {
  const post = (path: string, length: number): string =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\nhalf`
  const sendAndRead = async (bytes: string) => {
    const { client } = await arrange(t, { timeouts: { header: `${scaled(100)}ms` } })
    await client.send(bytes)
    return readReplies(client)
  }
  const [[late], [large], [small], [unread]] = await Promise.all([
    sendAndRead('GET / HTTP/1.1\r\nhost: '),
    sendAndRead(post('/body', 4_000_000)),
    sendAndRead(post('/body', 4_000)),
    sendAndRead(post('/unread', 100)),
  ])
  t.equal(late?.status, 408)
  t.match(JSON.parse(late?.body ?? ''), { error: { code: 'ERR_HTTP_REQUEST_TIMEOUT' } })
  t.match(large, { status: 413, whole: true }, 'the client could read the refusal')
  t.match(small, { status: 413, whole: true })
  t.match(unread, { status: 200, body: 'served /unread', whole: true })
})

t.test('malformed bytes: a reset of an idle connection is ignored', async t => {
  const { client, core, servedPaths } = await arrange(t)
  await client.send('GET /plain HTTP/1.1\r\nho')
  client.reset()
  const other = await rawClient({ port: Number(new URL(core.url).port) })
  await other.send(GET)
  await other.until('served')
  other.close()
  t.same(servedPaths, ['/plain'])
})
