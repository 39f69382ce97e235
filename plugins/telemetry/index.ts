/** Plugin `telemetry`: sends traces and metrics of calls to receivers of OpenTelemetry. Without
 *  the section `telemetry:` it costs nothing. */
import { randomUUID } from 'node:crypto'
import { object } from '../../engine/config/shape.ts'
import { isFields } from '../../engine/kit.ts'
import type { Host, HostBase, Json, Plugin } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { routeFormat } from '../conversion/route-format.ts'
import { diagnoseReceivers } from './doctor.ts'
import { Exporter } from './exporter.ts'
import { Recorder } from './recorder.ts'
import { type RawSection, receiversOf, SECTION, type Section } from './section.ts'
import { providerOf } from './semantics.ts'

/** ms between two sends. */
const INTERVAL = 1_000

export default {
  schema: object(
    'Nothing to set: the section `telemetry:` says where calls are reported.',
    {},
    { examples: [{}] },
  ).schema,
  default: {},
  before: ['observe', 'auth', 'meter'],
  sections: { telemetry: SECTION.schema },
  metrics: {
    telemetry_dropped_total:
      'Spans that a receiver of telemetry rejected, or for which its queue had no place.',
  },
  lint({ telemetry, pipeline }, advise) {
    if (!isFields(telemetry) || (Array.isArray(pipeline) && pipeline.includes('telemetry'))) return
    const message = 'nothing is sent: `pipeline:` has no `telemetry`; add it before `observe`'
    advise(['telemetry'], 'warning', 'TELEMETRY_UNUSED', message)
  },
  doctor: diagnoseReceivers,
  setup(_, host: Host) {
    const raw = host.section<Partial<RawSection>>('telemetry')
    if (raw.to === undefined) return {}
    const section = SECTION.read(raw as RawSection)
    const recorder = new Recorder({
      section,
      exporter: sharedExporter(host, section),
      currency: configuredCurrency(host).name,
      finish: routeFormat(host)?.finish,
      provider: providersOf(host),
    })
    return {
      handle(exchange, next) {
        recorder.begin(exchange)
        return next()
      },
      forward: (attempt, next) => recorder.attempt(attempt, next),
    }
  },
} satisfies Plugin<object>

/** One in each process, for one text of the section. */
const sharedExporter = (host: HostBase, section: Section): Exporter => {
  const create = () =>
    new Exporter(host, {
      receivers: receiversOf(section),
      queue: section.queue,
      interval: section.metrics,
      conventions: section.conventions,
      currency: configuredCurrency(host).name,
      resource: { 'service.name': section.service, 'service.instance.id': randomUUID() },
    })
  const exporter = host.share(
    'telemetry',
    JSON.stringify([host.section('telemetry'), configuredCurrency(host).name]),
    create,
  )
  host.job('telemetry', INTERVAL, () => exporter.flush(), { each: true })
  return exporter
}

/** The provider of each upstream, by its addresses. */
const providersOf = (host: HostBase): ((upstream: string) => string) => {
  const providers = new Map<string, string>()
  for (const [name, options] of Object.entries(host.section<Record<string, Json>>('upstreams'))) {
    const { url, provider } = isFields(options) ? options : {}
    const urls = [url, provider].flat().filter(each => typeof each === 'string')
    providers.set(name, providerOf(name, urls))
  }
  return upstream => providers.get(upstream) ?? upstream
}
