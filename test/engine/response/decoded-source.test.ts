/** Answers that an upstream compresses without being asked: decoded as they arrive, bounded. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import zlib from 'node:zlib'
import t, { type Test } from 'tap'
import type { Document } from '../../../engine/plugin.ts'
import { startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'

type Encode = (bytes: Buffer) => Buffer
const CODINGS: Readonly<Record<string, Encode>> = {
  gzip: zlib.gzipSync,
  'x-gzip': zlib.gzipSync,
  GZIP: zlib.gzipSync,
  deflate: zlib.deflateSync,
  br: zlib.brotliCompressSync,
  zstd: zlib.zstdCompressSync,
  'gzip, br': bytes => zlib.brotliCompressSync(zlib.gzipSync(bytes)),
  'deflate, identity, gzip': bytes => zlib.gzipSync(zlib.deflateRawSync(bytes)),
}
interface Answer {
  readonly coding: string
  readonly body: Buffer
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}
/** An upstream that gives one answer, with its length; the reply of the gateway. */
const ask = async (t: Test, answer: Answer, init: RequestInit = {}) => {
  const url = await startHttpUpstream(t, (request, response) => {
    t.equal(request.headers['accept-encoding'], undefined, 'no coding is asked for')
    const { coding, body, status = 200, headers } = answer
    response.writeHead(status, {
      'content-type': 'text/plain',
      'content-encoding': coding,
      'content-length': body.length,
      etag: '"own"',
      'accept-ranges': 'bytes',
      ...headers,
    })
    response.end(body)
  })
  const core = await startTestServer(t, {}, {
    upstreams: { up: { url } },
    routes: [{ path: 'GET|HEAD|POST /x', upstream: 'up' }],
  } as unknown as Document)
  const reply = await fetch(`${core.url}/x`, {
    ...init,
    headers: { 'accept-encoding': 'identity', ...init.headers },
  })
  return { reply, bytes: Buffer.from(await reply.arrayBuffer().catch(() => new ArrayBuffer(0))) }
}
const text = Buffer.from('All that an upstream has written, in lines.\n'.repeat(5_000))

for (const [coding, encode] of Object.entries(CODINGS))
  t.test(`coded answers: ${coding} is decoded`, async t => {
    const { reply, bytes } = await ask(t, { coding, body: encode(text) })
    t.equal(reply.status, 200)
    t.equal(bytes.length, text.length)
    t.ok(bytes.equals(text))
    for (const name of ['content-encoding', 'accept-ranges']) t.notOk(reply.headers.has(name), name)
    t.equal(reply.headers.get('etag'), 'W/"own"')
    const empty = await ask(t, { coding, body: Buffer.alloc(0) })
    t.equal(empty.reply.status, 200, 'a body without bytes')
    t.equal(empty.bytes.length, 0)
    const error = await ask(t, { coding, body: encode(Buffer.from('no')), status: 404 })
    t.same([error.reply.status, String(error.bytes)], [404, 'no'])
  })

t.test('coded answers: HEAD, parts and `identity` pass unchanged', async t => {
  const gzip = zlib.gzipSync(text)
  const head = await ask(t, { coding: 'gzip', body: gzip }, { method: 'HEAD' })
  t.same([head.reply.status, head.bytes.length], [200, 0])
  const plain = await ask(t, { coding: 'identity', body: text })
  t.ok(plain.bytes.equals(text))
  const part = gzip.subarray(0, 100)
  const headers = { 'content-range': `bytes 0-99/${gzip.length}` }
  const coded = { 'accept-encoding': 'gzip;q=0' }
  const partial = ask(t, { coding: 'br', body: part, status: 206, headers }, { headers: coded })
  const { reply } = await partial
  t.equal(reply.headers.get('content-encoding'), 'br')
  t.equal(reply.headers.get('content-length'), '100')
})

