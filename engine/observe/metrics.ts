/** The numbers of one process: bumped in arrays on the hot path, handed to the primary as increments. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics } from '../plugin.ts'
import { FAMILIES, WIDE } from './metrics-table.ts'

type Labels = Readonly<Record<string, string>>
export type Kind = 'counter' | 'gauge' | 'histogram'
/** What changed since the last report. Counters and histograms: increments; gauges: the value itself. */
export interface Sample {
  readonly name: string
  readonly kind: Kind
  readonly labels: Labels
  /** One number; of a histogram one per bucket, then one beyond the last bound, then the sum. */
  readonly values: readonly number[]
}

/** The meters a server bumps: looked up once, kept as long as the snapshot. Times are in ms. */
interface RouteMeter {
  /** A request is over. `added`: ms that the gateway itself took of them. */
  end(status: number, ms: number, added: number, received: number, sent: number): void
  /** A stream (`sse`) or a connection (`websocket`) that stays open. Returns how to close it, once. */
  open(kind: string): () => void
}
export interface GatewayMetrics extends Metrics {
  route(name: string): RouteMeter
  /** One attempt at an upstream is over: `answered`, or the code of the fault. */
  attempt(upstream: string, outcome: string): void
  /** Everything that changed since the last call. */
  report(): Sample[]
  close(): void
}

/** One line of the exposition. */
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
  /** Most observations are small, so the scan from below is short. */
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

// A label that takes any value a client sends must not fill the memory.
const SERIES_KEPT = 5000

/** Finds a series by its name and labels. */
const createBook = () => {
  const all = new Map<string, Series>()
  const sizes = new Map<string, number>()
  const open = (name: string, kind: Kind, labels: Labels): Series => {
    let key = name
    for (const label in labels) key += `\n${labels[label]}`
    const found = all.get(key)
    if (found) return found
    const size = sizes.get(name) ?? 0
    if (size >= SERIES_KEPT && !Object.values(labels).every(value => value === OTHER)) {
      return open(name, kind, Object.fromEntries(Object.keys(labels).map(label => [label, OTHER])))
    }
    sizes.set(name, size + 1)
    const series = new Series(name, kind, { ...labels }, FAMILIES[name]?.bounds ?? WIDE)
    all.set(key, series)
    return series
  }
  const take = (): Sample[] => [...all.values()].flatMap(series => series.take() ?? [])
  return { open, take }
}
type Book = ReturnType<typeof createBook>
const OTHER = 'other'

export const createMetrics = (process = 'worker'): GatewayMetrics => {
  const book = createBook()
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

const createRouteMeter = (book: Book, route: string): RouteMeter => {
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

/** What each process knows about itself; the delay is that of the time since the last report. */
const observeProcess = (book: Book, process: string, delay: Delay): void => {
  const quantiles = { p50: delay.percentile(50), p99: delay.percentile(99), max: delay.max }
  for (const [quantile, nanoseconds] of Object.entries(quantiles)) {
    const series = book.open('loop_delay_seconds', 'gauge', { process, quantile })
    series.set(Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0)
  }
  delay.reset()
  book.open('resident_bytes', 'gauge', { process }).set(residentBytes())
}
const residentBytes = (): number => process.memoryUsage.rss()
