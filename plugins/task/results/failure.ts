/** A task that fails is a failed call of its customer, as one that is answered at once, and counts
 *  as failed in the sums of calls, which have its create. */
import type { Host } from '../../../engine/plugin.ts'
import { callSumsOf } from '../../calls/call-sums.ts'
import { boundText } from '../../calls/error-message.ts'
import { failedCallsOf } from '../../calls/failed-calls.ts'
import { ACCOUNT, type Account, MODEL, type Model } from '../../slots.ts'
import { TASK_ERRORS, type Task } from '../task.ts'

/** The status of a call whose upstream fails it: the create of a task was answered before. */
const UPSTREAM_FAILED = 502
/** Bytes of the names in a row of a failed call. */
const MAX_NAME = 200

/** `before`, `task`: at the beginning and at the end of a step. One that its customer
 *  cancelled did not fail. */
export const reportFailure = (host: Host, before: Task, task: Task): void => {
  const { state, error, isCall, request, account, key = null, route, created } = task
  if (state !== 'failed' || before.state === 'failed' || !error || isCall) return
  if (error.code === TASK_ERRORS.cancelled) return
  const now = Date.now()
  const member = (task.slots[ACCOUNT.name] as Account | undefined)?.member?.id
  failedCallsOf(host).add({
    request,
    at: now,
    account,
    key,
    member,
    route,
    model: boundText(task.model, MAX_NAME),
    status: error.status ?? UPSTREAM_FAILED,
    code: boundText(error.code, MAX_NAME),
    message: boundText(error.message),
    ms: now - created,
    cost: 0n,
    attempts: [],
  })
  const model = task.slots[MODEL.name] as Model | undefined
  const { upstream } = task.target
  if (!model) return
  const caller = { account, key: key ?? 0, member }
  callSumsOf(host).addLateFailure({ at: now, entry: model.entry, upstream, ...caller })
}
