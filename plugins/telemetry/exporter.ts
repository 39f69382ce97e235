/** Sends spans and metrics of one process to all receivers: a bounded queue for each, in batches,
 *  again after failures that may pass. */
import { type HeaderFields, retryAfterIn } from '../../engine/kit.ts'
import type { Bytes, HostBase, Metrics } from '../../engine/plugin.ts'
import { deltasOf } from './deltas.ts'
import { Measures } from './measures.ts'
import type { Attributes, Encoder, Metric, Span } from './otlp.ts'
import { json } from './otlp-json.ts'
import { protobuf } from './otlp-protobuf.ts'
import type { Conventions, Receiver } from './section.ts'
import { METRICS } from './semantics.ts'
import { SpanPage } from './span-page.ts'

/** Spans of one request to a receiver. */
const BATCH = 512
/** ms until the whole response has arrived. */
const TIMEOUT = 10_000
/** ms between attempts, doubled after each failure. */
const PAUSE = 1_000
const LONGEST_PAUSE = 60_000
/** Statuses after which OTLP sends again. */
const TRANSIENT = new Set([429, 502, 503, 504])

export const ENCODERS: Readonly<Record<Receiver['encoding'], Encoder>> = { json, protobuf }

export interface ExporterOptions {
  readonly receivers: readonly Receiver[]
  /** Attributes of the service. */
  readonly resource: Attributes
  readonly conventions: Conventions
  readonly currency: string
  /** Most spans that wait for a receiver. */
  readonly queue: number
  /** ms between two reports of metrics. */
  readonly interval: number
}

