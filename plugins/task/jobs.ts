/** The background work of tasks. */
import type { Host, Job } from '../../engine/plugin.ts'
import { emptyOutbox } from '../webhooks/outbox.ts'
import { measure, remind } from './alarms.ts'
import { callbackQueue } from './callbacks.ts'
import { deleteExpiredTasks } from './cleanup.ts'
import { type TaskRunner, TICK } from './runner.ts'

/** ms between two measurements of the open tasks. */
const MEASURE_INTERVAL = 10_000
/** ms between two deletions of expired tasks. */
const CLEANUP_INTERVAL = 600_000
/** ms between two looks for tasks that have been `unknown` for long. */
const REMIND_INTERVAL = 60_000

/** Starts the work once for all routes. Returns the job that makes their steps. */
export const startJobs = (host: Host, runner: TaskRunner): Job => {
  host.job('open tasks', MEASURE_INTERVAL, () => measure(host))
  host.job('expired tasks', CLEANUP_INTERVAL, signal => deleteExpiredTasks(host.database, signal))
  host.job('unknown tasks', REMIND_INTERVAL, () => remind(host, runner.routes))
  host.job('task callbacks', 1_000, signal =>
    emptyOutbox({ ...host, queue: callbackQueue(host) }, signal),
  )
  return host.job('tasks', TICK, signal => runner.run(host, signal), { each: true })
}
