/** The Protobuf encoding of OTLP 1.x. Numbers of fields are those of its .proto files:
 *  https://github.com/open-telemetry/opentelemetry-proto */
import type { Bytes } from '../../engine/plugin.ts'
import {
  type Attributes,
  type Encoder,
  ERROR_STATUS,
  LONGEST_TEXT,
  type Metric,
  SCOPE,
  SPAN_KINDS,
  type Span,
  TEMPORALITIES,
  type Value,
} from './otlp.ts'
import { ProtobufWriter } from './protobuf-writer.ts'

const NO_BYTES = Buffer.alloc(0)

/** `ms` since 1970. Microseconds are all that the clock has. */
const nanosecondsOf = (ms: number): bigint => BigInt(Math.round(ms * 1_000)) * 1_000n

const writeValue = (writer: ProtobufWriter, field: number, value: Value): void => {
  const start = writer.begin(field)
  if (typeof value === 'string') writer.text(1, value.slice(0, LONGEST_TEXT))
  else if (typeof value === 'boolean') writer.integer(2, Number(value))
  else if (typeof value === 'object') {
    const list = writer.begin(5)
    for (const each of value) writeValue(writer, 1, each)
    writer.finish(list)
  } else if (Number.isSafeInteger(value)) writer.integer(3, value)
  else writer.double(4, value)
  writer.finish(start)
}
const writeAttributes = (writer: ProtobufWriter, field: number, attributes: Attributes): void => {
  for (const key in attributes) {
    const value = attributes[key]
    if (value === undefined) continue
    const start = writer.begin(field)
    writer.text(1, key)
    writeValue(writer, 2, value)
    writer.finish(start)
  }
}

const writeSpan = (writer: ProtobufWriter, span: Span): void => {
  const start = writer.begin(2)
  writer.hex(1, span.trace)
  writer.hex(2, span.id)
  if (span.state !== undefined) writer.text(3, span.state)
  if (span.parent !== undefined) writer.hex(4, span.parent)
  writer.text(5, span.name)
  writer.integer(6, SPAN_KINDS[span.kind])
  writer.fixed64(7, nanosecondsOf(span.start))
  writer.fixed64(8, nanosecondsOf(span.end))
  for (const attributes of span.attributes) writeAttributes(writer, 9, attributes)
  if (span.error !== undefined) {
    const status = writer.begin(15)
    writer.text(2, span.error)
    writer.integer(3, ERROR_STATUS)
    writer.finish(status)
  }
  writer.finish(start)
}

/** Writes all spans, one over another. */
const spanWriter = new ProtobufWriter()
const spanOf = (span: Span): Bytes => {
  spanWriter.clear()
  writeSpan(spanWriter, span)
  return spanWriter.bytes
}

const writeMetric = (writer: ProtobufWriter, metric: Metric): void => {
  const { name, unit, bounds, temporality, start: begin, end, points } = metric
  const start = writer.begin(2)
  writer.text(1, name)
  writer.text(3, unit)
  const series = writer.begin(bounds ? 9 : 7)
  for (const { attributes, sum, count, buckets } of points) {
    const point = writer.begin(1)
    writer.fixed64(2, nanosecondsOf(begin))
    writer.fixed64(3, nanosecondsOf(end))
    if (bounds) {
      writer.fixed64(4, BigInt(count))
      writer.double(5, sum)
      writer.fixed64s(6, buckets)
      writer.doubles(7, bounds)
    } else writer.double(4, sum)
    writeAttributes(writer, bounds ? 9 : 7, attributes)
    writer.finish(point)
  }
  writer.integer(2, TEMPORALITIES[temporality])
  // A sum only grows.
  if (!bounds) writer.integer(3, 1)
  writer.finish(series)
  writer.finish(start)
}

/** Traces and metrics lie alike in their messages: of a resource, of a scope. `length`: bytes of
 *  the spans or metrics behind it. */
const headOf = (resource: Attributes, length: number): Bytes => {
  const scope = new ProtobufWriter()
  const start = scope.begin(1)
  scope.text(1, SCOPE)
  scope.finish(start)
  const list = new ProtobufWriter()
  const own = list.begin(1)
  writeAttributes(list, 1, resource)
  list.finish(own)
  list.head(2, scope.bytes.length + length)
  list.message(scope.bytes)
  const all = new ProtobufWriter()
  all.head(1, list.bytes.length + length)
  all.message(list.bytes)
  return all.bytes
}
const metricsOf = (resource: Attributes, metrics: readonly Metric[]): Bytes => {
  const writer = new ProtobufWriter()
  for (const metric of metrics) writeMetric(writer, metric)
  return Buffer.concat([headOf(resource, writer.bytes.length), writer.bytes])
}

/** `partial_success` is field 1, and `rejected_spans` field 1 in it. */
const rejectedIn = ({ bytes }: { readonly bytes: Bytes }): number => {
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let factor = 1; ; factor *= 0x80) {
      const byte = bytes[at++] ?? 0
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
  }
  if (varint() !== 0x0a || varint() === 0 || varint() !== 0x08) return 0
  return varint()
}

export const protobuf: Encoder = {
  contentType: 'application/x-protobuf',
  span: spanOf,
  separator: NO_BYTES,
  frame: (resource, length) => ({ head: headOf(resource, length), tail: NO_BYTES }),
  metrics: metricsOf,
  rejectedIn,
}
