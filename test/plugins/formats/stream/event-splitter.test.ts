/** The event splitter: every line ending, cut anywhere. */
import t from 'tap'
import {
  eventsIn,
  eventsWith,
  hasEvent,
  Splitter,
  writeEvent,
} from '../../../../plugins/formats/stream/sse.ts'
import fc from '../../../helpers/property.ts'

/** The chunks, and the result: complete pieces and the rest. */
const split = (bytes: Buffer, sizes: readonly number[]) => {
  const splitter = new Splitter()
  const complete: Buffer[] = []
  let at = 0
  const push = (end: number): void => {
    const piece = splitter.push(bytes.subarray(at, end))
    if (piece) complete.push(Buffer.from(piece))
    at = end
  }
  for (const size of sizes) if (at < bytes.length) push(Math.min(at + size, bytes.length))
  if (at < bytes.length) push(bytes.length)
  return { whole: complete, rest: Buffer.from(splitter.take() ?? '') }
}

/** The algorithm of the WHATWG standard on the whole text, in its simplest form. */
const reference = (text: string): readonly { name: string; data: string }[] => {
  const events: { name: string; data: string }[] = []
  let name = ''
  let lines: string[] = []
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    if (line === '') {
      if (lines.length > 0) events.push({ name, data: lines.join('\n') })
      name = ''
      lines = []
      continue
    }
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'event') name = value
    if (field === 'data') lines.push(value)
  }
  return events
}
const parseEvents = (bytes: Buffer) =>
  eventsIn(bytes).flatMap(({ name, data }) => (data === undefined ? [] : [{ name, data }]))

const line = fc.constantFrom('\n', '\r\n', '\r')
const word = fc.constantFrom('ü', '東京', '👋🏽', 'a', '{"a":1}', '', ' ', ':', 'data: x')
const field = fc.constantFrom(
  'data: ',
  'data:',
  'data',
  'event: ',
  ': ',
  'id: ',
  'retry: ',
  'odd: ',
)
/** A stream with one kind of line ending, as real ones have, and every event complete. */
const stream = line.chain(end =>
  fc
    .array(fc.array(fc.tuple(field, word), { minLength: 1, maxLength: 4 }), { maxLength: 6 })
    .chain(events =>
      fc.constantFrom('', '\uFEFF').map(mark => {
        const blocks = events.map(lines => lines.map(each => each.join('') + end).join('') + end)
        return mark + blocks.join('')
      }),
    ),
)
const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 60 })

t.test('event splitter: loses nothing, cuts no event, and agrees with the standard', async () => {
  fc.assert(
    fc.property(stream, sizes, (text, cuts) => {
      const bytes = Buffer.from(text)
      const { whole: complete, rest } = split(bytes, cuts)
      const same = Buffer.concat([...complete, rest]).equals(bytes)
      const events = complete.flatMap(parseEvents)
      // A line feed that follows a carriage return of the previous piece ends no event.
      return same && JSON.stringify(events) === JSON.stringify(reference(text))
    }),
    { numRuns: 3_000 },
  )
})

t.test('event splitter: gives the same events for every pair of cuts', async t => {
  const text =
    '\uFEFF: hi\n\ndata: {"c":"ü"}\n\nid: 7\r\ndata: 東\r\ndata: 京\r\n\r\nevent: x\ndata\n\ndata: [DONE]\n\n'
  const bytes = Buffer.from(text)
  const expected = JSON.stringify(reference(text))
  let wrong = 0
  for (let one = 1; one < bytes.length; one++)
    for (let other = 1; other < bytes.length - one; other += 3) {
      const { whole: complete, rest } = split(bytes, [one, other])
      if (!Buffer.concat([...complete, rest]).equals(bytes)) wrong++
      if (JSON.stringify(complete.flatMap(parseEvents)) !== expected) wrong++
    }
  t.equal(wrong, 0)
})