t.test('coded answers: what cannot be decoded is a 502', async t => {
  const gzip = zlib.gzipSync(text)
  const cases: readonly (readonly [coding: string, body: Buffer, code: string])[] = [
    ['compress', text, 'CODING_UNKNOWN'],
    ['constructor', text, 'CODING_UNKNOWN'],
    ['gzip, snappy', gzip, 'CODING_UNKNOWN'],
    ['gzip, gzip, gzip, gzip, gzip', gzip, 'CODING_UNKNOWN'],
    ['gzip', text, 'CODING_CORRUPT'],
    ['br', text, 'CODING_CORRUPT'],
    ['zstd', text, 'CODING_CORRUPT'],
    ['gzip', zlib.gzipSync('x').subarray(0, 15), 'CODING_CORRUPT'],
  ]
  for (const [coding, body, code] of cases) {
    const headers = { 'content-type': 'application/json' }
    const { reply, bytes } = await ask(t, { coding, body, headers })
    t.equal(reply.status, 502, coding)
    t.match(String(bytes), code, coding)
  }
})

t.test('coded answers: a cut answer never looks complete', async t => {
  const noise = createHash('sha512').update('seed').digest()
  const long = Buffer.concat(
    Array.from({ length: 4_000 }, (_, index) =>
      createHash('sha512').update(noise).update(String(index)).digest(),
    ),
  )
  for (const [coding, encode] of Object.entries(CODINGS)) {
    const body = encode(long)
    const { bytes } = await ask(t, { coding, body: body.subarray(0, body.length - 9) })
    t.not(bytes.length, long.length, `${coding}: ${bytes.length} bytes`)
  }
})

t.test('coded answers: a bomb is cut off in bounded memory', async t => {
  const gzip = zlib.gzipSync(Buffer.alloc(512 * 1024 * 1024))
  const bombs: Readonly<Record<string, Buffer>> = {
    gzip,
    'gzip, gzip': zlib.gzipSync(gzip),
    br: zlib.brotliCompressSync(Buffer.alloc(256 * 1024 * 1024), {
      params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 },
    }),
  }
  for (const [coding, body] of Object.entries(bombs)) {
    let size = 0
    const url = await startHttpUpstream(t, (_, response) => {
      response.writeHead(200, { 'content-encoding': coding, 'content-length': body.length })
      response.end(body)
    })
    const core = await startTestServer(t, {}, {
      upstreams: { up: { url } },
      routes: [{ path: 'GET /x', upstream: 'up' }],
    } as unknown as Document)
    const read = async () => {
      const reply = await fetch(`${core.url}/x`, { headers: { 'accept-encoding': 'identity' } })
      for await (const chunk of reply.body ?? []) size += chunk.length
    }
    await t.rejects(read(), coding)
    t.ok(size <= 64 * 1024 * 1024, `${coding}: ${size} bytes passed`)
  }
})

const STREAMS = {
  gzip: () => zlib.createGzip(),
  deflate: () => zlib.createDeflate(),
  br: () => zlib.createBrotliCompress(),
  zstd: () => zlib.createZstdCompress(),
} as const
const FLUSH = {
  br: zlib.constants.BROTLI_OPERATION_FLUSH,
  zstd: zlib.constants.ZSTD_e_flush,
  gzip: zlib.constants.Z_SYNC_FLUSH,
  deflate: zlib.constants.Z_SYNC_FLUSH,
} as const
for (const coding of ['gzip', 'deflate', 'br', 'zstd'] as const)
  t.test(`coded answers: each event of a ${coding} stream passes at once`, async t => {
    const EVENTS = 20
    const coder = STREAMS[coding]()
    const url = await startHttpUpstream(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding })
      coder.pipe(response)
      send(0)
    })
    const send = (index: number): void => {
      coder.write(`data: ${index}\n\n`)
      coder.flush(FLUSH[coding])
    }
    const core = await startTestServer(t, {}, {
      upstreams: { up: { url } },
      routes: [{ path: 'GET /x', upstream: 'up' }],
    } as unknown as Document)
    const reply = await fetch(`${core.url}/x`, { headers: { 'accept-encoding': 'identity' } })
    let received = ''
    let index = 0
    // The upstream sends an event only once the client has the one before.
    for await (const chunk of reply.body ?? []) {
      received += Buffer.from(chunk)
      if (!received.endsWith(`data: ${index}\n\n`)) continue
      if (++index < EVENTS) send(index)
      else {
        coder.end()
        await once(coder, 'end')
      }
    }
    t.equal(received, Array.from({ length: EVENTS }, (_, index) => `data: ${index}\n\n`).join(''))
  })
