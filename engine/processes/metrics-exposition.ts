/** Metrics of all processes in one exposition text. The primary sums the increments, so counters
 *  survive the exit of a worker. */
import type { MetricType } from 'prom-client'
import { boundsOf, type Kind, type Sample } from '../observe/metrics.ts'
import type { MetricReading } from '../plugin.ts'

export interface Exposition {
  absorb(process: string, samples: readonly Sample[]): void
  /** Removes the gauges of a process that exited; its counters stay. */
  forget(process: string): void
  /** The present values of metrics, by names without the prefix. */
  read(names: readonly string[]): readonly MetricReading[]
  /** `help`: of the metrics of plugins, by name. */
  text(help?: Help): Promise<string>
}
/** A metric as prom-client serialises it for aggregation. */
interface Exported {
  readonly name: string
  readonly help: string
  readonly type: MetricType
  readonly aggregator: 'sum'
  readonly values: readonly ExportedValue[]
}
interface ExportedValue {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  readonly metricName?: string
}
type Help = Readonly<Record<string, string>>
type Totals = Map<string, Sample>

const PREFIX = 'tollgate_'

export const createExposition = (): Exposition => {
  const counters: Totals = new Map()
  const gauges = new Map<string, Totals>()
  return {
    absorb(process, samples) {
      const processGauges = gauges.get(process) ?? new Map()
      gauges.set(process, processGauges)
      for (const sample of samples) {
        const key = `${sample.name}\n${Object.values(sample.labels).join('\n')}`
        if (sample.kind === 'gauge') processGauges.set(key, sample)
        else addTo(counters, key, sample)
      }
    },
    read: names => {
      const nameSet = new Set(names)
      const totals: Totals = new Map()
      for (const [key, sample] of [counters, ...gauges.values()].flatMap(each => [...each]))
        if (nameSet.has(sample.name)) addTo(totals, key, sample)
      return [...totals.values()].map(({ name, kind, labels, values }) => ({
        name,
        labels,
        values,
        ...(kind === 'histogram' && { bounds: boundsOf(name) }),
      }))
    },
    forget: process => void gauges.delete(process),
    text: async (help = {}) => {
      // Loaded by the first scrape: with its packages it takes 6 MiB.
      const { AggregatorRegistry } = await import('prom-client')
      const exports = [counters, ...gauges.values()].map(totals =>
        exportSamples([...totals.values()], help),
      )
      return AggregatorRegistry.aggregate(exports).metrics()
    },
  }
}

const addTo = (totals: Totals, key: string, sample: Sample): void => {
  const total = totals.get(key)
  totals.set(key, total ? sum(total, sample) : sample)
}
const sum = (total: Sample, more: Sample): Sample => ({
  ...total,
  values: total.values.map((value, index) => value + (more.values[index] ?? 0)),
})

const exportSamples = (samples: readonly Sample[], help: Help): Exported[] =>
  [...Map.groupBy(samples, sample => sample.name)].map(([name, series]) => ({
    name: PREFIX + name,
    help: METRIC_FAMILIES[name]?.help ?? help[name] ?? 'A metric of a plugin.',
    type: (series[0]?.kind ?? 'counter') as Kind & MetricType,
    aggregator: 'sum',
    values: series.flatMap(sample => (sample.kind === 'histogram' ? buckets : single)(sample)),
  }))

const single = ({ labels, values }: Sample): ExportedValue[] => [{ value: values[0] ?? 0, labels }]

/** Cumulative buckets, sum and count of a histogram. */
const buckets = ({ name, labels, values }: Sample): ExportedValue[] => {
  const bounds = boundsOf(name)
  let count = 0
  const counts = [...bounds, '+Inf'].map((le, index) => {
    count += values[index] ?? 0
    return { value: count, labels: { ...labels, le }, metricName: `${PREFIX}${name}_bucket` }
  })
  const total = values[bounds.length + 1] ?? 0
  return [
    ...counts,
    { value: total, labels, metricName: `${PREFIX}${name}_sum` },
    { value: count, labels, metricName: `${PREFIX}${name}_count` },
  ]
}

/** One metric family; docs/metrics.md lists them too. */
export interface Family {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
}
const counter = (help: string, ...labels: string[]): Family => ({ kind: 'counter', help, labels })
const gauge = (help: string, ...labels: string[]): Family => ({ kind: 'gauge', help, labels })
const histogram = (help: string, ...labels: string[]): Family => ({
  kind: 'histogram',
  help,
  labels,
})

/** Without the prefix `tollgate_` that every name gets in the exposition. */
export const METRIC_FAMILIES: Readonly<Record<string, Family>> = {
  requests_total: counter('Completed and failed requests.', 'route', 'status'),
  cut_total: counter(
    'Replies that ended early, or whose last event was an error.',
    'route',
    'code',
  ),
  request_seconds: histogram(
    'Seconds from the first byte of the request to the last byte of the reply.',
    'route',
  ),
  added_seconds: histogram('The part of request_seconds that the gateway itself added.', 'route'),
  received_bytes_total: counter('Bytes of request bodies.', 'route'),
  sent_bytes_total: counter('Bytes of reply bodies.', 'route'),
  open_streams: gauge('Open streams and WebSockets.', 'route', 'kind'),
  attempts_total: counter(
    'Attempts to send a request to an upstream, by outcome.',
    'upstream',
    'outcome',
  ),
  affinity_calls_total: counter(
    'Answered calls of conversations with affinity, at their own address and key or moved.',
    'upstream',
    'place',
  ),
  ejections_total: counter(
    'Ejections of an address of an upstream, after failures in a row.',
    'address',
  ),
  warm_ups_total: counter(
    'Requests of the gateway by which a target was warmed up (`warm_up:`), by result: `answered` or `failed`.',
    'address',
    'result',
  ),
  upstreams_unavailable: gauge(
    'Workers that send no request to an address of an upstream: it is ejected, paused or probed.',
    'upstream',
    'address',
  ),
  keys_unavailable: gauge(
    'Workers in which a key of an upstream rests, is probed, or is limited for a target.',
    'upstream',
    'key',
  ),
  request_log_lost_total: counter(
    'Lines of requests that the request log does not have, by reason.',
    'reason',
  ),
  key_rests_total: counter("Rests of an upstream's key.", 'address', 'key', 'reason'),
  config_version: gauge('Number of the live configuration version.'),
  config_reload_ok: gauge('1 if the last reload went live, 0 if it had problems.'),
  reloads_total: counter('Reloads, by outcome.', 'outcome'),
  workers: gauge('Workers that accept requests.'),
  worker_restarts_total: counter('Workers that were replaced, by reason.', 'reason'),
  connections_refused_total: counter(
    'Connections that were refused because as many were open as may be.',
  ),
  unhandled_total: counter('Promise rejections without a handler.'),
  loop_delay_seconds: gauge(
    'Delay of the event loop in seconds since the last report.',
    'process',
    'statistic',
  ),
  resident_bytes: gauge('Resident memory of a process in bytes.', 'process'),
}
