/** The background work of tasks. */
import type { Database, Host, Job } from '../../engine/plugin.ts'
import { writePages } from '../ledger/write-with-retry.ts'
import { emptyOutbox } from '../webhooks/outbox.ts'
import { measure, remind } from './alarms.ts'
import { callbackQueue } from './callbacks.ts'
import { removeOrphanedParts, splitTasks } from './requests/upkeep.ts'
import { ResultCopier } from './results/copier.ts'
import { type TaskRunner, TICK } from './runner.ts'
import { deleteExpired } from './statements.ts'

/** ms between two measurements of the open tasks. */
const MEASURE_INTERVAL = 10_000
/** ms between two deletions of expired tasks. */
const CLEANUP_INTERVAL = 600_000
/** ms between two looks for tasks that have been `unknown` for long. */
const REMIND_INTERVAL = 60_000
/** ms between two looks for results to copy. */
const COPY_TICK = 500
/** Expired tasks of one transaction. */
const BATCH = 500

/** Starts the work once for all routes. Returns the job that makes their steps. */
export const startJobs = (host: Host, runner: TaskRunner): Job => {
  host.job('open tasks', MEASURE_INTERVAL, () => measure(host))
  host.job('expired tasks', CLEANUP_INTERVAL, signal => deleteExpiredTasks(host.database, signal))
  host.job('task requests', CLEANUP_INTERVAL, async signal => {
    await splitTasks(host.database, signal)
    await removeOrphanedParts(host.database, signal)
  })
  host.job('unknown tasks', REMIND_INTERVAL, () => remind(host, runner.routes))
  host.job('task callbacks', 1_000, signal =>
    emptyOutbox({ ...host, queue: callbackQueue(host) }, signal),
  )
  const copier = host.share('task copies', '1', () => new ResultCopier())
  host.job('task copies', COPY_TICK, signal => copier.run(host, signal), { each: true })
  return host.job('tasks', TICK, signal => runner.run(host, signal), { each: true })
}

/** Deletes finished tasks that have expired. */
export const deleteExpiredTasks = (
  database: Pick<Database, 'write'>,
  signal?: AbortSignal,
): Promise<void> => writePages(database, () => [deleteExpired(Date.now(), BATCH)], BATCH, signal)
