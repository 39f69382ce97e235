/** A request's body: read whole or streamed, within its limits, inflated, refused early. */
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import zlib from 'node:zlib'
import t, { type Test } from 'tap'
import type { BodyRules } from '../../../engine/request/body.ts'
import { BodyPace } from '../../../engine/request/body-pace.ts'
import { IncomingRequest } from '../../../engine/request/incoming-request.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const CODINGS = ['gzip', 'deflate', 'br', 'zstd'] as const
const COMPRESS: Readonly<Record<(typeof CODINGS)[number], (bytes: Buffer) => Buffer>> = {
  gzip: bytes => zlib.gzipSync(bytes),
  deflate: bytes => zlib.deflateSync(bytes),
  br: bytes => zlib.brotliCompressSync(bytes),
  zstd: bytes => zlib.zstdCompressSync(bytes),
}
const RULES: BodyRules = { limit: 1_000, encodings: CODINGS, inflatedLimit: 2_000 }
const CHUNKED = { 'transfer-encoding': 'chunked' }

const arrange = (t: Test, headers: Record<string, string> = CHUNKED, rules = RULES) => {
  const pace = new BodyPace(1, 60_000)
  t.teardown(() => pace.close())
  const incoming = new PassThrough()
  const head = { path: '/x', search: 'a=1&a=2', headers, encrypted: true }
  return {
    incoming,
    body: new IncomingRequest(incoming as unknown as IncomingMessage, head, rules, pace),
  }
}
/** A body that arrives in these chunks. */
const createBody = (t: Test, chunks: readonly (string | Buffer)[], ...more: readonly unknown[]) => {
  const { incoming, body } = arrange(t, ...(more as [Record<string, string>?, BodyRules?]))
  for (const chunk of chunks) incoming.write(chunk)
  incoming.end()
  return body
}
const readStream = async (body: IncomingRequest): Promise<string> => {
  const parts: Uint8Array[] = []
  for await (const part of body.stream()) parts.push(part)
  return Buffer.concat(parts).toString()
}
const encodedHeaders = (coding: string): Record<string, string> => ({
  ...CHUNKED,
  'content-encoding': coding,
})
/** The ways to read a body. */
const READERS: Readonly<Record<string, (body: IncomingRequest) => Promise<string>>> = {
  'read whole': async body => Buffer.from(await body.bytes()).toString(),
  streamed: readStream,
  'prepared, then streamed': async body => {
    await body.body.prepare()
    return readStream(body)
  },
  'prepared, then read whole': async body => {
    await body.body.prepare()
    return Buffer.from(await body.bytes()).toString()
  },
}
const TOO_LARGE = { code: 'BODY_TOO_LARGE', status: 413, message: /larger than 1000 bytes/ }

for (const [reader, read] of Object.entries(READERS)) {
  t.test(`request body, ${reader}: has all bytes, in any number of chunks`, async t => {
    t.equal(await read(createBody(t, ['one'])), 'one')
    t.equal(await read(createBody(t, ['one', 'two', 'three'])), 'onetwothree')
    t.equal(await read(createBody(t, [])), '')
    t.equal(await read(createBody(t, ['x'.repeat(1_000)])), 'x'.repeat(1_000), 'up to the limit')
    t.equal(await read(createBody(t, ['one'], { 'content-length': '3' })), 'one')
  })

  t.test(
    `request body, ${reader}: too large by Content-Length is refused before a byte is read`,
    async t => {
      const { incoming, body } = arrange(t, { 'content-length': '1001' })
      await t.rejects(read(body), TOO_LARGE)
      t.equal(incoming.readableFlowing, null, 'no byte was read')
    },
  )

  t.test(
    `request body, ${reader}: too large by count is refused at the chunk that exceeds the limit`,
    async t => {
      const { incoming, body } = arrange(t)
      const reading = read(body)
      incoming.write('x'.repeat(600))
      incoming.write('x'.repeat(401))
      await t.rejects(reading, TOO_LARGE)
      incoming.write('late')
    },
  )

  t.test(`request body, ${reader}: a coding that the route does not list is refused`, async t => {
    const none = { ...RULES, encodings: [] }
    for (const coding of [...CODINGS, 'compress', 'gzip, gzip', 'constructor', ''])
      await t.rejects(read(createBody(t, ['x'], encodedHeaders(coding), none)), {
        code: 'BODY_ENCODING',
        status: 415,
        message: `A body with Content-Encoding "${coding}" is not accepted here.`,
      })
    t.equal(await read(createBody(t, ['x'], encodedHeaders('identity'), none)), 'x')
  })

  for (const coding of CODINGS) {
    t.test(`request body, ${reader}: ${coding} is inflated, in any chunks`, async t => {
      const text = 'inflate '.repeat(200)
      const compressedBytes = COMPRESS[coding](Buffer.from(text))
      t.equal(await read(createBody(t, [compressedBytes], encodedHeaders(coding))), text)
      const bytes = Array.from(compressedBytes, byte => Buffer.of(byte))
      t.equal(await read(createBody(t, bytes, encodedHeaders(coding))), text, 'byte by byte')
    })

    t.test(`request body, ${reader}: ${coding} beyond its inflated limit is refused`, async t => {
      const compressedBytes = COMPRESS[coding](Buffer.alloc(1_000_000))
      const limit = compressedBytes.length
      const rules = { ...RULES, limit }
      await t.rejects(read(createBody(t, [compressedBytes], encodedHeaders(coding), rules)), {
        code: 'BODY_BOMB',
        status: 413,
        message: /inflates to more than 2000 bytes/,
      })
      const whole = { ...rules, inflatedLimit: 1_000_000 }
      t.equal(
        (await read(createBody(t, [compressedBytes], encodedHeaders(coding), whole))).length,
        1_000_000,
      )
      const small = { ...whole, limit: limit - 1 }
      await t.rejects(
        read(createBody(t, [compressedBytes], encodedHeaders(coding), small)),
        { code: 'BODY_TOO_LARGE' },
        'the limit counts compressed bytes',
      )
    })

    t.test(
      `request body, ${reader}: ${coding} that is invalid or ends early is refused`,
      async t => {
        const compressedBytes = COMPRESS[coding](Buffer.from('some text that is long enough'))
        for (const wrong of [Buffer.from('this is no such thing'), compressedBytes.subarray(0, -3)])
          await t.rejects(read(createBody(t, [wrong], encodedHeaders(coding))), {
            code: 'BODY_CORRUPT',
            status: 400,
            message: `The request body is not valid ${coding}.`,
          })
      },
    )
  }

  t.test(
    `request body, ${reader}: a client that disconnects midway is BODY_CUT`,
    { timeout: scaled(5_000) },
    async t => {
      for (const headers of [CHUNKED, encodedHeaders('gzip')]) {
        const { incoming, body } = arrange(t, headers)
        const reading = read(body)
        incoming.write(zlib.gzipSync('half').subarray(0, 10))
        setImmediate(() => incoming.destroy(new Error('aborted')))
        await t.rejects(reading, { code: 'BODY_CUT', status: 400 })
      }
    },
  )
}

