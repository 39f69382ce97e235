/** Lists every metric family of the engine: kind, labels, help text. docs/metrics.md lists them too. */

export interface Family {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  readonly bounds?: readonly number[]
}

/** Bucket bounds in seconds, from a reply out of memory to a stream of ten minutes. */
export const WIDE: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
]
/** Bucket bounds in seconds of the time that the gateway adds. */
const ADDED_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
]

const counter = (help: string, ...labels: string[]): Family => ({ kind: 'counter', help, labels })
const gauge = (help: string, ...labels: string[]): Family => ({ kind: 'gauge', help, labels })
const histogram = (help: string, bounds: readonly number[], ...labels: string[]): Family => ({
  kind: 'histogram',
  help,
  labels,
  bounds,
})

/** Without the prefix `tollgate_` that every name gets in the exposition. */
export const FAMILIES: Readonly<Record<string, Family>> = {
  requests_total: counter('Requests that ended.', 'route', 'status'),
  cut_total: counter(
    'Replies that broke off, or ended with an error in their last event.',
    'route',
    'code',
  ),
  request_seconds: histogram('From the first byte in to the last byte out.', WIDE, 'route'),
  added_seconds: histogram('The part of it that the gateway itself took.', ADDED_BOUNDS, 'route'),
  received_bytes_total: counter('Bytes of request bodies.', 'route'),
  sent_bytes_total: counter('Bytes of reply bodies.', 'route'),
  open_streams: gauge('Streams and WebSockets open now.', 'route', 'kind'),
  attempts_total: counter('Attempts at upstreams, by how they ended.', 'upstream', 'outcome'),
  config_version: gauge('The version that serves.'),
  config_reload_ok: gauge('1 if the last reload went live, 0 if it had problems.'),
  reloads_total: counter('Reloads, by how they ended.', 'outcome'),
  workers: gauge('Workers that serve.'),
  worker_restarts_total: counter('Workers replaced, by why the old one ended.', 'reason'),
  unhandled_total: counter('Rejections of promises that nobody handled.'),
  loop_delay_seconds: gauge('Delay of the event loop lately.', 'process', 'quantile'),
  resident_bytes: gauge('Memory of a process.', 'process'),
}
