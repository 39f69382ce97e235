/** Plugin `resources`: objects that a provider keeps for an account, such as Gemini's files and
 *  cached contents. Each belongs to the account that made it, and stays at the address and the key
 *  that it was made with. */
import { oneOf } from '../../engine/config/shape.ts'
import type { Attempt, Exchange, Host, Next, Plugin, Slot, Stage } from '../../engine/plugin.ts'
import { hasModelStage } from '../catalogue/configured.ts'
import { isRealtime } from '../conversion/route-format.ts'
import { checkError } from '../conversion/upstream-error.ts'
import { clientDialect } from '../dialects/client-dialect.ts'
import { dialectOf } from '../dialects/index.ts'
import { formats } from '../formats/index.ts'
import { AT_PROVIDER } from '../slots.ts'
import { ABOUT } from './about.ts'
import { list } from './listing.ts'
import { keepTogether, namedResources } from './named-resources.ts'
import { OPERATIONS, writeRows } from './operations.ts'
import { FORMAT, keepsObjects, type Operation } from './places.ts'
import { type Resource, removeExpired, removeResource } from './rows.ts'
import { migrations } from './tables.ts'

const INLINE = 'inline'
const LISTS = { 'list-files': list('files'), 'list-caches': list('cachedContents') } as const
const CLEANUP_INTERVAL = 3_600_000
/** ms that a row outlives its object: until then its name is refused to other accounts. */
const ROW_RETENTION = 7 * 86_400_000
const FORM = /^\s*multipart\//i

const RESOURCE: Slot<Resource> = { name: 'provider resource' }

export default {
  schema: oneOf(
    'The operation of the route on objects that a provider keeps for the account. inline: its requests may name such objects, and go to the key that made them.',
    [...Object.keys(OPERATIONS), ...Object.keys(LISTS), INLINE],
    { type: 'string', examples: ['upload-file', 'create-cache'] },
  ).schema,
  default: INLINE,
  // `auth` sets the account, `model` the targets, `responses` what is read. `files` shares paths;
  // `meter` holds what the storage costs.
  after: ['auth', 'validate', 'model', 'responses'],
  before: ['files', 'meter', 'translate', 'sandbox'],
  migrations,
  setup(name, host): Stage {
    if (name === INLINE) return inlineStage(host)
    const view = LISTS[name as keyof typeof LISTS]
    if (view)
      return {
        answers: true,
        describe: () => ABOUT[name] ?? {},
        handle: (exchange, next) => (isForUs(exchange) ? view(exchange, host) : next()),
        explain: () => ({ resources: name }),
      }
    const operation = OPERATIONS[name]
    if (!operation) throw new Error(`there is no operation "${name}"`)
    if (name.startsWith('create-') || name.startsWith('upload-')) startCleanup(host)
    return operationStage(name, operation, host)
  },
} satisfies Plugin<string>

/** On paths that clients of several kinds share, only Google's mean objects at the provider. */
const isForUs = ({ request, route }: Exchange): boolean =>
  dialectOf(route) === 'google' || clientDialect(request) === 'google'

const startCleanup = (host: Host): void => {
  host.job('expired provider resources', CLEANUP_INTERVAL, async () => {
    await host.database.write([removeExpired(Date.now() - ROW_RETENTION)])
  })
}

/** On each route with a model, whatever becomes of its requests: a provider also counts the tokens
 *  of a file that a request names. */
const inlineStage = (host: Host): Stage => {
  const keepers = new Set(
    Object.entries(host.upstreams).flatMap(([name, view]) => (keepsObjects(view) ? [name] : [])),
  )
  const { route } = host
  if (keepers.size === 0 || !hasModelStage(route) || isRealtime(route)) return {}
  return {
    handle(exchange, next) {
      const mayReach = exchange.targets.some(({ upstream }) => keepers.has(upstream))
      const type = exchange.request.headers['content-type'] ?? ''
      return mayReach && !FORM.test(type) ? routeToNamed(exchange, host, next) : next()
    },
  }
}
const routeToNamed = async (exchange: Exchange, host: Host, next: Next): Promise<void> => {
  keepTogether(exchange, await namedResources(exchange, host))
  await next()
}

const operationStage = (name: string, operation: Operation, host: Host): Stage => ({
  describe: () => ABOUT[name] ?? {},
  explain: () => ({ resources: name }),
  async handle(exchange, next) {
    if (!isForUs(exchange)) return next()
    exchange.slots.set(AT_PROVIDER, true)
    const resource = await operation.start(exchange, host)
    if (resource) exchange.slots.set(RESOURCE, resource)
    await next()
    writeRows(exchange)
  },
  async forward(attempt, next) {
    if (!attempt.exchange.slots.get(AT_PROVIDER)) return next()
    const resource = attempt.exchange.slots.get(RESOURCE)
    operation.send?.(attempt, resource)
    await next()
    if (attempt.reply.status < 300) await operation.finish?.(attempt, resource, host)
    else await checkFailure(attempt, resource, host)
  },
})
/** The provider no longer has an object that expired early, or that the operator deleted. */
const checkFailure = async (attempt: Attempt, resource: Resource | undefined, host: Host) => {
  await checkError(host.log, formats.get(FORMAT) ?? {}, attempt)
  const { exchange, reply } = attempt
  if (resource && reply.status === 404) exchange.writes.add(removeResource(resource))
}