t.test('event splitter: passes complete events at once and holds the rest', async t => {
  const splitter = new Splitter()
  const push = (text: string) => {
    const piece = splitter.push(Buffer.from(text))
    return piece && Buffer.from(piece).toString()
  }
  t.equal(push('data: 1\n\n'), 'data: 1\n\n')
  t.equal(push('data: 2\n\ndata: 3'), 'data: 2\n\n')
  t.equal(push('\n'), undefined)
  t.equal(push('\n'), 'data: 3\n\n')
  t.equal(push('data: 4\r\n\r'), undefined, 'half a line ending is not a blank line')
  t.equal(push('\ndata: 5'), 'data: 4\r\n\r\n')
  t.equal(push(''), undefined)
  t.equal(Buffer.from(splitter.take() ?? '').toString(), 'data: 5')
  t.equal(splitter.take(), undefined)
})

t.test('event splitter: passes a complete chunk without a copy', async t => {
  const chunk = Buffer.from('data: 1\n\n')
  t.equal(new Splitter().push(chunk), chunk)
})

t.test('event splitter: accepts carriage returns as line endings', async t => {
  const { whole: complete, rest } = split(Buffer.from('data: 1\r\rdata: 2\r\rdata: 3'), [9, 3])
  t.equal(complete.join('|'), 'data: 1\r\r|data: 2\r\r')
  t.equal(rest.toString(), 'data: 3')
})

t.test('event splitter: passes an oversized event in pieces instead of buffering it', async t => {
  const splitter = new Splitter()
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  let passedBytes = 0
  for (let n = 0; n < 160; n++) passedBytes += splitter.push(chunk)?.length ?? 0
  t.ok(passedBytes >= 128 * chunk.length, `${passedBytes / chunk.length} MiB of 160 have passed`)
  t.equal(passedBytes + (splitter.take()?.length ?? 0), 160 * chunk.length)
})

t.test('eventsIn: returns the position of each event', async t => {
  const bytes = Buffer.from(': c\n\nevent: a\ndata: 1\ndata: 2\n\ndata: 3')
  t.same(
    eventsIn(bytes).map(({ name, data, start, end }) => [
      name,
      data,
      bytes.toString('utf8', start, end),
    ]),
    [
      ['', undefined, ': c\n\n'],
      ['a', '1\n2', 'event: a\ndata: 1\ndata: 2\n\n'],
      ['', '3', 'data: 3'],
    ],
  )
  t.equal(hasEvent(Buffer.from('data: 1\n')), false)
  t.equal(hasEvent(Buffer.from('data: 1\n\nx')), true)
  t.same(eventsIn(Buffer.alloc(0)), [])
})

t.test('eventsWith: finds the same events as a search in all of them', async t => {
  const mark = Buffer.from('東')
  fc.assert(
    fc.property(stream, text => {
      const bytes = Buffer.from(text)
      const all = eventsIn(bytes)
      const expected = all.filter(({ start, end }) => bytes.subarray(start, end).includes(mark))
      t.strictSame(eventsWith(bytes, mark), expected)
    }),
  )
  const [event] = eventsWith(Buffer.from('\n\r\ndata: x\n\ndata: 東\n\n'), mark)
  t.match(event, { data: '東', start: 12, end: 23 }, 'behind blank lines')
  const [first] = eventsWith(Buffer.from('\r\ndata: 東\r\n\r\n'), mark)
  t.match(first, { data: '東', start: 2, end: 15 }, 'a piece that starts with a blank line')
})

t.test('writeEvent: writes events that read back equal', async t => {
  const value = { text: 'a\nb\r\u2028"' }
  for (const bytes of [writeEvent('x', value), writeEvent(undefined, value, '\r\n')]) {
    const [event] = eventsIn(bytes)
    t.same(JSON.parse(event?.data ?? ''), value)
    t.equal(event?.end, bytes.length)
  }
})
