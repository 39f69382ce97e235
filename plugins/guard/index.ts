/** Plugin `guard`: finds personal data, secrets and words of the operator in requests and answers,
 *  in every format, plain and streamed; blocks, masks or reports them. */
import { createHash } from 'node:crypto'
import { errors } from '../../engine/errors.ts'
import type { Json, Plugin } from '../../engine/plugin.ts'
import { routeFormat } from '../conversion/route-format.ts'
import { GUARD_VERSION } from '../slots.ts'
import { RouteGuard, verdictOf } from './guard.ts'
import { problemsIn } from './problems.ts'
import { ROUTE, SECTION } from './section.ts'

const fault = errors({
  GUARD_ROUTE: [
    500,
    'guards read requests of a wire format: the route needs `translate:`',
    { expose: true },
  ],
})

export default {
  schema: ROUTE.schema,
  sections: { guards: SECTION.schema },
  after: ['model', 'translate'],
  check: problemsIn,
  setup(options, host) {
    if (!routeFormat(host)) throw fault('GUARD_ROUTE')
    const guards = SECTION.read(host.section('guards'))
    const own = ROUTE.read(options).flatMap(name => {
      const guard = guards[name]
      return guard ? [new RouteGuard(name, guard, host)] : []
    })
    const version = versionOf(own.map(({ text }) => text))
    return {
      async handle(exchange, next) {
        exchange.slots.set(GUARD_VERSION, version)
        for (const guard of own) guard.attach(exchange)
        await next()
        const verdict = verdictOf(exchange)
        if (verdict !== '') exchange.reply.headers['x-tollgate-guard'] = verdict
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
