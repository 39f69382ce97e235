/** A task that fails is a failed call of its customer, as one that is answered at once. */
import type { Host } from '../../../engine/plugin.ts'
import { failedCallsOf } from '../../calls/failed-calls.ts'
import { TASK_ERRORS, type Task } from '../task.ts'

/** The status of a call whose upstream fails it: the create of a task was answered before. */
const UPSTREAM_FAILED = 502
/** Characters in a row of a failed call. */
const MAX_NAME = 200
const MAX_MESSAGE = 500

/** `before`, `task`: at the begin and at the end of a step. One that its customer cancelled did not
 *  fail. */
export const reportFailure = (host: Host, before: Task, task: Task): void => {
  const { state, error, isCall, request, account, key = null, route, created } = task
  if (state !== 'failed' || before.state === 'failed' || !error || isCall) return
  if (error.code === TASK_ERRORS.cancelled) return
  const now = Date.now()
  failedCallsOf(host).add({
    request,
    at: now,
    account,
    key,
    route,
    model: task.model.slice(0, MAX_NAME),
    status: error.status ?? UPSTREAM_FAILED,
    code: error.code.slice(0, MAX_NAME),
    message: error.message.slice(0, MAX_MESSAGE),
    ms: now - created,
    cost: 0n,
    attempts: [],
  })
}
