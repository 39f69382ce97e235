/** Invalid WebSocket handshakes: refused with a response before the pipeline and the upstream. */
import t from 'tap'
import { startCore } from '../../helpers/core.ts'
import { rawClient, replies } from '../../helpers/raw.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const upstream = await startUpstream()
await upstream.script('echo', [{ do: 'websocket', manner: 'echo' }])
const core = await startCore(
  t,
  {},
  {
    upstreams: { raw: { url: upstream.url } },
    routes: [{ path: 'WS /s/{name}', upstream: 'raw' }],
  },
)
t.teardown(() => upstream.stop())
const port = Number(new URL(core.url).port)

const GOOD: Readonly<Record<string, string>> = {
  Host: 'gateway.test',
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
const lines = (headers: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries({ ...GOOD, ...headers }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  )
const shoot = async (head: readonly string[], behind = ''): Promise<string> => {
  const client = await rawClient({ port })
  await client.send(`${head.join('\r\n')}\r\n\r\n${behind}`)
  await client.closed
  return client.text()
}

interface Bad {
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly first?: string
  readonly more?: readonly string[]
  readonly behind?: string
  readonly status?: number
}
const BAD: Readonly<Record<string, Bad>> = {
  'no key': { headers: { 'Sec-WebSocket-Key': undefined } },
  'a short key': { headers: { 'Sec-WebSocket-Key': 'AAAA' } },
  'a key of junk': { headers: { 'Sec-WebSocket-Key': '$$$$$$$$$$$$$$$$$$$$$$==' } },
  'two keys': { more: ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='] },
  'no version': { headers: { 'Sec-WebSocket-Version': undefined }, status: 426 },
  'version 8': { headers: { 'Sec-WebSocket-Version': '8' }, status: 426 },
  'version 13, 8': { headers: { 'Sec-WebSocket-Version': '13, 8' }, status: 426 },
  'a protocol with spaces': { headers: { 'Sec-WebSocket-Protocol': 'a b' } },
  'a protocol twice': { headers: { 'Sec-WebSocket-Protocol': 'a, a' } },
  'a protocol in quotes': { headers: { 'Sec-WebSocket-Protocol': '"a"' } },
  // Declined, and served as the plain GET that it also is; nothing takes one here.
  h2c: { headers: { Upgrade: 'h2c' }, status: 404 },
  'websocket among others': { headers: { Upgrade: 'websocket, h2c' }, status: 404 },
  POST: { first: 'POST /s/echo HTTP/1.1' },
  'HTTP/1.0': { first: 'GET /s/echo HTTP/1.0' },
  'a body announced': { headers: { 'Content-Length': '5' }, behind: 'hello' },
  'a chunked body': { headers: { 'Transfer-Encoding': 'chunked' }, behind: '0\r\n\r\n' },
  'a frame before the answer': { behind: '\x81\x80abcd' },
  'a request behind it': { behind: 'GET /s/echo HTTP/1.1\r\nHost: x\r\n\r\n' },
  'two hosts': { more: ['Host: other'] },
  'a path that climbs': { first: 'GET /s/..%2fadmin HTTP/1.1' },
}
t.test(
  'WebSocket handshake: an invalid one gets one error response and no upstream call',
  async t => {
    for (const [name, { headers = {}, first, more = [], behind, status = 400 }] of Object.entries(
      BAD,
    )) {
      const head = [first ?? 'GET /s/echo HTTP/1.1', ...lines(headers), ...more]
      const [reply, second] = replies(await shoot(head, behind))
      t.equal(reply?.status, status, name)
      t.equal(reply?.headers.connection, 'close', `${name}: says that it closes`)
      t.match(JSON.parse(reply?.body ?? ''), { error: { code: /^[A-Z_]+$/ } })
      t.equal(second, undefined, `${name}: nothing more`)
    }
    t.same(await upstream.seen('connection'), [])
  },
)

t.test('WebSocket handshake: a browser’s handshake and the headers of its response', async t => {
  const client = await rawClient({ port })
  const extra = { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' }
  const head = ['GET /s/echo?x=1 HTTP/1.1', ...lines({ ...extra, Origin: 'https://a.test' })]
  await client.send(`${head.join('\r\n')}\r\n\r\n`)
  const text = await client.until('\r\n\r\n')
  t.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  t.match(text, /\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/, 'RFC 6455 §1.3')
  t.notMatch(text, /extensions|deflate/i)
  const request = await upstream.until('request', ({ script }) => script === 'echo')
  t.equal(request.head.target, '/s/echo?x=1')
  t.notMatch(request.head.raw, /^origin:/im)
  client.close()
})

t.test('WebSocket handshake: a client abort cancels the upstream dial', async t => {
  await upstream.script('silent', [{ do: 'stall' }])
  const client = await rawClient({ port })
  await client.send(`GET /s/silent HTTP/1.1\r\n${lines({}).join('\r\n')}\r\n\r\n`)
  const { connection } = await upstream.until('request', ({ script }) => script === 'silent')
  client.close()
  await upstream.until('close', event => event.connection === connection)
  while (core.server.openRequests > 0) await new Promise(resolve => setImmediate(resolve))
  t.pass('the upstream connection is closed')
})
