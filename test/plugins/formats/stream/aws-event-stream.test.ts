/** The event stream of AWS: published frames, any chunk boundaries, and damaged frames. */
import { crc32 } from 'node:zlib'
import t from 'tap'
import {
  AWS_FRAMING,
  CONTENT_TYPE,
  DAMAGED,
  EXCEPTION,
} from '../../../../plugins/formats/stream/aws-event-stream.ts'
import { CALLS, exception, FRAMES, RECORDED } from '../../../fixtures/upstream/converse.ts'
import fc from '../../../helpers/property.ts'

/** The events of a stream in chunks of these sizes. */
const read = (bytes: Uint8Array, sizes: readonly number[] = []) => {
  const splitter = AWS_FRAMING.createSplitter()
  const events: { name: string; data: string | undefined; payload: string }[] = []
  let at = 0
  const push = (end: number): void => {
    const piece = splitter.push(bytes.subarray(at, end))
    for (const { name, data, start, end } of piece ? AWS_FRAMING.eventsIn(piece) : [])
      events.push({ name, data, payload: Buffer.from(piece ?? []).toString('utf8', start, end) })
    at = end
  }
  for (const size of sizes) if (at < bytes.length) push(Math.min(at + size, bytes.length))
  if (at < bytes.length) push(bytes.length)
  if (splitter.take() !== undefined) throw new Error('an incomplete frame was read')
  return events
}
/** A frame with these headers and the payload `{}`. */
const withHeaders = (headers: Buffer): Buffer => {
  const frame = Buffer.alloc(headers.length + 18, '{}')
  frame.writeUInt32BE(frame.length, 0)
  frame.writeUInt32BE(headers.length, 4)
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8)
  headers.copy(frame, 12)
  frame.write('{}', 12 + headers.length)
  frame.writeUInt32BE(crc32(frame.subarray(0, frame.length - 4)), frame.length - 4)
  return frame
}
const text = (name: string, value: string): Buffer =>
  Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([7, 0, value.length]),
    Buffer.from(value),
  ])
const STREAM = Buffer.concat([...FRAMES, ...CALLS])
const WHOLE = read(STREAM)

t.test('AWS event stream: frames that AWS publishes for implementers', async t => {
  const json = "{'foo':'bar'}"
  for (const [hex, data] of [
    ['000000100000000005c248eb7d98c8ff', ''],
    ['0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936', json],
    [
      '0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1',
      json,
    ],
  ] as const) {
    const [event, ...others] = read(Buffer.from(hex, 'hex'))
    t.equal(event?.payload, data)
    t.not(event?.name, DAMAGED)
    t.same(others, [])
  }
})

t.test('AWS event stream: headers of every type, exceptions and errors', async t => {
  const values = [0, 1, 2, 3, 4, 5, 6, 8, 9].map(type => {
    const size = [0, 0, 1, 2, 4, 8, 2, 2, 8, 16][type] ?? 0
    return Buffer.from([1, 0x61, type, ...new Array<number>(size).fill(0)])
  })
  const known = Buffer.concat([...values, text(':message-type', 'event'), text(':event-type', 'x')])
  t.match(read(withHeaders(known)), [{ name: 'x', data: '{}' }])
  for (const broken of [
    Buffer.from([1, 0x61, 10]),
    Buffer.from([9, 0x61]),
    Buffer.from([1, 0x61, 7, 0]),
    Buffer.from([1, 0x61, 7, 0, 9, 0x61]),
    Buffer.from([1, 0x61, 5, 0]),
  ])
    t.match(read(withHeaders(broken)), [{ name: DAMAGED }], broken.toString('hex'))
  t.match(read(exception('throttlingException', 'slow')), [
    { name: `${EXCEPTION}throttlingException`, data: '{"message":"slow"}' },
  ])
  const error = Buffer.concat([
    text(':message-type', 'error'),
    text(':error-code', 'InternalFailure'),
    text(':error-message', 'no'),
  ])
  t.match(read(withHeaders(error)), [
    { name: `${EXCEPTION}InternalFailure`, data: '{"message":"no"}' },
  ])
})

