/** Admin endpoints of plugins: the primary forwards a request to one worker over IPC, and the
 *  worker runs the handler. */
import { routeViews } from '../config/compile/route-view.ts'
import { asFault } from '../errors.ts'
import type { GatewayView, LiveView, Log } from '../plugin.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { AdminReply, PluginEndpoints } from './admin-listener.ts'
import { healthOf } from './gateway/health.ts'
import type { AdminCall, FromWorker } from './messages.ts'
import type { WorkerPool } from './worker-pool.ts'

/** Longest wait for a reply, ms. */
const REPLY_TIMEOUT = 30_000
type AdminResult = Extract<FromWorker, { type: 'admin' }>

const refusal = (status: number, code: string, message: string): AdminReply => ({
  status,
  body: { error: { code, message } },
})

// ---------------------------------------------------------------- in the primary

/** `names`: endpoints of the live version. `view`: the primary's view of the gateway. */
export const createPluginEndpoints = (
  pool: WorkerPool,
  names: () => readonly string[],
  view: () => AdminCall['view'],
  timeout = REPLY_TIMEOUT,
): PluginEndpoints => {
  let serial = 0
  return {
    names,
    async send(request) {
      const worker = pool.workers.find(({ open }) => open)
      if (!worker) return refusal(503, 'NO_WORKER', 'no worker is serving; try again')
      const id = ++serial
      const pending = worker.messages.next(
        (message): message is AdminResult => message.type === 'admin' && message.id === id,
      )
      const { promise: timedOut, resolve } = Promise.withResolvers<'timeout'>()
      const timer = setTimeout(() => resolve('timeout'), timeout)
      worker.send({ type: 'admin', id, request, view: view() })
      const reply = await Promise.race([pending, timedOut])
      clearTimeout(timer)
      if (reply === 'timeout') return refusal(504, 'NO_ANSWER', `no reply within ${timeout} ms`)
      if (!reply)
        return refusal(503, 'WORKER_ENDED', 'the worker ended before it replied; try again')
      return { status: reply.status, body: reply.body, type: 'application/json' }
    },
  }
}

// ---------------------------------------------------------------- in a worker

/** Runs the handler. Never rejects. */
export const runAdminEndpoint = async (
  snapshot: Snapshot,
  { request, view }: AdminCall,
  log: Log,
): Promise<Pick<AdminResult, 'status' | 'body'>> => {
  const name = `${request.method} ${request.path}`
  const endpoint = snapshot.admin.get(name)
  if (!endpoint) return encodeBody(refusal(404, 'NO_ENDPOINT', `no plugin has an endpoint ${name}`))
  snapshot.retain()
  try {
    const query = new URLSearchParams(request.query)
    const value = await endpoint.answer({ ...request, query }, gatewayView(snapshot, view))
    return { status: 200, body: JSON.stringify(value ?? null) }
  } catch (error) {
    const { code, status, expose, message } = asFault(error)
    if (expose) return encodeBody(refusal(status, code, message))
    log.error({ error: error, plugin: endpoint.plugin, endpoint: name }, 'an endpoint threw')
    const text = `the plugin "${endpoint.plugin}" threw an error; see the log for the stack`
    return encodeBody(refusal(500, 'ENDPOINT_THREW', text))
  } finally {
    snapshot.release()
  }
}
const encodeBody = ({ status, body }: AdminReply) => ({ status, body: JSON.stringify(body) })

const gatewayView = (snapshot: Snapshot, view: LiveView): GatewayView => ({
  ...view,
  routes: routeViews(snapshot.routes),
  ...healthOf(snapshot.upstreams),
})
