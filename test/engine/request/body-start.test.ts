/** The start of a streamed body is read before it is sent; small pieces are joined. */
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { BodyPace } from '../../../engine/request/body-pace.ts'
import { joinFrom } from '../../../engine/request/bytes.ts'
import { IncomingRequest } from '../../../engine/request/incoming-request.ts'

const arrange = (t: Test, limit = 1_000_000) => {
  const pace = new BodyPace(1, 60_000)
  t.teardown(() => pace.close())
  const incoming = new PassThrough()
  const headers = { 'transfer-encoding': 'chunked' }
  const head = { path: '/x', search: '', headers, encrypted: false }
  const rules = { limit, encodings: [], inflatedLimit: 0 }
  return {
    incoming,
    body: new IncomingRequest(incoming as unknown as IncomingMessage, head, rules, pace),
  }
}
const createBody = (t: Test, chunks: readonly string[]) => {
  const { incoming, body } = arrange(t)
  for (const chunk of chunks) incoming.write(chunk)
  incoming.end()
  return body
}
const readStream = async (body: IncomingRequest): Promise<string> => {
  const parts: Uint8Array[] = []
  for await (const part of body.stream()) parts.push(part)
  return Buffer.concat(parts).toString()
}

t.test('request body: a streamed body is sent when 64 KiB have arrived', async t => {
  const halves = ['a'.repeat(40_000), 'b'.repeat(40_000), 'c'.repeat(40_000)] as const
  for (const read of [readStream, async (body: IncomingRequest) => String(await body.bytes())]) {
    const { incoming, body } = arrange(t)
    let firstReads = 0
    body.body.onFirstRead = () => firstReads++
    let ready = false
    const preparation = body.body.prepare()?.then(() => {
      ready = true
    })
    incoming.write(halves[0])
    await new Promise(resolve => setImmediate(resolve))
    t.equal(ready, false, 'not before')
    incoming.write(halves[1])
    await preparation
    t.match(body, { body: { whole: undefined, isStreamed: false, byteCount: 80_000 } })
    incoming.end(halves[2])
    t.equal(await read(body), halves.join(''))
    t.equal(firstReads, 1)
  }
})

t.test('request body: a body that ends before 64 KiB can be sent again', async t => {
  const body = createBody(t, ['one', 'two'])
  await body.body.prepare()
  t.equal(String(body.body.whole), 'onetwo')
  t.equal(await readStream(body), 'onetwo')
  t.match(body.body, { isStreamed: false })
  t.equal(body.body.prepare(), undefined, 'the body is prepared already')
})

t.test(
  'request body: breaking off or exceeding the limit behind the first 64 KiB is refused',
  async t => {
    const { incoming, body } = arrange(t, 70_000)
    incoming.write('a'.repeat(65_536))
    await body.body.prepare()
    const reading = readStream(body)
    incoming.destroy(new Error('aborted'))
    await t.rejects(reading, { code: 'BODY_CUT' })
    const large = arrange(t, 70_000)
    large.incoming.write('a'.repeat(65_536))
    await large.body.body.prepare()
    large.incoming.write('a'.repeat(10_000))
    await t.rejects(readStream(large.body), { code: 'BODY_TOO_LARGE' })
  },
)

t.test('request body: thousands of one-byte pieces are joined', async t => {
  const text = 'tiny pieces'.repeat(80)
  t.equal(String(await createBody(t, [...text]).bytes()), text)
  const parts = Array.from(text.slice(0, 300), letter => Buffer.from(letter))
  t.equal(joinFrom(parts, 0), 1)
  parts.push(Buffer.from('x'), Buffer.from('y'))
  t.equal(joinFrom(parts, 1), 2)
  t.same(parts.map(String), [text.slice(0, 300), 'xy'])
})
