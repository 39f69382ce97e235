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
  /** One number; of a histogram one per bucket, one above the last bound, and the sum. */
  readonly values: readonly number[]
}

/** The series of one route, looked up once. Times are in ms. */
interface RouteMeter {
  /** Counts a finished request. `added`: the gateway's own part of `ms`. */
  end(status: number, ms: number, added: number, received: number, sent: number): void
  /** Counts an open stream (`sse`) or connection (`websocket`). Returns how to end it, once. */
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

/** Bucket bounds in seconds, from a reply out of memory to a stream of ten minutes. */
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
  #touched = false

  constructor(name: string, kind: Kind, labels: Labels, bounds: readonly number[]) {
    this.name = name
    this.kind = kind
    this.labels = labels
    this.#bounds = bounds
    this.#values = new Float64Array(kind === 'histogram' ? bounds.length + 2 : 1)
  }
  add(by: number): void {
    this.#values[0] = (this.#values[0] ?? 0) + by
    this.#touched = true
  }
  set(value: number): void {
    this.#values[0] = value
    this.#touched = true
  }
  /** Most observations are small: the scan from the lowest bucket is short. */
  observe(value: number): void {
    const bounds = this.#bounds
    const values = this.#values
    let index = 0
    while (index < bounds.length && value > (bounds[index] ?? 0)) index++
    values[index] = (values[index] ?? 0) + 1
    const sum = bounds.length + 1
    values[sum] = (values[sum] ?? 0) + value
    this.#touched = true
  }
  take(): Sample | undefined {
    if (!this.#touched) return undefined
    this.#touched = false
    const { name, kind, labels } = this
    const values = [...this.#values]
    if (kind !== 'gauge') this.#values.fill(0)
    return { name, kind, labels, values }
  }
}

// Most series of a name: a label with values of clients must not fill the memory.
const MOST_SERIES = 5000

/** Finds a series by its name and labels. */
const createSeriesBook = () => {
  const all = new Map<string, Series>()
  const sizes = new Map<string, number>()
  const open = (name: string, kind: Kind, labels: Labels): Series => {
    let key = name
    for (const label in labels) key += `\n${labels[label]}`
    const found = all.get(key)
    if (found) return found
    const size = sizes.get(name) ?? 0
    if (size >= MOST_SERIES && !Object.values(labels).every(value => value === OTHER)) {
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
type SeriesBook = ReturnType<typeof createSeriesBook>
const OTHER = 'other'

export const createMetrics = (process = 'worker'): GatewayMetrics => {
  const book = createSeriesBook()
  const routes = new Map<string, RouteMeter>()
  const attempts = new Map<string, Map<string, Series>>()
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  return {
    count: (name, labels, by = 1) => book.open(name, 'counter', labels).add(by),
    time: (name, labels, seconds) => book.open(name, 'histogram', labels).observe(seconds),
    gauge: (name, labels, value) => book.open(name, 'gauge', labels).set(value),
    route(name) {
      const known = routes.get(name)
      if (known) return known
      const meter = createRouteMeter(book, name)
      routes.set(name, meter)
      return meter
    },
    attempt(upstream, outcome) {
      const outcomes = attempts.get(upstream) ?? new Map<string, Series>()
      attempts.set(upstream, outcomes)
      const series =
        outcomes.get(outcome) ?? book.open('attempts_total', 'counter', { upstream, outcome })
      outcomes.set(outcome, series)
      series.add(1)
    },
    report() {
      observeProcess(book, process, delay)
      return book.take()
    },
    close: () => void delay.disable(),
  }
}

const createRouteMeter = (book: SeriesBook, route: string): RouteMeter => {
  const duration = book.open('request_seconds', 'histogram', { route })
  const own = book.open('added_seconds', 'histogram', { route })
  const bytesIn = book.open('received_bytes_total', 'counter', { route })
  const bytesOut = book.open('sent_bytes_total', 'counter', { route })
  const statuses: (Series | undefined)[] = []
  const kinds = new Map<string, { readonly series: Series; count: number }>()
  return {
    end(status, ms, added, received, sent) {
      let requests = statuses[status]
      if (!requests) {
        requests = book.open('requests_total', 'counter', { route, status: String(status) })
        statuses[status] = requests
      }
      requests.add(1)
      duration.observe(ms / 1000)
      own.observe(added / 1000)
      if (received > 0) bytesIn.add(received)
      bytesOut.add(sent)
    },
    open(kind) {
      let opened = kinds.get(kind)
      if (!opened) {
        opened = { series: book.open('open_streams', 'gauge', { route, kind }), count: 0 }
        kinds.set(kind, opened)
      }
      const { series } = opened
      const held = opened
      series.set(++held.count)
      let closed = false
      return () => {
        if (closed) return
        closed = true
        series.set(--held.count)
      }
    },
  }
}

type Delay = ReturnType<typeof monitorEventLoopDelay>

/** Records loop delay and memory of the process. The delay is that since the last report. */
const observeProcess = (book: SeriesBook, name: string, delay: Delay): void => {
  const quantiles = { p50: delay.percentile(50), p99: delay.percentile(99), max: delay.max }
  for (const [quantile, nanoseconds] of Object.entries(quantiles)) {
    const series = book.open('loop_delay_seconds', 'gauge', { process: name, quantile })
    series.set(Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0)
  }
  delay.reset()
  book.open('resident_bytes', 'gauge', { process: name }).set(process.memoryUsage.rss())
}
