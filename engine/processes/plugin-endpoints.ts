/** Admin endpoints of plugins: the primary forwards a request to one worker over IPC, and the
 *  worker runs the handler. */
import { routeViews } from '../config/compile/route-view.ts'
import { asFault } from '../errors.ts'
import type { GatewayView, LiveView, Log, PresentedCredential } from '../plugin.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { AdminReply, Authorize, PluginEndpoints } from './admin-listener.ts'
import type { AdminCall, FromWorker, ToWorker } from './messages.ts'
import type { WorkerPool } from './worker-pool.ts'

/** Longest wait for a reply, ms. */
const REPLY_TIMEOUT = 30_000
type AdminResult = Extract<FromWorker, { type: 'admin' }>

const refusal = (status: number, code: string, message: string): AdminReply => ({
  status,
  body: { error: { code, message } },
})

// ---------------------------------------------------------------- in the primary

/** Sends a message to one worker, and resolves to its result or to the refusal without one. */
export const createWorkerCalls = (pool: WorkerPool, timeout = REPLY_TIMEOUT) => {
  let serial = 0
  const call = async <Type extends 'admin' | 'authorized'>(
    type: Type,
    messageOf: (id: number) => ToWorker,
  ): Promise<Extract<FromWorker, { type: Type }> | AdminReply> => {
    const worker = pool.workers.find(({ open }) => open)
    if (!worker) return refusal(503, 'NO_WORKER', 'no worker is serving; try again')
    const id = ++serial
    const pending = worker.messages.next(
      (message): message is Extract<FromWorker, { type: Type }> =>
        message.type === type && 'id' in message && message.id === id,
    )
    const { promise: timedOut, resolve } = Promise.withResolvers<'timeout'>()
    const timer = setTimeout(() => resolve('timeout'), timeout)
    worker.send(messageOf(id))
    const reply = await Promise.race([pending, timedOut])
    clearTimeout(timer)
    if (reply === 'timeout') return refusal(504, 'NO_ANSWER', `no reply within ${timeout} ms`)
    return reply ?? refusal(503, 'WORKER_ENDED', 'the worker ended before it replied; try again')
  }
  return { call }
}
type WorkerCalls = ReturnType<typeof createWorkerCalls>

/** `names`: endpoints of the live version. `view`: the primary's view of the gateway. */
export const createPluginEndpoints = (
  { call }: WorkerCalls,
  names: () => readonly string[],
  view: () => AdminCall['view'],
): PluginEndpoints => ({
  names,
  async send(request) {
    const reply = await call('admin', id => ({ type: 'admin', id, request, view: view() }))
    if (!('type' in reply && reply.type === 'admin')) return reply
    const { status, body } = reply
    return { status, body, type: 'application/json' }
  },
})

/** Lets a worker find the operator of a credential: the primary knows none. */
export const createAuthorize =
  ({ call }: WorkerCalls): Authorize =>
  async credential => {
    const reply = await call('authorized', id => ({ type: 'authorize', id, credential }))
    return 'result' in reply ? reply.result : { refusal: reply }
  }

// ---------------------------------------------------------------- in a worker

/** Finds the operator of a credential, or the refusal. Never rejects. */
export const runAuthorization = async (
  snapshot: Snapshot,
  credential: PresentedCredential,
  log: Log,
): Promise<AuthorizeResult> => {
  const { authorize } = snapshot.admin
  if (!authorize) return { refusal: refusal(401, 'NO_AUTHORIZER', NO_AUTHORIZER) }
  snapshot.retain()
  try {
    const { id, name } = await authorize(credential)
    return { operator: { id, name } }
  } catch (error) {
    const { code, status, expose, message, headers } = asFault(error)
    if (expose)
      return { refusal: { ...refusal(status, code, message), ...(headers && { headers }) } }
    log.error({ error }, 'a credential could not be checked')
    const text = 'the credential could not be checked now; see the log'
    return { refusal: refusal(503, 'UNCHECKED', text) }
  } finally {
    snapshot.release()
  }
}
type AuthorizeResult = Awaited<ReturnType<Authorize>>
const NO_AUTHORIZER =
  'no plugin of this configuration knows operators (auth does): use the command line as the user of the gateway'

/** Runs the handler. Never rejects. */
export const runAdminEndpoint = async (
  snapshot: Snapshot,
  { request, view }: AdminCall,
  log: Log,
): Promise<Pick<AdminResult, 'status' | 'body'>> => {
  const name = `${request.method} ${request.path}`
  const endpoint = snapshot.admin.endpoints.get(name)
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
})