t.test('request body: is read and parsed once for all callers', async t => {
  const body = createBody(t, ['{"a":', '[1,2]}'])
  const bytes = body.bytes()
  t.equal(body.bytes(), bytes)
  const [json, again] = await Promise.all([body.json(), body.json()])
  t.same(json, { a: [1, 2] })
  t.equal(again, json, 'one object for concurrent readers')
  t.equal(await body.json(), await body.json(), 'parsed once')
  t.equal(body.body.whole, await bytes)
  t.equal(await readStream(body), '{"a":[1,2]}', 'a stream yields the same bytes')
  t.equal(body.body.byteCount, 11)
  t.ok(body.body.arrivedAt > 0)
})

t.test('request body: a streamed body cannot be read again', async t => {
  const body = createBody(t, ['text'])
  t.equal(body.body.isStreamed, false)
  t.equal(await readStream(body), 'text')
  t.equal(body.body.isStreamed, true)
  await t.rejects(body.bytes(), /already taken as a stream/)
  t.equal(body.body.whole, undefined)
})

t.test('request body: without a body bytes are empty and JSON is refused', async t => {
  const { body } = arrange(t, {})
  t.equal(body.body.exists, false)
  t.equal((await body.bytes()).length, 0)
  await t.rejects(body.json(), { code: 'BODY_EMPTY', status: 400 })
})

t.test('request body: invalid JSON is refused at every call', async t => {
  const body = createBody(t, ['{"a":1'])
  await t.rejects(body.json(), { code: 'BODY_NOT_JSON' })
  await t.rejects(body.json(), { code: 'BODY_NOT_JSON' })
})

t.test('request body: an unread rest ends the connection, unless it is small', async t => {
  const unread = (headers: Record<string, string>): boolean => arrange(t, headers).body.body.unread
  t.equal(unread({}), false)
  t.equal(unread({ 'content-length': '65536' }), false)
  t.equal(unread({ 'content-length': '65537' }), true)
  t.equal(unread(CHUNKED), true, 'also with an unknown length')
  const { incoming, body } = arrange(t, { 'content-length': '7' })
  const reading = body.bytes()
  incoming.write('half')
  await new Promise(resolve => setImmediate(resolve))
  t.equal(body.body.unread, true, 'a partly read body occupies the connection')
  incoming.end('end')
  await reading
  Object.assign(incoming, { complete: true })
  t.equal(body.body.unread, false)
})

t.test('incoming request: has method, path, query and client address', async t => {
  const pace = new BodyPace(1, 1)
  pace.close()
  const incoming = { method: 'PUT', socket: { remoteAddress: '10.0.0.1' } }
  const head = { path: '/x', search: 'a=1&a=2&b=%20', headers: {}, encrypted: true }
  const request = new IncomingRequest(incoming as unknown as IncomingMessage, head, RULES, pace)
  t.match(request, { method: 'PUT', path: '/x', search: 'a=1&a=2&b=%20' })
  t.same(request.query.getAll('a'), ['1', '2'])
  t.equal(request.query, request.query)
  t.equal(request.query.get('b'), ' ')
  t.same(request.client, { address: '10.0.0.1', encrypted: true })
  const closedMessage = { socket: {} } as unknown as IncomingMessage
  t.match(new IncomingRequest(closedMessage, head, RULES, pace), {
    method: 'GET',
    client: { address: '' },
  })
})

t.test('json: of large bodies that end at once, one is parsed in a turn of the loop', async t => {
  const text = JSON.stringify('a'.repeat(2 ** 20))
  const rules = { ...RULES, limit: 2 ** 21 }
  const bodies = Array.from({ length: 4 }, () => createBody(t, [text], CHUNKED, rules))
  let turn = 0
  const count = (): void => {
    turn++
    counter = setImmediate(count)
  }
  let counter = setImmediate(count)
  t.teardown(() => clearImmediate(counter))
  const turns = await Promise.all(
    bodies.map(async body => {
      t.equal(await body.json(), JSON.parse(text))
      return turn
    }),
  )
  t.equal(new Set(turns).size, bodies.length, turns.join())
})
