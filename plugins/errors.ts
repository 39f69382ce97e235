/** Plugin `errors`: renders every fault of a route in its clients' dialect, including 404, 405,
 *  drain and failed commits. */
import { oneOf } from '../engine/config/shape.ts'
import { errors } from '../engine/errors.ts'
import { LOG_FIELDS } from '../engine/kit.ts'
import type { Attempt, Exchange, Fault, Host, Next, Plugin, Request } from '../engine/plugin.ts'
import { blameIn, mayBlame } from './conversion/account-error.ts'
import { accountFault, ERROR_LIMIT } from './conversion/upstream-error.ts'
import { clientDialect } from './dialects/client-dialect.ts'
import {
  type DialectName,
  dialects,
  errorSchema,
  pingOf,
  render,
  streams,
} from './dialects/index.ts'
import { createRouteHint } from './dialects/route-hint.ts'
import { COMMIT_FAULTS } from './slots.ts'

export default {
  schema: oneOf('The dialect of error responses on this route.', Object.keys(dialects), {
    type: 'string',
    examples: ['openai'],
  }).schema,
  default: 'openai',
  setup: (dialect, host) => createStage(dialect, host),
} satisfies Plugin<DialectName>

const createStage = (dialect: DialectName, host: Host) => {
  const readsErrors = READERS.some(name => host.route.option(name) !== undefined)
  const [ownPath = ''] = host.route.pattern.split('{')
  // Clients of several kinds share these paths, such as /v1/models and those without a route.
  const isShared = ({ path }: Request): boolean =>
    dialect === 'openai' && (!readsErrors || !path.startsWith(ownPath))
  return {
    streams: (request: Request) => streams(dialect, request),
    ...pingOf(dialect),
    fail: (fault: Fault, exchange: Exchange) => {
      const ownFault = exchange.slots.get(COMMIT_FAULTS)?.[fault.code] ?? fault
      const { request } = exchange
      const ownDialect = isShared(request) ? (clientDialect(request) ?? dialect) : dialect
      const visible = withHint(ownFault, exchange, host)
      // No other stage knows the hint.
      if (visible.code === 'ROUTE_NOT_FOUND')
        exchange.slots.set(LOG_FIELDS, { message: visible.message })
      return render(ownDialect, visible, exchange)
    },
    describe: () => ({ error: errorSchema(dialect) }),
    explain: () => ({ dialect }),
    ...(!readsErrors && {
      forward: (attempt: Attempt, next: Next) => next().then(() => checkAccount(attempt, host)),
    }),
  }
}

/** Plugins that read error responses of upstreams themselves. */
const READERS = ['translate', 'embed', 'count', 'task', 'realtime']

/** On other routes, error responses pass unchanged, except those about the gateway's own key,
 *  permissions or billing at the upstream. */
const checkAccount = async (attempt: Attempt, { log }: Pick<Host, 'log'>): Promise<void> => {
  // A plugin that sends to one place, as `upstreams test` does, reads the refusal itself.
  if (attempt.target.pin) return
  const { reply } = attempt
  const { status, headers } = reply
  if (!mayBlame(status)) return
  const text = Buffer.from(await reply.bytes(ERROR_LIMIT)).toString()
  if (blameIn(status, text) !== 'key') return
  const wait = headers['retry-after']
  const reason = accountFault(log, attempt, { status, text, ...(wait !== undefined && { wait }) })
  if (reason) throw reason
}

const faultOf = errors({ ROUTE_NOT_FOUND: [404, '%s; did you mean %s?'] })
/** Names the route that the client meant, if a URL without a route resembles one. */
const withHint = (
  fault: Fault,
  { request }: Exchange,
  host: Pick<Host, 'section' | 'share' | 'config'>,
): Fault => {
  if (fault.code !== 'ROUTE_NOT_FOUND') return fault
  const hint = host.share('errors/route-hint', host.config.hash, () => ({
    find: createRouteHint(host),
  }))
  const path = request.path.split('?', 1)[0] ?? ''
  const route = hint.find(request.method, path)
  // A route may leave some of its requests to others, as the console does.
  return route === undefined || route === `${request.method} ${path}`
    ? fault
    : faultOf('ROUTE_NOT_FOUND', [fault.message, route])
}
