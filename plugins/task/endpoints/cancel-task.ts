/** Cancels a task that the upstream has not begun: one that waits ends at once, one that the
 *  upstream has queued is cancelled there first. */
import { setTimeout as pause } from 'node:timers/promises'
import { isCode } from '../../../engine/kit.ts'
import type { Host, Statement } from '../../../engine/plugin.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { announce } from '../callbacks.ts'
import type { TaskDialect } from '../dialects/dialect.ts'
import { Mover } from '../moves.ts'
import type { TaskRule } from '../options.ts'
import { forgetRequest } from '../requests/stored-request.ts'
import { closeHold } from '../results/closed-hold.ts'
import type { TaskRunner } from '../runner.ts'
import { claimTask, endSubmittingTask, readClaimed } from '../statements.ts'
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
/** Rejects with a fault of the dialect if the task cannot be cancelled any more. */
export const cancelTask = async (
  before: Task,
  { host, runner, faults, more = [] }: Cancel,
): Promise<void> => {
  const rule = runner.ruleOf(before)
  // A submit mostly ends soon, and leaves the task in another state.
  if (!mayEnd(before, rule)) throw faults.notCancellable(before.state)
  const process = await host.membership.name()
  /** After a failed write the task may belong to this process: its runner goes on with it. */
  const keepGoing = <T>(write: Promise<T>): Promise<T> =>
    write.catch(error => {
      runner.adoptLater()
      throw error
    })
  const task = await keepGoing(claimWhenFree(before, process, host))
  if (!task && rule && before.state === 'submitting')
    return endSubmitting(before, rule, { host, faults, more })
  if (!task) throw faults.notCancellable(before.state)
  const mover = new Mover(host, task, process, () => false)
  const isCancelled =
    ENDS_AT_ONCE.has(task.state) ||
    (rule !== undefined && mayEnd(task, rule) && (await cancelUpstream(host, task, rule)))
  if (!isCancelled) {
    await keepGoing(mover.move({ state: task.state, due: Date.now() }))
    throw faults.notCancellable(task.state)
  }
  const statements = [...closeHold(task, 'failed'), ...more]
  const end = { state: 'failed', error: CANCELLED, ...nextLook(task, rule) } as const
  await keepGoing(mover.move(end, false, statements))
}
const CANCELLED = { code: TASK_ERRORS.cancelled, message: 'the task was cancelled' }
/** A task that no process works on has not begun, or its submit was lost: the customer's money does
 *  not wait for the upstream. */
const ENDS_AT_ONCE: ReadonlySet<Task['state']> = new Set(['accepted', 'submitting', 'unknown'])
const mayEnd = ({ state }: Task, rule: TaskRule | undefined): boolean =>
  ENDS_AT_ONCE.has(state) || (state === 'submitted' && rule?.cancel !== undefined)

/** When the upstream is asked for a lost submit, to cancel it there. Empty: it cannot be. */
const nextLook = (
  { state, upstreamId }: Task,
  rule: TaskRule | undefined,
): { readonly due?: number; readonly failures?: number } => {
  const isLost = (state === 'submitting' || state === 'unknown') && upstreamId === undefined
  if (!isLost || !rule?.find || !rule.cancel) return {}
  return { due: Date.now() + rule.poll.first, failures: 0 }
}

/** Ends a task whose submit gets no answer. If an answer comes, its process cancels the work. */
const endSubmitting = async (
  task: Task,
  rule: TaskRule,
  { host, faults, more = [] }: Omit<Cancel, 'runner'>,
): Promise<void> => {
  const now = Date.now()
  const after = { ...task, state: 'failed', error: CANCELLED, changed: now } as const
  try {
    await writeWithRetry(host.database, [
      endSubmittingTask(task.id, CANCELLED, { now, due: nextLook(task, rule).due }),
      ...(await announce(task.state, after, host, now)),
      ...forgetRequest(task, after),
      ...closeHold(task, 'failed'),
      ...more,
    ])
  } catch (error) {
    throw isCode(error, 'TASK_MOVED') ? faults.notCancellable(task.state) : error
  }
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