export class Exporter {
  readonly measures: Measures
  readonly #queues: readonly Queue[]
  /** By encoding, so that a span is encoded once. */
  readonly #groups: readonly (readonly [Encoder, readonly Queue[]])[]
  readonly #options: ExporterOptions
  #reported = Date.now()
  constructor(host: Pick<HostBase, 'log' | 'metrics' | 'request'>, options: ExporterOptions) {
    this.#options = options
    this.measures = new Measures(METRICS[options.conventions])
    this.#queues = options.receivers.map(receiver => new Queue(host, receiver, options))
    this.#groups = [...Map.groupBy(this.#queues, ({ encoder }) => encoder)]
  }
  add(span: Span): void {
    for (const [encoder, queues] of this.#groups) {
      const open = queues.filter(queue => queue.hasPlace())
      if (open.length === 0) continue
      // Now, since the objects of a span would outlive many young generations of the heap.
      const encoded = encoder.span(span)
      for (const queue of open) queue.add(encoded)
    }
  }
  /** Sends what waits, and metrics if their time has come. */
  async flush(): Promise<void> {
    const isDue = Date.now() - this.#reported >= this.#options.interval
    if (isDue) this.#reported = Date.now()
    await Promise.all(this.#queues.map(queue => this.#send(queue, isDue)))
  }
  /** The last flush: what a receiver does not accept at once is dropped. */
  async close(): Promise<void> {
    await Promise.all(this.#queues.map(queue => this.#send(queue, true)))
  }
  async #send(queue: Queue, withMetrics: boolean): Promise<void> {
    if (withMetrics) queue.report = this.measures.read(this.#options.currency)
    await queue.flush()
  }
}

/** The records that wait for one receiver. */
class Queue {
  /** The next report of metrics. A later one replaces it, since all are cumulative. */
  report: readonly Metric[] | undefined
  /** The last report that was done with. */
  #reported: readonly Metric[] | undefined
  readonly encoder: Encoder
  /** The first one is sent next; only the last one takes spans, unless it is being sent. */
  readonly #pages: SpanPage[] = []
  /** A page to use again. */
  #free: SpanPage | undefined
  /** Spans in all pages. */
  #count = 0
  #isSending = false
  #failures = 0
  #next = 0
  readonly #host: Pick<HostBase, 'log' | 'metrics' | 'request'>
  readonly #receiver: Receiver
  readonly #address: URL
  readonly #options: ExporterOptions
  constructor(
    host: Pick<HostBase, 'log' | 'metrics' | 'request'>,
    receiver: Receiver,
    options: ExporterOptions,
  ) {
    this.#host = host
    this.#receiver = receiver
    this.#address = new URL(receiver.url)
    this.encoder = ENCODERS[receiver.encoding]
    this.#options = options
  }
  /** Whether it takes another span; one that it has no place for counts as dropped. */
  hasPlace(): boolean {
    const isFull = this.#count >= this.#options.queue
    if (isFull) this.#drop(1)
    return !isFull
  }
  /** A full batch is sent at once. */
  add(span: Bytes): void {
    const page = this.#openPage()
    page.add(span)
    this.#count++
    if (page.count === BATCH) void this.flush()
  }
  #openPage(): SpanPage {
    const last = this.#pages.at(-1)
    const isOpen = last && last.count < BATCH && !(this.#isSending && this.#pages.length === 1)
    if (isOpen) return last
    const page = this.#free ?? new SpanPage(this.encoder)
    this.#free = undefined
    this.#pages.push(page)
    return page
  }
  async flush(): Promise<void> {
    if (this.#isSending || Date.now() < this.#next) return
    this.#isSending = true
    try {
      for (let page = this.#pages[0]; page; page = this.#pages[0]) {
        const body = page.body(this.#options.resource)
        if (!(await this.#post('/v1/traces', body, page.count))) return
        this.#pages.shift()
        this.#count -= page.count
        page.clear()
        this.#free = page
      }
      await this.#sendReport()
    } finally {
      this.#isSending = false
    }
  }
  async #sendReport(): Promise<void> {
    const { report } = this
    if (!report) return
    const isDelta = this.#receiver.temporality === 'delta'
    const metrics = isDelta ? deltasOf(report, this.#reported) : report
    // A process without calls, such as a command, has nothing to say.
    if (metrics.some(({ points }) => points.length > 0)) {
      const body = this.encoder.metrics(this.#options.resource, metrics)
      if (!(await this.#post('/v1/metrics', body, 0))) return
    }
    this.#reported = report
    if (this.report === report) this.report = undefined
  }
  /** Whether it is done with: accepted, or refused for good. `spans`: how many the body has. */
  async #post(path: string, body: string | Bytes, spans: number): Promise<boolean> {
    const { url, headers } = this.#receiver
    try {
      const response = await this.#host.request(url + path, {
        method: 'POST',
        headers: { 'content-type': this.encoder.contentType, ...headers },
        body,
        timeout: TIMEOUT,
        keepAlive: true,
      })
      if (TRANSIENT.has(response.status))
        return this.#pause(`status ${response.status}`, response.headers)
      this.#failures = 0
      if (response.status < 300) this.#drop(this.encoder.rejectedIn(response))
      else {
        this.#drop(spans)
        this.#warn(`refused ${spans} spans with status ${response.status}`)
      }
      return true
    } catch (error) {
      return this.#pause((error as Error).message)
    }
  }
  #pause(reason: string, headers: HeaderFields = {}): false {
    const pause = Math.min(PAUSE * 2 ** this.#failures, LONGEST_PAUSE)
    if (this.#failures++ === 0) this.#warn(`does not accept it (${reason}); it is tried again`)
    this.#next = Date.now() + Math.min(retryAfterIn(headers) ?? pause, LONGEST_PAUSE)
    return false
  }
  #warn(message: string): void {
    this.#host.log.warn({ receiver: this.#address.origin }, `the receiver of telemetry ${message}`)
  }
  #drop(spans: number): void {
    const metrics: Metrics = this.#host.metrics
    if (spans > 0) metrics.count('telemetry_dropped_total', { receiver: this.#address.host }, spans)
  }
}
