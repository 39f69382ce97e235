/** Writing a reply: its head, its length, and replies that break off. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { Exchange, Stage } from '../../../engine/plugin.ts'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import {
  pluginOf,
  startHttpUpstream,
  startTestServer,
  type TestServer,
} from '../../helpers/gateway/test-server.ts'
import { scaled } from '../../helpers/machine-speed.ts'

type Tap = Parameters<typeof startTestServer>[0]
const requestText = (method: string): string => `${method} / HTTP/1.1\r\nhost: x\r\n\r\n`
const portOf = ({ url }: TestServer): number => Number(new URL(url).port)

/** A gateway of one route with this stage in front of an upstream that answers like this. */
const arrange = async (
  t: Tap,
  stage: Stage,
  answer: Parameters<typeof startHttpUpstream>[1] = (_, response) => void response.end('hello'),
): Promise<TestServer> =>
  startTestServer(
    t,
    { own: pluginOf(stage) },
    {
      upstreams: { up: { url: await startHttpUpstream(t, answer) } },
      routes: [{ path: 'GET|HEAD /', upstream: 'up' }],
    },
  )
/** Sends this and reads until a whole reply is there, or the connection is over. */
const exchange = async (core: TestServer, text: string, count = 1) => {
  const client = await rawClient({ port: portOf(core) })
  await client.send(text)
  await client.until(
    received => replies(received).filter(({ whole }) => whole).length >= count && !client.over(),
  )
  const result = { received: client.text(), list: replies(client.text()), over: client.over() }
  client.close()
  return result
}
/** Sends this and reads `count` heads: of HEAD, whose content-length announces no body. */
const heads = async (core: TestServer, text: string, count: number): Promise<string> => {
  const client = await rawClient({ port: portOf(core) })
  await client.send(text)
  const received = await client.until(all => all.split('\r\n\r\n').length > count)
  client.close()
  return received
}
const answering = (...args: Parameters<Exchange['answer']>) => ({
  async handle(each: Exchange) {
    each.answer(...args)
  },
})

t.test('response writer: bytes have a length, a stream has chunks', async t => {
  const core = await arrange(t, answering(201, Buffer.from('made'), { 'x-own': 'a' }))
  const { list } = await exchange(core, requestText('GET'))
  t.match(list, [{ status: 201, body: 'made', headers: { 'content-length': '4', 'x-own': 'a' } }])
  t.match(list[0]?.headers['x-request-id'], /^req_[0-9a-f]{32}$/)
  t.equal(list[0]?.headers['x-tollgate-version'], '1')
  t.notOk('x-tollgate-request' in (list[0]?.headers ?? {}), 'the request id is the own one')
  t.notOk('connection' in (list[0]?.headers ?? {}) && list[0]?.headers.connection === 'close')
  const streaming = await arrange(t, {}, (_, response) => {
    response.write('a')
    setTimeout(() => response.end('b'), 50)
  })
  const streamReply = await exchange(streaming, requestText('GET'))
  t.match(streamReply.list, [
    { body: 'ab', whole: true, headers: { 'transfer-encoding': 'chunked' } },
  ])
})

t.test('response writer: the head of a stream is sent before a late first byte', async t => {
  let last = (): void => {}
  const core = await arrange(t, {}, (_, response) => {
    response.writeHead(200, { 'x-own': 'a' }).flushHeaders()
    last = () => void response.end('far')
  })
  const client = await rawClient({ port: portOf(core) })
  await client.send(requestText('GET'))
  t.match(await client.until('\r\n\r\n'), /^HTTP\/1\.1 200 OK\r\nx-own: a\r\n/)
  last()
  await client.until(received => replies(received).some(({ whole }) => whole))
  t.equal(replies(client.text())[0]?.body, 'far')
  client.close()
})

t.test(
  'response writer: the head of JSON waits for its body, so that an early failure is a refusal',
  async t => {
    const core = await arrange(t, {}, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
      // Later than the head, also for a slow reader.
      setTimeout(() => response.destroy(), scaled(100))
    })
    const { list } = await exchange(core, requestText('GET'))
    t.match(list, [{ status: 502, whole: true }])
  },
)

t.test('response writer: short and long replies have every byte', async t => {
  for (const size of [0, 1, 255, 65_535, 65_536, 65_537, 200_000]) {
    const bytes = Buffer.from(Array.from({ length: size }, (_, n) => n % 256))
    const core = await arrange(t, answering(200, bytes))
    const { list } = await exchange(core, requestText('GET'))
    t.equal(list[0]?.headers['content-length'], String(size))
    t.equal(Buffer.from(list[0]?.body ?? '', 'latin1').compare(bytes), 0, `${size} bytes`)
  }
})

