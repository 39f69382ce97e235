/** The calls of `host.gateway` as the primary answers them. */
import { asFault, errors } from '../../errors.ts'
import type { GatewayStatus, LiveView, ReloadReport } from '../../plugin.ts'
import { ofType } from '../message-waiter.ts'
import type { GatewayCall, GatewayResult, Inspection } from '../messages.ts'
import type { Exposition } from '../metrics-exposition.ts'
import type { WorkerHandle } from '../worker-handle.ts'
import { type HealthView, mergeHealth } from './health.ts'

export interface OperationParts {
  readonly reloader: {
    reload(): Promise<ReloadReport>
    rollback(to: number | 'previous'): Promise<ReloadReport>
  }
  readonly pool: { readonly workers: readonly WorkerHandle[] }
  readonly builder: { inspect(inspection: Inspection): Promise<unknown> }
  readonly exposition: Pick<Exposition, 'read'>
  view(): LiveView
}
/** Longest wait for the health that a worker reports, ms. */
const HEALTH_TIMEOUT = 1_000

const fault = errors({
  NO_GATEWAY: [503, 'The gateway does not serve yet. Retry.'],
})

/** Runs a call. Never rejects. `parts`: undefined until the gateway serves. */
export const answerCall = async (
  parts: OperationParts | undefined,
  id: number,
  call: GatewayCall,
): Promise<GatewayResult> => {
  try {
    if (!parts) throw fault('NO_GATEWAY')
    return { id, result: await run(parts, call) }
  } catch (error) {
    const { code, status, message } = asFault(error)
    return { id, error: { code, status, message } }
  }
}

const run = async (parts: OperationParts, call: GatewayCall): Promise<unknown> => {
  const { reloader, builder } = parts
  switch (call.name) {
    case 'status':
      return statusOf(parts)
    case 'readings':
      return parts.exposition.read(call.names)
    case 'reload':
      return reloader.reload()
    case 'rollback':
      return reloader.rollback(call.version ?? 'previous')
    default:
      return builder.inspect({ ...call, live: parts.view().version })
  }
}

const statusOf = async ({ pool, view }: OperationParts): Promise<GatewayStatus> => {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), HEALTH_TIMEOUT)
  const replies = await Promise.all(
    pool.workers.filter(({ open }) => open).map(worker => Promise.race([healthOf(worker), late])),
  )
  clearTimeout(timer)
  const views = replies.filter(reply => reply !== undefined)
  return { ...view(), ...mergeHealth(views) }
}

const healthOf = (worker: WorkerHandle): Promise<HealthView | undefined> => {
  const reply = worker.messages.next(ofType('health'))
  worker.send({ type: 'health' })
  return reply
}
