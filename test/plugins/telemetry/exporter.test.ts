/** Metrics of a process at receivers that take cumulative ones, or those since the last report; and
 *  batches of spans. */
import t from 'tap'
import type { HostBase, OperatorRequest } from '../../../engine/plugin.ts'
import { Exporter } from '../../../plugins/telemetry/exporter.ts'
import type { Span } from '../../../plugins/telemetry/otlp.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'

const CALL = {
  operation: 'chat',
  provider: 'openai',
  model: 'm',
  error: '',
  seconds: 0.3,
  firstChunk: undefined,
  input: 10,
  output: 5,
  charged: 0.25,
}
interface ReportedMetric {
  readonly name: string
  readonly sum?: ReportedData
  readonly histogram?: ReportedData
}
interface ReportedData {
  readonly aggregationTemporality: number
  readonly dataPoints: readonly {
    readonly startTimeUnixNano: string
    readonly timeUnixNano: string
    readonly asDouble?: number
    readonly count?: string
    readonly bucketCounts?: readonly string[]
  }[]
}

/** `statuses`: of the next responses of both receivers, then 200. */
const startExporter = () => {
  const reports: { readonly url: string; readonly metrics: readonly ReportedMetric[] }[] = []
  const statuses: number[] = []
  const request = async (url: string, { body = '' }: OperatorRequest) => {
    const status = statuses.shift() ?? 200
    const { metrics } = JSON.parse(String(body)).resourceMetrics[0].scopeMetrics[0]
    if (status === 200) reports.push({ url, metrics })
    return { status, headers: { 'retry-after': '0' }, bytes: Buffer.from('{}'), text: '{}' }
  }
  const host = { log: SILENT_LOG, metrics: { count() {} }, request } as unknown as HostBase
  const receiver = { headers: {}, encoding: 'json' } as const
  const exporter = new Exporter(host, {
    receivers: [
      { ...receiver, url: 'http://all', temporality: 'cumulative' },
      { ...receiver, url: 'http://new', temporality: 'delta' },
    ],
    resource: {},
    conventions: 'gen_ai/0.1.0',
    currency: 'CNY',
    queue: 10,
    interval: 0,
  })
  /** Sums of a metric in the reports of a receiver. */
  const valuesOf = (receiver: string, name: string) =>
    reports
      .filter(({ url }) => url.startsWith(`http://${receiver}/`))
      .map(({ metrics }) => {
        const metric = metrics.find(each => each.name === name)
        const [point] = (metric?.sum ?? metric?.histogram)?.dataPoints ?? []
        return point?.asDouble ?? (point?.count === undefined ? undefined : Number(point.count))
      })
  return { exporter, reports, statuses, valuesOf }
}
t.test('exporter: a process without calls sends nothing', async t => {
  const { exporter, reports } = startExporter()
  await exporter.flush()
  await exporter.close()
  t.same(reports, [])
})

const [INPUT, DURATION] = [
  'gen_ai.client.inference.usage.input_tokens',
  'gen_ai.client.inference.duration',
]

t.test('exporter: a receiver of deltas gets what came since it last accepted', async t => {
  const { exporter, reports, statuses, valuesOf } = startExporter()
  exporter.measures.add(CALL)
  await exporter.flush()
  for (let calls = 0; calls < 2; calls++) exporter.measures.add(CALL)
  await exporter.flush()
  t.same(
    [valuesOf('all', INPUT), valuesOf('new', INPUT)],
    [
      [10, 30],
      [10, 20],
    ],
  )
  t.same(
    [valuesOf('all', DURATION), valuesOf('new', DURATION)],
    [
      [1, 3],
      [1, 2],
    ],
  )
  const deltas = reports.filter(({ url }) => url.startsWith('http://new/'))
  const [first, second] = deltas.map(
    ({ metrics }) => metrics.find(({ name }) => name === DURATION)?.histogram,
  )
  t.match([first?.aggregationTemporality, second?.aggregationTemporality], [1, 1])
  const [before, point] = [first?.dataPoints[0], second?.dataPoints[0]]
  t.equal(point?.startTimeUnixNano, before?.timeUnixNano, 'it begins where the last one ended')
  t.equal(
    point?.bucketCounts?.reduce((sum, each) => sum + Number(each), 0),
    2,
  )

  exporter.measures.add(CALL)
  statuses.push(503, 503)
  await exporter.flush()
  exporter.measures.add({ ...CALL, model: 'another', input: 7 })
  await exporter.flush()
  t.same(valuesOf('new', INPUT).slice(2), [10], 'what was refused comes with the next report')
  const last = reports.findLast(({ url }) => url.startsWith('http://new/'))?.metrics
  const points = last?.find(({ name }) => name === INPUT)?.sum?.dataPoints
  t.same(
    points?.map(({ asDouble }) => asDouble),
    [10, 7],
    'a new series begins at zero',
  )

  const { length } = deltas
  await exporter.flush()
  t.equal(valuesOf('new', INPUT).length, length + 1, 'without a change nothing is sizes')
  t.equal(valuesOf('all', INPUT).length, length + 2)
})

const SPAN: Span = {
  trace: '0'.repeat(32),
  id: '0'.repeat(16),
  parent: undefined,
  state: undefined,
  name: 'chat',
  kind: 'client',
  start: 0,
  end: 1,
  attributes: [],
  error: undefined,
}

t.test('exporter: a full batch is sizes at once, more than the queue takes is dropped', async t => {
  const sizes: number[] = []
  const dropped: number[] = []
  const accept: (() => void)[] = []
  const host = {
    log: SILENT_LOG,
    metrics: { count: (_name: string, _labels: object, by = 1) => void dropped.push(by) },
    async request(_url: string, { body }: OperatorRequest) {
      sizes.push(JSON.parse(String(body)).resourceSpans[0].scopeSpans[0].spans.length)
      const before = String(body)
      await new Promise<void>(resolve => accept.push(resolve))
      t.equal(String(body), before, 'it stays as it is while it is being sent')
      return { status: 200, headers: {}, bytes: Buffer.from('{}'), text: '{}' }
    },
  } as unknown as HostBase
  const exporter = new Exporter(host, {
    receivers: [{ url: 'http://a', headers: {}, encoding: 'json', temporality: 'cumulative' }],
    resource: {},
    conventions: 'gen_ai/0.1.0',
    currency: 'USD',
    queue: 600,
    interval: 60_000,
  })
  const add = (count: number) => {
    for (let span = 0; span < count; span++) exporter.add(SPAN)
  }
  add(511)
  t.same(sizes, [])
  add(1)
  t.same(sizes, [512])
  add(90)
  t.same(dropped, [1, 1], 'spans that are being sent have their place until they are accepted')
  accept[0]?.()
  while (sizes.length < 2) await new Promise(setImmediate)
  t.same(sizes, [512, 88])
  add(10)
  accept[1]?.()
  while (sizes.length < 3) await new Promise(setImmediate)
  t.same(sizes, [512, 88, 10])
  accept[2]?.()
})
