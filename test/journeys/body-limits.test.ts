/** Request bodies that are too large, too deep, too slow or malformed: refused before they use
 *  memory or reach the upstream. */
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { LONG, scaled } from '../helpers/long.ts'
import { growthDuring } from '../helpers/memory.ts'
import { rawClient, replies } from '../helpers/raw.ts'
import { startUpstream } from '../helpers/upstream.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  inside: !LONG, // packing the bombs would starve a gateway in the same process
  files: { 'any.json': '{ "type": "object", "properties": { "n": { "type": "number" } } }' },
  settings: 'timeouts: { body_rate: 1KiB }',
  routes: `
pipeline: [errors, validate]
upstreams: { raw: { url: '${upstream.url}' } }
routes:
  - { path: 'POST /s/{name}', upstream: raw, body: { limit: 1MiB } }
  - { path: 'POST /packed/s/{name}', rewrite: '/s/{name}', upstream: raw, body: { limit: 1MiB, encodings: [gzip, deflate, br, zstd], inflated: 2MiB } }
  - { path: 'POST /checked/s/{name}', rewrite: '/s/{name}', upstream: raw, validate: any.json, body: { limit: 8MiB } }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const MIB = 1024 * 1024
type RequestBody = string | Uint8Array<ArrayBuffer>
const JSON_TYPE = { 'content-type': 'application/json' }
const post = (
  path: string,
  body: RequestBody,
  headers: Record<string, string> = JSON_TYPE,
): Promise<Response> => fetch(`${gateway.url}${path}`, { method: 'POST', body, headers })

const checkRefused = async (
  t: Test,
  status: number,
  response2: Promise<Response>,
): Promise<void> => {
  const response = await response2
  const text = await response.text()
  t.equal(response.status, status, text.slice(0, 120))
  t.match(JSON.parse(text), { error: { message: String, type: String } }, 'in the client’s dialect')
}
const checkNoUpstreamCall = async (t: Test): Promise<void> => {
  t.strictSame(await upstream.seen('request'), [], 'nothing reached the upstream')
}
t.beforeEach(() => upstream.forget())

const isAnswered = (received: string): boolean => replies(received)[0]?.whole === true

t.test('body limit: 413 by Content-Length before the body is sent', async t => {
  const client = await rawClient(gateway)
  await client.send(
    `POST /s/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${MIB + 1}\r\n\r\n`,
  )
  await client.until(isAnswered)
  client.close()
  t.equal(replies(client.text())[0]?.status, 413)
  await checkNoUpstreamCall(t)
})

t.test('body limit: 413 by counting chunked bodies', async t => {
  for (const type of ['application/json', 'application/octet-stream'])
    await t.test(type, async t => {
      const client = await rawClient(gateway)
      await client.send(
        `POST /s/echo HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      )
      const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`
      for (let n = 0; n < 40 && !client.over(); n++) await client.send(piece)
      await client.until(isAnswered)
      client.close()
      t.equal(replies(client.text())[0]?.status, 413)
      const whole = (await upstream.seen('body')).filter(event => event.body.whole)
      t.strictSame(whole, [], 'nothing whole reached the upstream')
    })
})

t.test('body limit: a body of exactly the limit passes', async t => {
  const response = await post('/s/echo', Buffer.alloc(MIB, ' '))
  t.match(await response.json(), { body: { length: MIB } })
})

const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const PACKERS = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: (body: string | Buffer) => brotliCompressSync(body, QUICK),
  zstd: zstdCompressSync,
}
for (const [encoding, pack] of Object.entries(PACKERS))
  t.test(`content encoding: ${encoding} bodies`, async t => {
    const headers = { ...JSON_TYPE, 'content-encoding': encoding }
    await t.test('415 unless the route accepts the encoding', async t => {
      await checkRefused(t, 415, post('/s/echo', pack('{"n":1}'), headers))
      await checkNoUpstreamCall(t)
    })
    await t.test('inflated on a route that accepts the encoding', async t => {
      const response = await post('/packed/s/echo', pack('{"n":1}'), headers)
      t.equal(response.status, 200)
      const [received] = await upstream.seen('body')
      t.equal(Buffer.from(received?.body.bytes ?? []).toString(), '{"n":1}')
      const [request] = await upstream.seen('request')
      t.notOk(request?.head.headers.some(([name]) => name.toLowerCase() === 'content-encoding'))
    })
    await t.test('413 when the inflated size exceeds the limit', async t => {
      const bomb = pack(Buffer.alloc(scaled(32, 1024) * MIB))
      const growth = await growthDuring(gateway.pid, () =>
        checkRefused(t, 413, post('/packed/s/echo', bomb, headers)),
      )
      t.ok(growth < 20 * MIB, `with a growth of ${(growth / MIB).toFixed(1)} MiB`)
      await checkNoUpstreamCall(t)
    })
    await t.test('400 when the bytes do not match the encoding', async t => {
      await checkRefused(t, 400, post('/packed/s/echo', '{"n":1}', headers))
      await checkRefused(
        t,
        400,
        post('/packed/s/echo', pack('{"n":1}'.repeat(1000)).subarray(0, -12), headers),
      )
      await checkNoUpstreamCall(t)
    })
  })

t.test('content encoding: unknown and stacked encodings are 415', async t => {
  for (const encoding of ['compress', 'gzip, gzip', 'gzip,br', 'x-gzip', '', 'identity, gzip'])
    await t.test(JSON.stringify(encoding), t =>
      checkRefused(
        t,
        415,
        post('/packed/s/echo', gzipSync('{}'), { ...JSON_TYPE, 'content-encoding': encoding }),
      ),
    )
  await checkNoUpstreamCall(t)
})

const nestedArrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const keys = (count: number): string =>
  `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',')}}`
const BAD_JSON: Readonly<Record<string, RequestBody>> = {
  'an open brace': '{"n":1',
  'a trailing word': '{"n":1} x',
  'two values': '{"n":1}{"n":2}',
  'single quotes': "{'n':1}",
  'a trailing comma': '{"n":1,}',
  NaN: '{"n":NaN}',
  'a comment': '{"n":1/* */}',
  nothing: '',
  'only spaces': '   ',
  'half a character': Buffer.from([0x7b, 0x22, 0xc3, 0x22, 0x3a, 0x31, 0x7d]),
  'depth 65': `{"a":${nestedArrays(65)}}`,
  'depth 1,000,000': `{"a":${nestedArrays(1_000_000)}}`,
  'depth 1,000,000 never closed': '['.repeat(1_000_000),
  'an object of depth 100,000': '{"a":'.repeat(100_000),
  '10,001 keys': keys(10_001),
  '500,000 keys': keys(500_000),
  'a key twice': '{"n":1,"n":2}',
  'a key twice, once escaped': '{"n":1,"\\u006e":2}',
  'a key twice, inside': '{"a":{"b":1,"b":2}}',
  __proto__: '{"__proto__":{"admin":true}}',
  'escaped __proto__': '{"\\u005f_proto__":{"admin":true}}',
  constructor: '{"constructor":{"prototype":{"admin":true}}}',
}
t.test('JSON body: malformed and hostile JSON is 400', async t => {
  for (const [name, body] of Object.entries(BAD_JSON))
    await t.test(name, t => checkRefused(t, 400, post('/checked/s/echo', body)))
  await checkNoUpstreamCall(t)
  t.test('values just inside the limits pass', async t => {
    for (const body of [
      `{"a":${nestedArrays(60)}}`,
      keys(9_999),
      '{"n":1}',
      '{"a":"\\u006e","b":"__proto__"}',
    ])
      t.equal((await post('/checked/s/echo', body)).status, 200, body.slice(0, 30))
  })
})

/** A JSON body under any spelling of its type must be validated or refused, and never passes
 *  unvalidated. */
const SPELLINGS = [
  'application/json',
  'APPLICATION/JSON',
  'application/json;',
  'application/json; charset=utf-8',
  'application/json;charset="utf-8"',
  'application/json ;x=y',
  'application/json\t; x=y',
  ' application/json',
  'application/json ',
  'application/JSON; a=b; c=d',
  'application/json, text/plain',
  'text/plain, application/json',
  'application/json/',
  'application//json',
  'application/json5',
  'application/jsonp',
  'application/x-json',
  'application/vnd.api+json',
  'application/problem+json',
  'text/json',
  'text/plain',
  'text/plain;application/json',
  'application/json\u00a0',
  'application/json;charset=utf-16',
  'application/json;charset=utf-7',
  'json',
  '*/*',
  'application/*',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'application/json;boundary="',
]
t.test(
  `JSON body: ${SPELLINGS.length} spellings of its content type cannot bypass validation`,
  async t => {
    for (const type of [...SPELLINGS, undefined]) {
      const client = await rawClient(gateway)
      const line = type === undefined ? '' : `Content-Type: ${type}\r\n`
      const body = '{"n":"not a number"}'
      await client.send(
        `POST /checked/s/echo HTTP/1.1\r\nHost: x\r\n${line}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      await client.closed
      const status = replies(client.text())[0]?.status
      t.ok(status === 400 || status === 415, `${JSON.stringify(type)}: ${status}`)
    }
    await checkNoUpstreamCall(t)
  },
)

t.test(
  'body limit: Expect: 100-continue with a too large length is refused before the body',
  async t => {
    const client = await rawClient(gateway)
    await client.send(
      `POST /s/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${MIB + 1}\r\n\r\n`,
    )
    await client.until('\r\n\r\n')
    t.match(client.text(), /^HTTP\/1.1 413 /, 'no 100 Continue first')
    client.close()
  },
)
