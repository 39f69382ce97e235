/** Cancels a task that the upstream has not begun: one that waits ends at once, one that the
 *  upstream has queued is cancelled there first. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Host, Statement } from '../../../engine/plugin.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import type { TaskDialect } from '../dialects/dialect.ts'
import { closeHold, Mover } from '../moves.ts'
import type { TaskRunner } from '../runner.ts'
import { claimTask, readClaimed } from '../statements.ts'
import { TASK_ERRORS, type Task, taskOf } from '../task.ts'
import { cancelUpstream } from '../upstream-call.ts'

/** ms that another process may work on the task before the cancel is refused, and between two
 *  looks. */
const [PATIENCE, INTERVAL] = [1_000, 100]

interface Cancel {
  readonly host: Host
  readonly runner: TaskRunner
  readonly faults: Pick<TaskDialect['faults'], 'notCancellable'>
  /** Written in the transaction that ends the task. */
  readonly more?: readonly Statement[]
}
/** Rejects with a fault of the dialect where the task cannot be cancelled any more. */
export const cancelTask = async (
  before: Task,
  { host, runner, faults, more = [] }: Cancel,
): Promise<void> => {
  const rule = runner.ruleOf(before)
  const mayEnd = ({ state }: Task): boolean =>
    state === 'accepted' || (state === 'submitted' && rule?.cancel !== undefined)
  // A submit ends soon, and leaves the task in another state.
  if (before.state !== 'submitting' && !mayEnd(before)) throw faults.notCancellable(before.state)
  const process = await host.membership.name()
  /** After a failed write the task may belong to this process: its runner goes on with it. */
  const keepGoing = <T>(write: Promise<T>): Promise<T> =>
    write.catch(error => {
      runner.adoptLater()
      throw error
    })
  const task = await keepGoing(claimWhenFree(before, process, host))
  if (!task) throw faults.notCancellable(before.state)
  const mover = new Mover(host, task, process, () => false)
  const isCancelled =
    task.state === 'accepted' ||
    (rule !== undefined && mayEnd(task) && (await cancelUpstream(host, task, rule)))
  if (!isCancelled) {
    await keepGoing(mover.move({ state: task.state, due: Date.now() }))
    throw faults.notCancellable(task.state)
  }
  const error = { code: TASK_ERRORS.cancelled, message: 'the task was cancelled' }
  const statements = [...closeHold(task, 'failed'), ...more]
  await keepGoing(mover.move({ state: 'failed', error }, false, statements))
}

/** Undefined: a process works on it all the time. */
const claimWhenFree = async (
  { id, account }: Task,
  process: string,
  { database }: Pick<Host, 'database'>,
): Promise<Task | undefined> => {
  const until = performance.now() + PATIENCE
  for (;;) {
    const [claimed = []] = await writeWithRetry(database, [claimTask(process, id, account)])
    const [row] = await readClaimed(database, process, claimed)
    if (row) return taskOf(row)
    if (performance.now() > until) return undefined
    await pause(INTERVAL)
  }
}