t.test('response writer: HEAD has the head of GET, and no body', async t => {
  const core = await arrange(t, {}, (incoming, response) => {
    response.setHeader('content-length', '5')
    response.end(incoming.method === 'HEAD' ? undefined : 'hello')
  })
  const both = await exchange(core, requestText('HEAD') + requestText('GET'), 1)
  t.equal(both.received.match(/content-length: 5/g)?.length, 2)
  t.equal(both.received.match(/hello/g)?.length, 1, 'the connection continues')
  const own = await arrange(t, answering(200, Buffer.from('hello'), {}))
  t.match(await heads(own, requestText('HEAD'), 1), /content-length: 5\r\n/)
})

t.test('response writer: HEAD of a stream that a stage answers has no body', async t => {
  const stream = async function* () {
    for (let n = 0; n < 3; n++) yield Buffer.from('abc')
  }
  const core = await arrange(t, {
    handle: async each => void each.answer(200, stream(), { 'content-length': '3' }),
  })
  // An id may contain the letters of the body.
  const received = await heads(core, requestText('HEAD') + requestText('HEAD'), 2)
  t.notMatch(received.replaceAll(/^x-request-id: .*$/gm, ''), /abc/)
})

t.test('response writer: 204 and 304 have neither body nor length', async t => {
  for (const status of [204, 304]) {
    const core = await arrange(t, answering(status, Buffer.from('nothing')))
    const { received, list } = await exchange(core, requestText('GET') + requestText('GET'), 2)
    t.equal(list.length, 2, 'the connection continues')
    t.notMatch(received, /nothing|content-length|chunked/)
  }
})

t.test("response writer: a stage's Connection header is not sent", async t => {
  const core = await arrange(
    t,
    answering(200, Buffer.from('a'), { connection: 'upgrade', 'content-length': '99' }),
  )
  const { list } = await exchange(core, requestText('GET'))
  t.match(list[0], { body: 'a', headers: { 'content-length': '1' } })
  t.not(list[0]?.headers.connection, 'upgrade')
})

/** Repeats every chunk `count` times. */
const times = (count: number): Stage => ({
  async handle(each, next) {
    await next()
    each.reply.through({
      write(chunk, out) {
        for (let n = 0; n < count; n++) out.write(chunk)
      },
      end(tail, out) {
        for (let n = 0; n < count; n++) if (tail) out.write(tail)
        out.end()
      },
    })
  },
})
const tenBytes = (response: ServerResponse): void => {
  response.setHeader('content-length', '10')
  response.write('01234')
  setTimeout(() => response.end('56789'), scaled(100))
}

t.test('response writer: bytes beyond the announced length are not sent', async t => {
  const core = await arrange(t, times(3), (_, response) => tenBytes(response))
  const { received, over, list } = await exchange(core, requestText('GET') + requestText('GET'), 2)
  t.ok(over, 'the connection is destroyed')
  t.ok(list.length <= 1, 'no second reply')
  t.notMatch(received, /(01234){3}/)
})

t.test('response writer: a reply shorter than announced destroys the connection', async t => {
  const core = await arrange(t, times(0), (_, response) => tenBytes(response))
  const empty = await exchange(core, requestText('GET'))
  t.match(
    empty.list,
    [{ whole: true, body: '', headers: { 'content-length': '0' } }],
    'unless the head is still unwritten',
  )
  const half: Stage = {
    async handle(each, next) {
      await next()
      each.reply.through({ end: (_, out) => out.end() })
    },
  }
  const shorter = await arrange(t, half, (_, response) => tenBytes(response))
  const { over, list } = await exchange(shorter, requestText('GET'))
  t.ok(over)
  t.match(list, [{ whole: false, body: '01234' }])
})

t.test(
  'response writer: a failed upstream is an event of a stream, else the connection is cut',
  async t => {
    const events: Stage = {
      fail: ({ code, status }) => ({
        status,
        headers: {},
        body: Buffer.from(code),
        event: Buffer.from(`data: ${code}\n\n`),
      }),
    }
    const startFailing = (type: string) =>
      arrange(t, events, (_, response) => {
        response.writeHead(200, { 'content-type': type })
        response.write('data: {"half')
        setTimeout(() => response.destroy(), scaled(20))
      })
    const stream = await exchange(
      await startFailing('text/event-stream; charset=utf-8'),
      requestText('GET'),
    )
    t.match(stream.list, [{ whole: true, body: 'data: {"half\n\ndata: TARGET_CUT\n\n' }])
    const plain = await exchange(await startFailing('application/json'), requestText('GET'))
    t.ok(plain.over)
    t.match(plain.list, [{ whole: false, body: 'data: {"half' }])
  },
)
