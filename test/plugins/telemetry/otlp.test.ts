/** Messages of OTLP stay valid, whatever clients send. */
import t from 'tap'
import { type Attributes, tracesOf } from '../../../plugins/telemetry/otlp.ts'

const read = (attributes: Attributes) => {
  const span = {
    trace: '0'.repeat(32),
    id: '0'.repeat(16),
    parent: undefined,
    state: undefined,
    name: 'chat',
    kind: 'client',
    start: 0,
    end: 1,
    attributes,
    error: undefined,
  } as const
  return JSON.parse(tracesOf({}, [span])).resourceSpans[0].scopeSpans[0].spans[0].attributes
}

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
