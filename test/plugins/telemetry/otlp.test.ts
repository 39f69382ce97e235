/** Messages of OTLP are valid in both encodings, whatever clients send. */
import t from 'tap'
import type { Attributes, Encoder, Metric, Span } from '../../../plugins/telemetry/otlp.ts'
import { json } from '../../../plugins/telemetry/otlp-json.ts'
import { protobuf } from '../../../plugins/telemetry/otlp-protobuf.ts'
import { SpanPage } from '../../../plugins/telemetry/span-page.ts'
import {
  attributesIn,
  doubleOf,
  messageIn,
  messagesIn,
  readMessage,
  textIn,
} from './protobuf-reader.ts'

const SPAN: Span = {
  trace: '0af7651916cd43dd8448eb211c80319c',
  id: 'b7ad6b7169203331',
  parent: undefined,
  state: undefined,
  name: 'chat',
  kind: 'client',
  start: 1_764_547_200_000.125,
  end: 1_764_547_200_001,
  attributes: [],
  error: undefined,
}
const NANOSECONDS = 1_764_547_200_000_125_000n
const METRIC: Metric = {
  name: 'seconds',
  unit: 's',
  bounds: [0.5, 1],
  temporality: 'delta',
  start: 1_000,
  end: 2_000,
  points: [{ attributes: { model: 'm' }, sum: 1.75, count: 300, buckets: [298, 2, 0] }],
}

const bodyOf = (
  encoder: Encoder,
  spans: readonly Span[],
  resource: Attributes = { 'service.name': 's' },
): Buffer => {
  const page = new SpanPage(encoder)
  for (const span of spans) page.add(encoder.span(span))
  return page.body(resource) as Buffer
}
const spansOf = (spans: readonly Span[]) =>
  JSON.parse(bodyOf(json, spans).toString()).resourceSpans[0].scopeSpans[0].spans

t.test('OTLP in JSON: spans, each with all groups of its attributes', t => {
  const attributes = [{ a: 1, none: undefined }, {}, { b: 'é"' }]
  const own = { ...SPAN, attributes, parent: '00f067aa0ba902b7', state: 'v=1', error: 'HTTP 500' }
  const [span, plain, ...others] = spansOf([own, { ...SPAN, kind: 'server' }])
  t.same(span, {
    traceId: SPAN.trace,
    spanId: SPAN.id,
    parentSpanId: own.parent,
    traceState: 'v=1',
    name: 'chat',
    kind: 3,
    startTimeUnixNano: '1764547200000125000',
    endTimeUnixNano: '1764547200001000000',
    attributes: [
      { key: 'a', value: { intValue: '1' } },
      { key: 'b', value: { stringValue: 'é"' } },
    ],
    status: { code: 2, message: 'HTTP 500' },
  })
  t.match(plain, { kind: 2, attributes: [] })
  t.same(others, [])
  t.end()
})

const read = (attributes: Attributes) =>
  spansOf([{ ...SPAN, attributes: [attributes] }])[0].attributes

t.test('OTLP: a number that JSON cannot write is a text, as Protobuf has it', t => {
  const { temperature } = JSON.parse('{"temperature":1e999}')
  t.same(read({ a: temperature, b: -temperature, c: Number.NaN, d: 0.5, e: 2 ** 60 }), [
    { key: 'a', value: { doubleValue: 'Infinity' } },
    { key: 'b', value: { doubleValue: '-Infinity' } },
    { key: 'c', value: { doubleValue: 'NaN' } },
    { key: 'd', value: { doubleValue: 0.5 } },
    { key: 'e', value: { doubleValue: 2 ** 60 } },
  ])
  t.end()
})

t.test('OTLP: long texts are cut, so that receivers accept the message', t => {
  const [{ value }] = read({ a: `"${'x'.repeat(100_000)}` })
  t.equal(value.stringValue, `"${'x'.repeat(1_023)}`)
  t.end()
})

const spansIn = (spans: readonly Span[]) => {
  const all = messageIn(readMessage(bodyOf(protobuf, spans)), 1)
  t.same(attributesIn(messageIn(all, 1), 1), { 'service.name': 's' })
  t.equal(textIn(messageIn(all, 2, 1), 1), 'tollgate')
  return messagesIn(messageIn(all, 2), 2)
}

