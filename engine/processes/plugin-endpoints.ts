/** Admin endpoints of plugins: the primary asks one worker over IPC, and the worker runs the handler. */
import { asFault } from '../errors.ts'
import type { AddressView, GatewayView, Log } from '../plugin.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Health } from '../upstream/health.ts'
import type { Upstream } from '../upstream/upstreams.ts'
import type { AdminReply, PluginEndpoints } from './admin-listener.ts'
import type { AdminQuestion, FromWorker } from './messages.ts'
import type { Crew } from './worker-pool.ts'

/** ms until an endpoint has to have answered. */
const PATIENCE = 30_000
type Answer = Extract<FromWorker, { type: 'admin' }>

const refusal = (status: number, code: string, message: string): AdminReply => ({
  status,
  body: { error: { code, message } },
})

// ---------------------------------------------------------------- in the primary

/** `names`: those of the version that serves. `view`: what the primary knows. */
export const pluginEndpoints = (
  crew: Crew,
  names: () => readonly string[],
  view: () => AdminQuestion['view'],
  patience = PATIENCE,
): PluginEndpoints => {
  let serial = 0
  return {
    names,
    async ask(request) {
      const member = crew.members.find(({ open }) => open)
      if (!member) return refusal(503, 'NO_WORKER', 'no worker serves; try again')
      const id = ++serial
      const answer = member.hearing.next(
        (message): message is Answer => message.type === 'admin' && message.id === id,
      )
      const { promise: late, resolve } = Promise.withResolvers<'late'>()
      const timer = setTimeout(() => resolve('late'), patience)
      member.send({ type: 'admin', id, request, view: view() })
      const found = await Promise.race([answer, late])
      clearTimeout(timer)
      if (found === 'late') return refusal(504, 'NO_ANSWER', `no answer within ${patience} ms`)
      if (!found) return refusal(503, 'WORKER_ENDED', 'the worker ended meanwhile; try again')
      return { status: found.status, body: found.body, type: 'application/json' }
    },
  }
}

// ---------------------------------------------------------------- in a worker

/** Runs the handler. Never rejects. */
export const answerAdmin = async (
  snapshot: Snapshot,
  { request, view }: AdminQuestion,
  log: Log,
): Promise<Pick<Answer, 'status' | 'body'>> => {
  const name = `${request.method} ${request.path}`
  const endpoint = snapshot.admin.get(name)
  if (!endpoint) return written(refusal(404, 'NO_ENDPOINT', `no plugin answers ${name}`))
  snapshot.retain()
  try {
    const query = new URLSearchParams(request.query)
    const value = await endpoint.answer({ ...request, query }, gatewayView(snapshot, view))
    return { status: 200, body: JSON.stringify(value ?? null) }
  } catch (thrown) {
    const { code, status, expose, message } = asFault(thrown)
    if (expose) return written(refusal(status, code, message))
    log.error({ error: thrown, plugin: endpoint.plugin, endpoint: name }, 'an endpoint threw')
    const words = `the plugin "${endpoint.plugin}" threw; the log has the stack`
    return written(refusal(500, 'ENDPOINT_THREW', words))
  } finally {
    snapshot.release()
  }
}
const written = ({ status, body }: AdminReply) => ({ status, body: JSON.stringify(body) })

const gatewayView = (snapshot: Snapshot, view: AdminQuestion['view']): GatewayView => ({
  ...view,
  routes: snapshot.routes.map(({ route, stages, targets }) => ({
    name: route.name,
    method: route.method,
    path: route.pattern,
    stages: stages.map(({ name }) => name),
    upstreams: targets.map(({ upstream }) => upstream),
  })),
  upstreams: Object.fromEntries(
    [...snapshot.upstreams].map(([name, upstream]) => [name, addressesOf(upstream)]),
  ),
})

const addressesOf = ({ origins, inside }: Upstream): AddressView[] => {
  const now = performance.now()
  return origins.map(({ origin }) => ({
    address: origin.address ?? `${inside}:`,
    state: stateOf(origin.health, now),
    busy: origin.busy,
  }))
}
/** As operators read it. */
export const stateOf = (health: Health, now: number): AddressView['state'] => {
  if (health.isEjected(now)) return 'ejected'
  if (health.needsProbe) return 'probing'
  return health.isAvailable(now) ? 'ready' : 'paused'
}
