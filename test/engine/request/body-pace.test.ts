/** A body slower than the minimum pace is refused after its grace. Times are arguments. */
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { BodyPace } from '../../../engine/request/body-pace.ts'
import { IncomingRequest } from '../../../engine/request/incoming-request.ts'

const RATE = 1_000
const GRACE = 10_000
const RULES = { limit: 1_000_000, encodings: [], inflatedLimit: 1_000_000 }
const SLOW = { code: 'BODY_TOO_SLOW', status: 408 }

const arrange = (t: Test) => {
  const pace = new BodyPace(RATE, GRACE)
  t.teardown(() => pace.close())
  const incoming = new PassThrough()
  const headers = { 'content-length': '500000' }
  const head = { path: '/', search: '', headers, encrypted: false }
  const body = new IncomingRequest(incoming as unknown as IncomingMessage, head, RULES, pace)
  /** Checks the pace as if this many ms had passed since the body was first read. */
  const after = (ms: number): void => pace.check(body.body.startedAt + ms)
  return { incoming, body, after }
}
/** Resolves when the bytes have been read. */
const arrive = (incoming: PassThrough, bytes: number): Promise<void> =>
  new Promise(resolve => incoming.write(Buffer.alloc(bytes), () => setImmediate(resolve)))

t.test('body pace: a body read whole is refused when it is too slow after the grace', async t => {
  const { incoming, body, after } = arrange(t)
  const read = body.bytes()
  await arrive(incoming, 11_000)
  after(GRACE - 1)
  after(11_000)
  t.equal(body.body.byteCount, 11_000, 'fast enough so far')
  after(11_500)
  await t.rejects(read, SLOW, 'too slow after 11.5 s')
})

t.test('body pace: a streamed body is refused when it is too slow after the grace', async t => {
  const { incoming, body, after } = arrange(t)
  const reader = body.stream()[Symbol.asyncIterator]()
  const first = reader.next()
  await arrive(incoming, 500)
  await first
  const second = reader.next()
  after(GRACE - 1)
  await arrive(incoming, 1)
  t.equal((await second).value?.length, 1, 'the grace is not over')
  const third = reader.next()
  after(GRACE + 1)
  await t.rejects(third, SLOW)
})

t.test('body pace: the time of a slow reader does not count', async t => {
  const { incoming, body, after } = arrange(t)
  const reader = body.stream()[Symbol.asyncIterator]()
  const first = reader.next()
  await arrive(incoming, 500)
  await first
  after(1_000_000)
  const second = reader.next()
  await arrive(incoming, 1)
  t.equal((await second).value?.length, 1, 'the wait of the reader does not count')
  const third = reader.next()
  after(GRACE + 1)
  await t.rejects(third, SLOW, 'counts again while the reader waits')
})

t.test('body pace: a body that has ended is not checked', async t => {
  const { incoming, body, after } = arrange(t)
  const read = body.bytes()
  incoming.end(Buffer.alloc(10))
  t.equal((await read).length, 10)
  after(1_000_000)
  t.equal((await body.bytes()).length, 10)
})
