/** Plugin `guard`: finds personal data, secrets and words of the operator in requests and answers,
 *  in every format, plain and streamed; blocks, masks or reports them. */
import { createHash } from 'node:crypto'
import { errors } from '../../engine/errors.ts'
import type { Json, Plugin } from '../../engine/plugin.ts'
import { isRealtime, routeFormat } from '../conversion/route-format.ts'
import { GUARD_VERDICT, GUARD_VERSION } from '../slots.ts'
import { noteContent } from './answer-content.ts'
import { diagnoseWebhooks } from './doctor.ts'
import { RouteGuard } from './guard.ts'
import { CALLS_METRIC, TOKENS_METRIC } from './model-decision.ts'
import { adviseOnGuards, problemsIn } from './problems.ts'
import { RealtimeStage } from './realtime-stage.ts'
import { ROUTE, SECTION } from './section.ts'

const fault = errors({
  GUARD_ROUTE: [
    500,
    'guards read requests of a wire format: the route needs `translate:` or `realtime:`',
    { expose: true },
  ],
})

export default {
  schema: ROUTE.schema,
  sections: { guards: SECTION.schema },
  after: ['model', 'translate'],
  // It changes messages of upstreams after their usage is counted.
  before: ['realtime'],
  check: problemsIn,
  lint: adviseOnGuards,
  doctor: diagnoseWebhooks,
  metrics: {
    [CALLS_METRIC]: 'Calls of the models of guards, by guard and result: `ok` or `failed`.',
    [TOKENS_METRIC]: 'Tokens of the models of guards, which you pay, by guard and meter.',
  },
  setup(options, host) {
    const format = routeFormat(host)
    if (!format && !isRealtime(host.route)) throw fault('GUARD_ROUTE')
    const guards = SECTION.read(host.section('guards'))
    const own = ROUTE.read(options).flatMap(name => {
      const guard = guards[name]
      return guard ? [new RouteGuard(name, guard, host)] : []
    })
    if (!format) return new RealtimeStage(own)
    const version = versionOf(own.map(({ text }) => text))
    return {
      async handle(exchange, next) {
        exchange.slots.set(GUARD_VERSION, version)
        const filters = own.flatMap(guard => guard.attach(exchange) ?? [])
        if (own.some(guard => guard.mayChargeLess)) noteContent(exchange)
        await next()
        const { reply, slots } = exchange
        if (reply.status < 300) for (const filter of filters) reply.through(filter())
        const verdict = slots.get(GUARD_VERDICT)
        if (verdict !== undefined) reply.headers['x-tollgate-guard'] = verdict
      },
      describe: () => ({
        headers: { 'x-tollgate-guard': 'What guards have done with the request: `pii=masked(2)`' },
      }),
      explain: (): Json => ({ guards: options }),
    }
  },
} satisfies Plugin<string | readonly string[]>

const versionOf = (texts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(texts)).digest('hex')
