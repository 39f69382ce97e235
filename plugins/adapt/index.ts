/** Plugin `adapt`: brings requests into the form that their upstream expects, by its options
 *  `paths`, `query` and `body`. Other upstreams cost nothing. */
import { flag } from '../../engine/config/shape.ts'
import type { HostBase, Plugin } from '../../engine/plugin.ts'
import { readStrict } from '../conversion/client-format-option.ts'
import { DroppedFieldReport, isStrict } from '../conversion/dropped-fields.ts'
import { MODEL } from '../slots.ts'
import { type Adapter, createAdapter } from './adapter.ts'
import { readOptions, upstreamSchemas } from './options.ts'

const KEYS = Object.keys(upstreamSchemas)

export default {
  schema: flag(
    'Whether `paths`, `query` and `body` of upstreams apply on this route. They do by default.',
    { examples: [true] },
  ).schema,
  default: true,
  // Every other stage knows the usual paths and members. The sandbox answers requests unchanged.
  after: ['translate', 'embed', 'count', 'sandbox'],
  upstream: upstreamSchemas,
  check({ pipeline, upstreams }, report) {
    if (Array.isArray(pipeline) && pipeline.includes('adapt')) return
    for (const [name, options] of Object.entries(upstreams ?? {}))
      for (const key of KEYS)
        if (Object.hasOwn(options as object, key))
          report(
            ['upstreams', name, key],
            'ADAPT_MISSING',
            `"${key}" of an upstream needs the plugin "adapt" in the pipeline; add it at the end of \`pipeline:\``,
          )
  },
  setup(isActive, host) {
    const { route, log } = host
    const adapters = host.share('adapters', host.config.hash, () => adaptersOf(host.upstreams))
    if (!isActive || adapters.size === 0) return {}
    const strict = ['translate', 'embed'].some(plugin => readStrict(route.option(plugin)))
    return {
      async forward(attempt, next) {
        const fields = adapters.get(attempt.target.upstream)?.adapt(attempt) ?? []
        if (fields.length === 0) return next()
        const { exchange } = attempt
        const droppedFields = new DroppedFieldReport({})
        for (const field of fields) droppedFields.add(field)
        if (isStrict(strict, exchange)) droppedFields.refuse(exchange.slots.get(MODEL)?.asked ?? '')
        await next()
        droppedFields.report(attempt.reply, log, exchange.id)
      },
    }
  },
} satisfies Plugin<boolean>

/** The adapters of the upstreams that need one, for all routes. */
const adaptersOf = (upstreams: HostBase['upstreams']): ReadonlyMap<string, Adapter> =>
  new Map(
    Object.entries(upstreams).flatMap(([name, { options }]): [string, Adapter][] => {
      const adapter = createAdapter(readOptions(options as never))
      return adapter ? [[name, adapter]] : []
    }),
  )
