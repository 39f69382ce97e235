/** Waits for a change of a task, which any process may make. */
import { setTimeout as pause } from 'node:timers/promises'
import { isCode } from '../../engine/kit.ts'
import type { Database, Host } from '../../engine/plugin.ts'
import { showTask } from './results/results.ts'
import { FIND } from './statements.ts'
import { isFinal, type Task, taskOf } from './task.ts'

/** ms between two reads. */
const INTERVAL = 200

export interface Wait {
  /** Longest time, ms. */
  readonly longest: number
  /** The client's: it ends the wait. */
  readonly signal: AbortSignal
  /** Of this process: once it shuts down, it waits no longer. */
  readonly membership: Pick<Host['membership'], 'leaving'>
  read(): Promise<Task>
  isEnough(task: Task): boolean
}
/** The task as soon as it is enough, or as it is after the longest wait or when this process shuts
 *  down. Rejects when the client is gone. */
export const waitForTask = async (
  task: Task,
  { longest, signal, membership: { leaving }, read, isEnough }: Wait,
): Promise<Task> => {
  const until = performance.now() + longest
  const either = AbortSignal.any([signal, leaving])
  let latest = task
  while (!isEnough(latest) && !leaving.aborted && performance.now() < until) {
    // The reason says who ended the wait; the error of the timer does not.
    await pause(INTERVAL, undefined, { signal: either }).catch(() => signal.throwIfAborted())
    latest = await read()
  }
  return latest
}
/** Reads the task again; as it is in `task` where it is gone, or the store is away. */
export const taskReader =
  (database: Pick<Database, 'read'>, task: Task): (() => Promise<Task>) =>
  async () => {
    try {
      const [row] = await database.read(FIND, [task.id, task.account])
      return row ? taskOf(row) : task
    } catch (error) {
      if (isCode(error, 'STORE_UNAVAILABLE')) return task
      throw error
    }
  }
/** The task as its customer sees it, at its end or after the longest wait. */
export const waitForEnd = async (
  task: Task,
  { host, ...wait }: Pick<Wait, 'longest' | 'signal'> & { readonly host: Host },
): Promise<Task> => {
  const latest = await waitForTask(task, {
    ...wait,
    membership: host.membership,
    isEnough: ({ state }) => isFinal(state),
    read: taskReader(host.database, task),
  })
  return showTask(latest, host)
}
