/** Messages of OTLP 1.x in its JSON encoding: spans, histograms and sums. Ids are hexadecimal
 *  digits, times are nanoseconds since 1970 as texts. */
type Value = string | number | boolean | readonly string[]
/** Names need no escapes in JSON. Values that are undefined are left out. */
export type Attributes = Readonly<Record<string, Value | undefined>>

export interface Span {
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  readonly state: string | undefined
  readonly name: string
  readonly kind: 'server' | 'client'
  /** ms since 1970, with fractions. */
  readonly start: number
  readonly end: number
  readonly attributes: Attributes
  /** The error's description. */
  readonly error: string | undefined
}
const KINDS = { server: 2, client: 3 }
const ERROR = 2

/** `ms` since 1970. Microseconds are all that the clock has. */
const nanosecondsOf = (ms: number): string => `${Math.round(ms * 1_000)}000`

/** Texts of JSON are put together here: a call has some thirty attributes, and objects for
 *  JSON.stringify would double what it costs. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/
const quote = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

/** Characters of a text. */
const LONGEST = 1_024
const otlpValue = (value: Value): string => {
  if (typeof value === 'string') return `{"stringValue":${quote(value.slice(0, LONGEST))}}`
  if (typeof value === 'object') return `{"arrayValue":{"values":[${value.map(otlpValue).join()}]}}`
  if (typeof value === 'boolean') return `{"boolValue":${value}}`
  if (Number.isSafeInteger(value)) return `{"intValue":"${value}"}`
  // Protobuf's JSON has these as texts. A client may send 1e999.
  return `{"doubleValue":${Number.isFinite(value) ? value : `"${value}"`}}`
}
const attributesOf = (attributes: Attributes): string => {
  let list = ''
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
  `,"name":${quote(span.name)},"kind":${KINDS[span.kind]}` +
  `,"startTimeUnixNano":"${nanosecondsOf(span.start)}","endTimeUnixNano":"${nanosecondsOf(span.end)}"` +
  `,"attributes":${attributesOf(span.attributes)}` +
  (span.error === undefined ? '}' : `,"status":{"code":${ERROR},"message":${quote(span.error)}}}`)

/** A body of `/v1/traces`. `resource`: attributes of the service that sends. */
export const tracesOf = (resource: Attributes, spans: readonly Span[]): string =>
  `{"resourceSpans":[{"resource":{"attributes":${attributesOf(resource)}},"scopeSpans":[{"scope":${SCOPE},"spans":[${spans.map(spanOf).join()}]}]}]}`

/** A body of `/v1/metrics`. */
export const metricsOf = (resource: Attributes, metrics: readonly Metric[]): string =>
  `{"resourceMetrics":[{"resource":{"attributes":${attributesOf(resource)}},"scopeMetrics":[{"scope":${SCOPE},"metrics":[${metrics.map(metricOf).join()}]}]}]}`
const SCOPE = '{"name":"tollgate"}'

/** A histogram has `bounds` and counts in `buckets`, one more than bounds; a sum has neither. */
export interface Metric {
  readonly name: string
  readonly unit: string
  readonly bounds?: readonly number[]
  /** Times in ms since 1970. */
  readonly start: number
  readonly end: number
  readonly points: readonly {
    readonly attributes: Attributes
    readonly sum: number
    readonly count: number
    readonly buckets: readonly number[]
  }[]
}
const metricOf = ({ name, unit, bounds, start, end, points }: Metric): string => {
  const times = `"startTimeUnixNano":"${nanosecondsOf(start)}","timeUnixNano":"${nanosecondsOf(end)}"`
  const dataPoints = points.map(({ attributes, sum, count, buckets }) => {
    const numbers = bounds
      ? `"count":"${count}","sum":${sum},"explicitBounds":[${bounds}],"bucketCounts":[${buckets.map(each => `"${each}"`)}]`
      : `"asDouble":${sum}`
    return `{${times},"attributes":${attributesOf(attributes)},${numbers}}`
  })
  const content = `"aggregationTemporality":${CUMULATIVE},"dataPoints":[${dataPoints}]`
  const kind = bounds ? `"histogram":{${content}}` : `"sum":{${content},"isMonotonic":true}`
  return `{"name":${quote(name)},"unit":${quote(unit)},${kind}}`
}
const CUMULATIVE = 2
