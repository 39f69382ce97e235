/** The start of a streamed body is read before it is sent; small pieces are joined. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { largeTurn } from '../../../engine/kit.ts'
import { BodyPace } from '../../../engine/request/body-pace.ts'
import { Pieces } from '../../../engine/request/bytes.ts'
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
  const pieces = new Pieces([Buffer.from('start ')], Number.NaN)
  for (const letter of text.slice(0, 600)) pieces.add(Buffer.from(letter))
  t.ok(pieces.list.length < 300, 'most are joined')
  t.equal(String(pieces.take()), `start ${text.slice(0, 600)}`)
  t.same(pieces.list, [], 'they are forgotten')
})

t.test('request body: a large body that says its size is copied as it comes', t => {
  const bytes = randomBytes(3_000_000)
  for (const total of [bytes.length, Number.NaN]) {
    const pieces = new Pieces([bytes.subarray(0, 70_001)], total)
    for (let at = 70_001; at < bytes.length; at += 65_537)
      pieces.add(bytes.subarray(at, at + 65_537))
    t.equal(pieces.list.length === 1, total === bytes.length)
    t.ok(pieces.take().equals(bytes))
  }
  t.end()
})

/** Bodies of 4 MiB, all of which is there. */
const createLarge = (t: Test, limit?: number) => {
  const { incoming, body } = arrange(t, limit)
  for (let index = 0; index < 64; index++) incoming.write(randomBytes(65_536))
  incoming.end()
  return { incoming, body: body.body }
}
t.test('request body: large bodies at once are read in turns of the event loop', async t => {
  const bodies = Array.from({ length: 4 }, () => createLarge(t, 5_000_000).body)
  const reading = Promise.all(bodies.map(body => body.bytes()))
  const sizes: number[] = []
  const countOf = () => bodies.reduce((sum, { byteCount }) => sum + byteCount, 0)
  for (let before = 0; before < 4 * 2 ** 22; ) {
    await new Promise(resolve => setImmediate(resolve))
    const count = countOf()
    if (count > before) sizes.push(count - before)
    before = count
  }
  t.ok(sizes.length > 8, `turns: ${sizes.length}`)
  t.ok(Math.max(...sizes) <= 4 * 2 ** 20, 'in the first turn each has its first MiB')
  for (const bytes of await reading) t.equal(bytes.length, 2 ** 22)
})

t.test('request body: a large body that waits for its turn can be refused', async t => {
  const { incoming, body } = createLarge(t, 5_000_000)
  const reading = body.bytes()
  while (!incoming.isPaused()) await new Promise(resolve => process.nextTick(resolve))
  body.refuse(new Error('too slow'))
  await t.rejects(reading, { message: 'too slow' })
  await largeTurn()
  t.equal(incoming.isPaused(), true, 'nothing more is read')
  await t.rejects(createLarge(t, 2_000_000).body.bytes(), { code: 'BODY_TOO_LARGE' })
})