t.test('AWS event stream: a frame above the limits is damaged before it has arrived', async t => {
  const prelude = (length: number, headers: number): Buffer => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt32BE(length, 0)
    bytes.writeUInt32BE(headers, 4)
    bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
    return bytes
  }
  const mebibyte = 1024 * 1024
  for (const [length, headers] of [
    [16 * mebibyte + 1, 0],
    [mebibyte, 128 * 1024 + 1],
    [15, 0],
    [20, 5],
    [0, 0],
  ] as const)
    t.match(read(prelude(length, headers)), [{ name: DAMAGED }], `${length} ${headers}`)
  t.same(read(prelude(16 * mebibyte, 0)), [], 'waits for the rest')
})

t.test('AWS event stream: the same events for any chunk boundaries', async t => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 60 }), sizes => {
      t.strictSame(read(STREAM, sizes), WHOLE)
    }),
    { numRuns: 50 },
  )
  t.equal(read(STREAM, new Array(STREAM.length).fill(1)).length, FRAMES.length + CALLS.length)
})

t.test('AWS event stream: changed bytes and cuts never give other events', async t => {
  const position = fc.integer({ min: 0, max: STREAM.length - 1 })
  fc.assert(
    fc.property(
      fc.array(fc.tuple(position, fc.integer({ min: 1, max: 255 })), { maxLength: 4 }),
      fc.option(position),
      fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 40 }),
      (changes, cut, sizes) => {
        const bytes = Buffer.from(STREAM)
        for (const [at, mask] of changes) bytes[at] = (bytes[at] as number) ^ mask
        const events = read(bytes.subarray(0, cut ?? bytes.length), sizes)
        const isDamaged = events.some(({ name }) => name === DAMAGED)
        const valid = events.slice(0, isDamaged ? events.findIndex(isDamage) : undefined)
        if (!WHOLE.every((event, at) => at >= valid.length || isSame(event, valid[at])))
          t.fail(`other events after ${JSON.stringify({ changes, cut })}`)
        if (bytes.equals(STREAM)) return
        if (valid.length === WHOLE.length) t.fail(`unseen damage: ${JSON.stringify(changes)}`)
      },
    ),
    { numRuns: 500 },
  )
  t.pass()
})
const isDamage = ({ name }: { readonly name: string }): boolean => name === DAMAGED
const isSame = (first: object, second: object | undefined): boolean =>
  JSON.stringify(first) === JSON.stringify(second)

t.test('AWS event stream: replies are recognised by their content type', async t => {
  const isStream = (type: string) => AWS_FRAMING.isStream({ headers: { 'content-type': type } })
  t.ok(isStream(CONTENT_TYPE))
  t.ok(isStream('Application/vnd.amazon.eventstream; x=1'))
  t.notOk(isStream('application/json'))
  t.notOk(AWS_FRAMING.isStream({ headers: {} }))
})

t.test('AWS event stream: recorded frames, whole and with each byte changed', async t => {
  const whole = read(RECORDED)
  const names = ['messageStart', 'contentBlockDelta', 'contentBlockDelta', 'contentBlockStop']
  t.same(
    whole.map(({ name }) => name),
    [...names, 'messageStop', 'metadata'],
  )
  for (const [at, byte] of RECORDED.entries()) {
    const changed = Buffer.from(RECORDED)
    changed[at] = byte ^ 0x20
    const events = read(changed)
    const valid = events.slice(0, events.findIndex(isDamage))
    if (!events.some(isDamage)) t.same(events.length, 0, `waits after a changed byte at ${at}`)
    if (!valid.every((event, index) => isSame(event, whole[index])))
      t.fail(`another event after a changed byte at ${at}`)
  }
})
