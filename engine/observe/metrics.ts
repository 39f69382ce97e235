/** Collects the metrics of one process, and reports increments to the primary. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics } from '../plugin.ts'

type Labels = Readonly<Record<string, string>>
export type Kind = 'counter' | 'gauge' | 'histogram'
/** Increments of a counter or histogram since the last report, or the value of a gauge. */
export interface Sample {
  readonly name: string
  readonly kind: Kind
  readonly labels: Labels
  /** One number. For a histogram: one per bucket, one above the last bound, and the sum. */
  readonly values: readonly number[]
}

/** The series of one route. Times are in ms. */
interface RouteMeter {
  /** Counts a finished request. `addedMs`: the part of `ms` that the gateway added. */
  end(status: number, ms: number, addedMs: number, bytesReceived: number, bytesSent: number): void
  /** Counts an open stream (`sse`) or connection (`websocket`). Returns a function that ends it. */
  open(kind: string): () => void
}
export interface GatewayMetrics extends Metrics {
  route(name: string): RouteMeter
  /** Counts a finished attempt. `outcome`: answered, refused, abandoned, or a fault code. */
  attempt(upstream: string, outcome: string): void
  /** Returns every series that changed since the last call. */
  report(): Sample[]
  close(): void
}

/** Bucket bounds in seconds, from a cached reply to a stream of ten minutes. */
const WIDE_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
]
/** Bucket bounds in seconds of the time that the gateway adds. */
const ADDED_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
]
export const boundsOf = (name: string): readonly number[] =>
  name === 'added_seconds' ? ADDED_BOUNDS : WIDE_BOUNDS

/** One series: a name, labels, values. */
class Series {
  readonly name: string
  readonly kind: Kind
  readonly labels: Labels
  readonly #bounds: readonly number[]
  readonly #values: Float64Array
  #isChanged = false

  constructor(name: string, kind: Kind, labels: Labels, bounds: readonly number[]) {
    this.name = name
    this.kind = kind
    this.labels = labels
    this.#bounds = bounds
    this.#values = new Float64Array(kind === 'histogram' ? bounds.length + 2 : 1)
  }
  add(by: number): void {
    this.#values[0] = (this.#values[0] ?? 0) + by
    this.#isChanged = true
  }
  set(value: number): void {
    this.#values[0] = value
    this.#isChanged = true
  }
  /** Scans from the lowest bucket, since most values are small. */
  observe(value: number): void {
    const bounds = this.#bounds
    const values = this.#values
    let index = 0
    while (index < bounds.length && value > (bounds[index] ?? 0)) index++
    values[index] = (values[index] ?? 0) + 1
    const sum = bounds.length + 1
    values[sum] = (values[sum] ?? 0) + value
    this.#isChanged = true
  }
  take(): Sample | undefined {
    if (!this.#isChanged) return undefined
    this.#isChanged = false
    const { name, kind, labels } = this
    const values = [...this.#values]
    if (kind !== 'gauge') this.#values.fill(0)
    return { name, kind, labels, values }
  }
}

// Maximum number of series of one name, so that a label with client values does not fill the
// memory.
const MAX_SERIES = 5000

/** The series of a process, by name and labels. */
const createSeriesIndex = () => {
  const all = new Map<string, Series>()
  const sizes = new Map<string, number>()
  const open = (name: string, kind: Kind, labels: Labels): Series => {
    let key = name
    for (const label in labels) key += `\n${labels[label]}`
    const existing = all.get(key)
    if (existing) return existing
    const size = sizes.get(name) ?? 0
    if (size >= MAX_SERIES && !Object.values(labels).every(value => value === OTHER)) {
      return open(name, kind, Object.fromEntries(Object.keys(labels).map(label => [label, OTHER])))
    }
    sizes.set(name, size + 1)
    const series = new Series(name, kind, { ...labels }, boundsOf(name))
    all.set(key, series)
    return series
  }
  const take = (): Sample[] => [...all.values()].flatMap(series => series.take() ?? [])
  return { open, take }
}
type SeriesIndex = ReturnType<typeof createSeriesIndex>
const OTHER = 'other'

export const createMetrics = (process = 'worker'): GatewayMetrics => {
  const index = createSeriesIndex()
  const routes = new Map<string, RouteMeter>()
  const attempts = new Map<string, Map<string, Series>>()
  const delay = monitorEventLoopDelay({ resolution: SAMPLING })
  delay.enable()
  return {
    count: (name, labels, by = 1) => index.open(name, 'counter', labels).add(by),
    time: (name, labels, seconds) => index.open(name, 'histogram', labels).observe(seconds),
    gauge: (name, labels, value) => index.open(name, 'gauge', labels).set(value),
    route(name) {
      const existing = routes.get(name)
      if (existing) return existing
      const meter = createRouteMeter(index, name)
      routes.set(name, meter)
      return meter
    },
    attempt(upstream, outcome) {
      const outcomes = attempts.get(upstream) ?? new Map<string, Series>()
      attempts.set(upstream, outcomes)
      const series =
        outcomes.get(outcome) ?? index.open('attempts_total', 'counter', { upstream, outcome })
      outcomes.set(outcome, series)
      series.add(1)
    },
    report() {
      observeProcess(index, process, delay)
      return index.take()
    },
    close: () => void delay.disable(),
  }
}

const createRouteMeter = (index: SeriesIndex, route: string): RouteMeter => {
  const duration = index.open('request_seconds', 'histogram', { route })
  const own = index.open('added_seconds', 'histogram', { route })
  const bytesIn = index.open('received_bytes_total', 'counter', { route })
  const bytesOut = index.open('sent_bytes_total', 'counter', { route })
  const statuses: (Series | undefined)[] = []
  const kinds = new Map<string, { readonly series: Series; count: number }>()
  return {
    end(status, ms, addedMs, bytesReceived, bytesSent) {
      let requests = statuses[status]
      if (!requests) {
        requests = index.open('requests_total', 'counter', { route, status: String(status) })
        statuses[status] = requests
      }
      requests.add(1)
      duration.observe(ms / 1000)
      own.observe(addedMs / 1000)
      if (bytesReceived > 0) bytesIn.add(bytesReceived)
      bytesOut.add(bytesSent)
    },
    open(kind) {
      const counter = kinds.get(kind) ?? {
        series: index.open('open_streams', 'gauge', { route, kind }),
        count: 0,
      }
      kinds.set(kind, counter)
      counter.series.set(++counter.count)
      let isClosed = false
      return () => {
        if (isClosed) return
        isClosed = true
        counter.series.set(--counter.count)
      }
    },
  }
}

type Delay = ReturnType<typeof monitorEventLoopDelay>
/** ms between two samples of the loop's delay. */
const SAMPLING = 20

/** Records loop delay and memory of the process. The delay is that since the last report. */
const observeProcess = (index: SeriesIndex, name: string, delay: Delay): void => {
  const statistics = { p50: delay.percentile(50), p99: delay.percentile(99), max: delay.max }
  for (const [statistic, nanoseconds] of Object.entries(statistics)) {
    const series = index.open('loop_delay_seconds', 'gauge', { process: name, statistic })
    // Node counts the time from sample to sample.
    const seconds = nanoseconds / 1e9 - SAMPLING / 1e3
    series.set(Number.isFinite(seconds) ? Math.max(0, seconds) : 0)
  }
  delay.reset()
  index.open('resident_bytes', 'gauge', { process: name }).set(process.memoryUsage.rss())
}