t.test('OTLP in Protobuf: spans with every kind of value, of any length', t => {
  const attributes = {
    text: 'é"\n',
    long: 'é'.repeat(2_000),
    empty: '',
    zero: 0,
    seed: -1,
    most: Number.MAX_SAFE_INTEGER,
    half: 0.5,
    infinite: Infinity,
    isStream: true,
    isNot: false,
    reasons: ['stop', 'length'],
    none: undefined,
  }
  const { none: _, long, ...rest } = attributes
  const groups = [attributes, { last: 'x' }]
  const link = { parent: '00f067aa0ba902b7', state: 'v=1' }
  const own = { ...SPAN, ...link, attributes: groups, error: 'HTTP 500' }
  const [span = {}, plain = {}] = spansIn([own, { ...SPAN, kind: 'server' }])
  t.same(attributesIn(span, 9), { ...rest, long: long.slice(0, 1_024), last: 'x' })
  for (const [field, digits] of [
    [1, SPAN.trace],
    [2, SPAN.id],
    [4, own.parent],
  ] as const)
    t.equal(Buffer.from(span[field]?.[0] as Buffer).toString('hex'), digits)
  t.same([textIn(span, 3), textIn(span, 5), span[6]], ['v=1', 'chat', [3]])
  t.same([span[7], span[8]], [[NANOSECONDS], [NANOSECONDS + 875_000n]])
  const status = messageIn(span, 15)
  t.same([textIn(status, 2), status[3]], ['HTTP 500', [2]])
  t.same([plain[3], plain[4], plain[6], plain[15]], [undefined, undefined, [2], undefined])
  t.equal(spansIn(Array.from({ length: 3_000 }, () => own)).length, 3_000)
  t.end()
})

t.test('OTLP in Protobuf: histograms and sums', t => {
  const { bounds: _, ...sum } = METRIC
  const metrics = [METRIC, { ...sum, name: 'tokens', temporality: 'cumulative' } as const]
  const all = messageIn(readMessage(protobuf.metrics({}, metrics) as Buffer), 1, 2)
  const [histogram = {}, tokens = {}] = messagesIn(all, 2)
  t.same([textIn(histogram, 1), textIn(histogram, 3)], ['seconds', 's'])
  const point = messageIn(histogram, 9, 1)
  t.same(attributesIn(point, 9), { model: 'm' })
  t.same([point[2], point[3], point[4]], [[1_000_000_000n], [2_000_000_000n], [300n]])
  t.equal(doubleOf(point[5]?.[0]), 1.75)
  const [buckets, bounds] = [point[6]?.[0] as Buffer, point[7]?.[0] as Buffer]
  t.same(
    [0, 8, 16].map(at => buckets.readBigUInt64LE(at)),
    [298n, 2n, 0n],
  )
  t.same(
    [0, 8].map(at => bounds.readDoubleLE(at)),
    [0.5, 1],
  )
  t.same(messageIn(histogram, 9)[2], [1], 'delta')
  const own = messageIn(tokens, 7)
  t.same([own[2], own[3]], [[2], [1]], 'cumulative, and only grows')
  t.equal(doubleOf(messageIn(own, 1)[4]?.[0]), 1.75)
  t.same(attributesIn(messageIn(own, 1), 7), { model: 'm' })
  t.end()
})

t.test('OTLP: spans that a receiver rejected are read from its response', t => {
  const rejected = (text: string) => json.rejectedIn({ text, bytes: Buffer.alloc(0) })
  t.equal(rejected('{"partialSuccess":{"rejectedSpans":"7"}}'), 7)
  for (const text of ['{}', '', 'ok', '{"partialSuccess":{}}']) t.equal(rejected(text), 0, text)
  const inBytes = (...bytes: number[]) =>
    protobuf.rejectedIn({ text: '', bytes: Buffer.from(bytes) })
  t.equal(inBytes(0x0a, 0x02, 0x08, 0x07), 7)
  t.equal(inBytes(0x0a, 0x03, 0x08, 0xac, 0x02), 300)
  for (const bytes of [[], [0x0a, 0x00], [0x0a, 0x02, 0x12, 0x00], [0x7b, 0x7d]])
    t.equal(inBytes(...bytes), 0)
  t.end()
})

t.test('OTLP: a page has each of its spans once, whatever was in it before', t => {
  const spans = Array.from({ length: 300 }, (_, index) => ({
    ...SPAN,
    name: `span ${index} ${'é'.repeat(index)}`,
  }))
  const names = spans.map(({ name }) => name)
  const resource = { long: 'r'.repeat(900), '2': 'r'.repeat(900) }
  const manyAttributes = Object.fromEntries(names.slice(0, 20).map(name => [name, 'v'.repeat(500)]))
  for (const encoder of [json, protobuf])
    for (const own of [{}, resource, manyAttributes]) {
      const page = new SpanPage(encoder)
      const namesIn = () => {
        const body = page.body(own) as Buffer
        if (encoder === json)
          return JSON.parse(body.toString()).resourceSpans[0].scopeSpans[0].spans.map(
            (span: { name: string }) => span.name,
          )
        const all = messageIn(readMessage(body), 1)
        t.same(attributesIn(messageIn(all, 1), 1), own)
        return messagesIn(messageIn(all, 2), 2).map(span => textIn(span, 5))
      }
      for (const span of spans) page.add(encoder.span(span))
      t.same(namesIn(), names)
      t.same(namesIn(), names, 'a second time, as after a failure')
      page.add(encoder.span(SPAN))
      t.same(namesIn(), [...names, SPAN.name], 'with one more')
      page.clear()
      page.add(encoder.span(SPAN))
      t.same(namesIn(), [SPAN.name])
    }
  t.end()
})
