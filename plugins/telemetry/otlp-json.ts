/** The JSON encoding of OTLP 1.x. Ids are hexadecimal digits, times are nanoseconds since 1970 as
 *  texts. */
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

/** `ms` since 1970. Microseconds are all that the clock has. */
const nanosecondsOf = (ms: number): string => `${Math.round(ms * 1_000)}000`

/** Texts of JSON are put together here: a call has some thirty attributes, and objects for
 *  JSON.stringify would double what it costs. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/
const quote = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

const otlpValue = (value: Value): string => {
  if (typeof value === 'string') return `{"stringValue":${quote(value.slice(0, LONGEST_TEXT))}}`
  if (typeof value === 'object') return `{"arrayValue":{"values":[${value.map(otlpValue).join()}]}}`
  if (typeof value === 'boolean') return `{"boolValue":${value}}`
  if (Number.isSafeInteger(value)) return `{"intValue":"${value}"}`
  // Protobuf's JSON has these as texts. A client may send 1e999.
  return `{"doubleValue":${Number.isFinite(value) ? value : `"${value}"`}}`
}
const attributesOf = (...groups: readonly Attributes[]): string => {
  let list = ''
  for (const attributes of groups)
    for (const key in attributes) {
      const value = attributes[key]
      if (value !== undefined)
        list += `${list === '' ? '' : ','}{"key":"${key}","value":${otlpValue(value)}}`
    }
  return `[${list}]`
}

const spanOf = (span: Span): string =>
  `{"traceId":"${span.trace}","spanId":"${span.id}"` +
  (span.parent === undefined ? '' : `,"parentSpanId":"${span.parent}"`) +
  (span.state === undefined ? '' : `,"traceState":${quote(span.state)}`) +
  `,"name":${quote(span.name)},"kind":${SPAN_KINDS[span.kind]}` +
  `,"startTimeUnixNano":"${nanosecondsOf(span.start)}","endTimeUnixNano":"${nanosecondsOf(span.end)}"` +
  `,"attributes":${attributesOf(...span.attributes)}` +
  (span.error === undefined
    ? '}'
    : `,"status":{"code":${ERROR_STATUS},"message":${quote(span.error)}}}`)

/** Bytes of a character of JavaScript in UTF-8, at most. */
const LONGEST_CHARACTER = 3
/** The bytes of a text, in a buffer that the next text overwrites. */
const createTextEncoder = (): ((text: string) => Bytes) => {
  let buffer = Buffer.allocUnsafe(16 * 1024)
  return text => {
    const longest = text.length * LONGEST_CHARACTER
    if (longest > buffer.length) buffer = Buffer.allocUnsafe(2 * longest)
    return buffer.subarray(0, buffer.write(text))
  }
}
const encode = createTextEncoder()
const frameOf = (resource: Attributes) => ({
  head: Buffer.from(
    `{"resourceSpans":[{"resource":{"attributes":${attributesOf(resource)}},"scopeSpans":[{"scope":${SCOPE_JSON},"spans":[`,
  ),
  tail: Buffer.from(']}]}]}'),
})

const metricsOf = (resource: Attributes, metrics: readonly Metric[]): string =>
  `{"resourceMetrics":[{"resource":{"attributes":${attributesOf(resource)}},"scopeMetrics":[{"scope":${SCOPE_JSON},"metrics":[${metrics.map(metricOf).join()}]}]}]}`
const SCOPE_JSON = `{"name":"${SCOPE}"}`

const metricOf = ({ name, unit, bounds, temporality, start, end, points }: Metric): string => {
  const times = `"startTimeUnixNano":"${nanosecondsOf(start)}","timeUnixNano":"${nanosecondsOf(end)}"`
  const dataPoints = points.map(({ attributes, sum, count, buckets }) => {
    const numbers = bounds
      ? `"count":"${count}","sum":${sum},"explicitBounds":[${bounds}],"bucketCounts":[${buckets.map(each => `"${each}"`)}]`
      : `"asDouble":${sum}`
    return `{${times},"attributes":${attributesOf(attributes)},${numbers}}`
  })
  const content = `"aggregationTemporality":${TEMPORALITIES[temporality]},"dataPoints":[${dataPoints}]`
  const kind = bounds ? `"histogram":{${content}}` : `"sum":{${content},"isMonotonic":true}`
  return `{"name":${quote(name)},"unit":${quote(unit)},${kind}}`
}

const rejectedIn = ({ text }: { readonly text: string }): number => {
  try {
    return Number(JSON.parse(text)?.partialSuccess?.rejectedSpans ?? 0) || 0
  } catch {
    return 0
  }
}

export const json: Encoder = {
  contentType: 'application/json',
  span: span => encode(spanOf(span)),
  separator: Buffer.from(','),
  frame: frameOf,
  metrics: metricsOf,
  rejectedIn,
}
