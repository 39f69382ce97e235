/** Calls the upstream of a task: through the stages behind `task`, to the target that the task was
 *  created with. */
import type { Headers, Host, Json, Reply } from '../../engine/plugin.ts'
import { parseJson } from '../formats/fields.ts'
import type { Call, TaskRule } from './options.ts'
import type { Task } from './task.ts'

/** Bytes of the largest answer of an upstream to one call. */
const MAX_ANSWER = 4 * 1024 * 1024
/** ms for one call to an upstream. */
const CALL_TIMEOUT = 60_000

export interface UpstreamAnswer {
  readonly status: number
  /** Undefined if the body is not JSON. */
  readonly json: Json | undefined
  readonly headers: Headers
  /** The answer to a second call, which has the results. */
  readonly results?: Json | undefined
}
interface UpstreamCall {
  readonly call: Call
  readonly body?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}
/** Rejects with the fault of the transport or of a stage. */
export const callUpstream = async (
  host: Host,
  task: Task,
  { call, body, headers = {} }: UpstreamCall,
): Promise<UpstreamAnswer> => {
  const path = call.path
    .replaceAll('{id}', pathOf(task.upstreamId ?? ''))
    .replaceAll('{task}', task.id)
  const reply = await host.run(task.route, {
    after: 'task',
    id: `${task.request}_${task.attempts}`,
    request: {
      method: call.method,
      path,
      headers: body ? { 'content-type': 'application/json', ...headers } : headers,
      ...(body && { body }),
    },
    upstreamPath: path,
    slots: task.slots,
    targets: [task.target],
    signal: AbortSignal.timeout(CALL_TIMEOUT),
  })
  return { status: reply.status, headers: reply.headers, json: await jsonOf(reply) }
}
/** The id in a path. An id such as `models/x/operations/y` is several segments: Google takes no `/`
 *  that is encoded. One with segments that a client or a proxy would resolve is a single one. */
const pathOf = (id: string): string => {
  const segments = id.split('/')
  return segments.some(each => RESOLVED.has(each))
    ? encodeURIComponent(id)
    : segments.map(encodeURIComponent).join('/')
}
const RESOLVED: ReadonlySet<string> = new Set(['', '.', '..'])
/** Asks the upstream to cancel the task. False if the route has no such call, the call fails or the
 *  upstream refuses. */
export const cancelUpstream = async (
  host: Host,
  task: Task,
  { cancel }: Pick<TaskRule, 'cancel'>,
): Promise<boolean> => {
  if (!cancel) return false
  const body = Buffer.from(JSON.stringify({ id: task.upstreamId }))
  try {
    const { status } = await callUpstream(host, task, { call: cancel, body })
    return status < 300
  } catch {
    return false
  }
}
const jsonOf = async (reply: Reply): Promise<Json | undefined> =>
  parseJson(Buffer.from(await reply.bytes(MAX_ANSWER)).toString())
