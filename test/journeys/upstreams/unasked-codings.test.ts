/** Plain routes without a format: an answer in an unknown coding is a failed attempt, and the next
 *  target answers. */
import zlib from 'node:zlib'
import t from 'tap'
import type { Document } from '../../../engine/plugin.ts'
import { startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'

interface Answer {
  readonly status?: number
  readonly coding: string
  readonly body: Buffer | string
  readonly type?: string
}
let first: Answer = { coding: 'snappy', body: 'coded' }
let requests: string[] = []
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const target = request.url?.slice(1, 2) ?? ''
  requests.push(target)
  if (target !== 'a') return void response.end(`from ${target}`)
  const { status = 200, coding, body, type = 'text/plain' } = first
  response.writeHead(status, {
    'content-type': type,
    'content-encoding': coding,
    'content-length': Buffer.byteLength(body),
    'content-digest': 'sha-256=:AAAA:',
    'repr-digest': 'sha-256=:AAAA:',
    digest: 'sha-256=AAAA',
    vary: 'accept-encoding',
  })
  response.end(body)
})
const core = await startTestServer(t, {}, {
  upstreams: {
    a: { url: `${url}/a` },
    b: { url: `${url}/b` },
    keys: { url: `${url}/a`, key: ['k1', 'k2'] },
  },
  routes: [
    { path: 'GET|POST /both', upstream: ['a', 'b'], rewrite: '/' },
    { path: 'GET|POST /alone', upstream: 'a', rewrite: '/' },
    { path: 'POST /keys', upstream: 'keys', rewrite: '/' },
  ],
} as unknown as Document)
const ask = async (path: string, method = 'POST') => {
  requests = []
  const reply = await fetch(core.url + path, { method, ...(method === 'POST' && { body: 'x' }) })
  return { status: reply.status, headers: reply.headers, text: await reply.text() }
}

for (const coding of ['snappy', 'compress', 'gzip, lz4', 'constructor'])
  for (const method of ['GET', 'POST'])
    t.test(`unasked codings: ${method}, ${coding}: the next target answers`, async t => {
      first = { coding, body: 'coded' }
      t.match(await ask('/both', method), { status: 200, text: 'from b' })
      t.same(requests, ['a', 'b'])
      const alone = await ask('/alone', method)
      t.equal(alone.status, 502)
      t.match(alone.text, 'CODING_UNKNOWN')
      t.same(requests, ['a'])
    })

t.test('unasked codings: the next key is tried, and the last reply names the coding', async t => {
  first = { coding: 'snappy', body: 'coded' }
  const reply = await ask('/keys')
  t.equal(reply.status, 502)
  t.match(reply.text, 'CODING_UNKNOWN')
  t.same(requests, ['a', 'a'])
})

t.test('unasked codings: refusals and empty bodies do not fail an attempt', async t => {
  first = { coding: 'snappy', body: '' }
  t.match(await ask('/both'), { status: 200, text: '' })
  first = { coding: 'snappy', body: 'coded', status: 404 }
  await ask('/both')
  t.same(requests, ['a'])
})

t.test(
  'unasked codings: multipart answers are decoded, without digests of coded bytes',
  async t => {
    const text = '--x\r\ncontent-type: text/plain\r\n\r\nOne.\r\n--x--\r\n'
    for (const [coding, body] of [
      ['gzip', zlib.gzipSync(text)],
      ['br', zlib.brotliCompressSync(text)],
      ['zstd', zlib.zstdCompressSync(text)],
    ] as const) {
      first = { coding, body, type: 'multipart/mixed; boundary=x' }
      const reply = await ask('/both')
      t.equal(reply.text, text)
      t.equal(reply.headers.get('content-type'), 'multipart/mixed; boundary=x')
      for (const name of ['content-encoding', 'content-digest', 'repr-digest', 'digest'])
        t.equal(reply.headers.get(name), null, name)
      t.equal(reply.headers.get('vary'), 'accept-encoding')
    }
  },
)
