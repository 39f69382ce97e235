/** Metrics of one process, and their sums over all processes, also ended ones. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createMetrics, type GatewayMetrics } from '../../../engine/observe/metrics.ts'
import { createExposition, METRIC_FAMILIES } from '../../../engine/processes/metrics-exposition.ts'

const metricsFor = (t: Test, process?: string): GatewayMetrics => {
  const metrics = createMetrics(process)
  t.teardown(metrics.close)
  return metrics
}
const seriesValue = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find(each => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

const pageOf = (name: string): string =>
  readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8')
const rowsOf = (page: string) =>
  page.split('\n').flatMap(line => {
    const [, name, kind, labels, help] =
      /^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$/.exec(line) ?? []
    return name === undefined ? [] : [[name, kind, labels?.match(/\w+/g) ?? [], help] as const]
  })
const [ENGINE = '', PLUGINS = ''] = pageOf('metrics').split('Metrics of plugins:')

t.test('metrics: docs/metrics.md lists every family with kind, labels and meaning', async t => {
  const families = Object.entries(METRIC_FAMILIES).map(([name, { kind, labels, help }]) => [
    name,
    kind,
    labels,
    help,
  ])
  t.strictSame(rowsOf(ENGINE), families)
})

const METRIC_CALL = /\bmetrics\.(count|gauge|time)\(\s*'(\w+)'/g
const KINDS: Readonly<Record<string, string>> = {
  count: 'counter',
  gauge: 'gauge',
  time: 'histogram',
}
/** The text with the names of metrics in place of its constants for them. */
const withNames = (text: string): string =>
  [...text.matchAll(/const ([A-Z]\w*) = ('\w+')/g)].reduce(
    (all, [, constant = '', name = '']) =>
      all.replace(new RegExp(`\\(\\s*${constant},`, 'g'), `(${name},`),
    text,
  )
t.test('metrics: docs/metrics.md or docs/webhooks.md lists every metric of a plugin', async t => {
  const plugins = fileURLToPath(new URL('../../../plugins/', import.meta.url))
  const pluginMetrics = globSync('**/*.ts', { cwd: plugins }).flatMap(file =>
    [...withNames(readFileSync(join(plugins, file), 'utf8')).matchAll(METRIC_CALL)].map(
      ([, method = '', name]) => [name, KINDS[method]],
    ),
  )
  const documentedMetrics = rowsOf(PLUGINS + pageOf('webhooks')).map(([name, kind]) => [name, kind])
  t.strictSame(new Set(documentedMetrics.map(String)), new Set(pluginMetrics.map(String)))
})

t.test('metrics: requests are counted by route and status, with time and bytes', async t => {
  const metrics = metricsFor(t)
  metrics.route('list').end(200, 40, 2, 10, 1000)
  metrics.route('list').end(200, 3000, 0.3, 0, 500)
  metrics.route('list').end(404, 1, 1, 0, 20)
  const exposition = createExposition()
  exposition.absorb('worker 1', metrics.report())
  const text = await exposition.text()
  t.equal(seriesValue(text, 'tollgate_requests_total{route="list",status="200"}'), 2)
  t.equal(seriesValue(text, 'tollgate_requests_total{route="list",status="404"}'), 1)
  t.equal(seriesValue(text, 'tollgate_received_bytes_total{route="list"}'), 10)
  t.equal(seriesValue(text, 'tollgate_sent_bytes_total{route="list"}'), 1520)
  t.equal(seriesValue(text, 'tollgate_request_seconds_bucket{route="list",le="0.05"}'), 2)
  t.equal(seriesValue(text, 'tollgate_request_seconds_bucket{route="list",le="+Inf"}'), 3)
  t.equal(seriesValue(text, 'tollgate_request_seconds_count{route="list"}'), 3)
  t.equal(seriesValue(text, 'tollgate_added_seconds_bucket{route="list",le="0.0005"}'), 1)
  t.ok(
    Math.abs((seriesValue(text, 'tollgate_added_seconds_sum{route="list"}') ?? 0) - 0.0033) < 1e-9,
  )
  t.match(text, '# TYPE tollgate_requests_total counter')
})

t.test('metrics: sums include all workers, also ended ones', async t => {
  const [one, two] = [metricsFor(t, 'worker 1'), metricsFor(t, 'worker 2')]
  const exposition = createExposition()
  const scrape = async () => {
    exposition.absorb('worker 1', one.report())
    exposition.absorb('worker 2', two.report())
    return exposition.text()
  }
  const requests = 'tollgate_requests_total{route="r",status="200"}'
  const open = 'tollgate_open_streams{route="r",kind="sse"}'
  for (const metrics of [one, two, two]) metrics.route('r').end(200, 1, 1, 0, 0)
  one.route('r').open('sse')
  const close = two.route('r').open('sse')
  t.equal(seriesValue(await scrape(), requests), 3)
  t.equal(seriesValue(await scrape(), requests), 3, 'a second scrape adds nothing')
  t.equal(seriesValue(await scrape(), open), 2)
  close()
  close()
  t.equal(seriesValue(await scrape(), open), 1)
  exposition.forget('worker 1')
  const text = await exposition.text()
  t.equal(seriesValue(text, requests), 3)
  t.equal(seriesValue(text, open), 0, 'streams of an ended worker are closed')
  t.equal(seriesValue(text, 'tollgate_resident_bytes{process="worker 1"}'), undefined)
  t.ok(seriesValue(text, 'tollgate_resident_bytes{process="worker 2"}'))
  t.ok(
    Number(seriesValue(text, 'tollgate_loop_delay_seconds{process="worker 2",statistic="p99"}')) >=
      0,
  )
})

t.test('metrics: a loop that waits has no delay', async t => {
  const metrics = metricsFor(t, 'w')
  const exposition = createExposition()
  const series = 'tollgate_loop_delay_seconds{process="w",statistic="p50"}'
  const isIdle = async (): Promise<boolean> => {
    await pause(200)
    exposition.absorb('w', metrics.report())
    return Number(seriesValue(await exposition.text(), series)) < 0.01
  }
  let reports = 0
  while (reports < 100 && !(await isIdle())) reports++
  t.ok(reports < 100, 'the interval between two samples is not a delay')
})

t.test('metrics: plugins can have counters, timers and gauges', async t => {
  const metrics = metricsFor(t)
  metrics.count('limit_refused_total', { by: 'rate' })
  metrics.count('limit_refused_total', { by: 'rate' }, 2)
  metrics.time('lookup_seconds', {}, 0.2)
  metrics.gauge('lookups_waiting', { kind: 'a"b' }, 4)
  const exposition = createExposition()
  exposition.absorb('w', metrics.report())
  const text = await exposition.text()
  t.equal(seriesValue(text, 'tollgate_limit_refused_total{by="rate"}'), 3)
  t.equal(seriesValue(text, 'tollgate_lookup_seconds_bucket{le="0.25"}'), 1)
  t.equal(seriesValue(text, 'tollgate_lookups_waiting{kind="a\\"b"}'), 4)
})

t.test('metrics: a label with arbitrary values uses bounded memory', async t => {
  const metrics = metricsFor(t)
  for (let index = 0; index < 6000; index++) metrics.count('calls_total', { who: `c${index}` })
  const samples = metrics.report().filter(sample => sample.name === 'calls_total')
  t.equal(samples.length, 5001)
  t.strictSame(samples.find(sample => sample.labels.who === 'other')?.values, [1000])
})
