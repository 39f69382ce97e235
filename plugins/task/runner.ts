/** Works on the due tasks of the installation: submits, polls and ends them. One per process. Of
 *  several processes each claims other tasks, and a dead one's tasks are freed when it is
 *  reaped. */
import { isCode } from '../../engine/kit.ts'
import type { Host } from '../../engine/plugin.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { admitWaiting } from './modes/admission.ts'
import { Mover } from './moves.ts'
import { delayedTasks } from './new-task.ts'
import type { TaskRule } from './options.ts'
import { endWithOwner } from './requests/ended-owner.ts'
import { reportFailure } from './results/failure.ts'
import { ResultRefresher, type ResultSource } from './results/refresh.ts'
import { ANY_DUE, claimDue, OWNED, readClaimed } from './statements.ts'
import { TASK_ERRORS, type Task, taskOf } from './task.ts'

/** Tasks of one kind that one process works on at a time. */
const CONCURRENT = 50
/** ms between two looks for due tasks; a create wakes the runner of its own process at once. */
export const TICK = 500

/** How a route runs its tasks, in the version of the configuration that is live. */
export interface TaskRoute extends ResultSource {
  /** How the upstream is asked. Absent where tasks are calls that the upstream answers itself. */
  readonly rule?: TaskRule
  /** Makes the next step of a task that this process has claimed. `signal` ends waits. */
  step(mover: Mover, signal: AbortSignal): Promise<void>
}

interface Step {
  readonly isCall: boolean
  readonly completion: Promise<void>
}

export class TaskRunner {
  readonly #routes = new Map<string, TaskRoute>()
  /** The steps under way, by task. */
  readonly #steps = new Map<string, Step>()
  readonly #refresher = new ResultRefresher()
  /** A claim or a move failed: this process may own tasks that it does not work on. */
  #mayOwnOthers = false
  /** Ends the steps that wait for the store or for their turn. */
  readonly #closing = new AbortController()

  /** Registers a route; a later version of it replaces the first. */
  addRoute(name: string, route: TaskRoute): void {
    this.#routes.set(name, route)
  }
  get routes(): ReadonlyMap<string, TaskRoute> {
    return this.#routes
  }
  ruleOf(task: Pick<Task, 'route'>): TaskRule | undefined {
    return this.#routes.get(task.route)?.rule
  }
  /** The task with valid links, if its route asks for them again. See `ResultRefresher`. */
  refreshLinks(host: Host, task: Task, hasExpired = false): Promise<Task> {
    return this.#refresher.refresh(host, task, this.#routes.get(task.route), hasExpired)
  }
  /** Works on everything that is due. Resolves when nothing more is due, or `signal` aborts. Calls
   *  take long: it waits for none. */
  async run(host: Host, signal: AbortSignal): Promise<void> {
    await this.#adoptOthers(host)
    await admitWaiting(host)
    while (!signal.aborted) {
      const free = this.#free(false)
      const tasks = await this.#claim(host)
      for (const task of tasks) this.#begin(host, task)
      if (tasks.filter(({ isCall }) => !isCall).length < free) return
      await Promise.race(this.#completionsOf(false))
    }
  }
  /** Goes on, in the next run, with tasks that this process owns and does not work on. */
  adoptLater(): void {
    this.#mayOwnOthers = true
  }
  /** Resolves when the steps under way have ended. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#steps.values()].map(({ completion }) => completion))
  }
  #completionsOf(isCall: boolean): readonly Promise<void>[] {
    const steps = [...this.#steps.values()].filter(step => step.isCall === isCall)
    return steps.map(({ completion }) => completion)
  }
  /** How many more tasks of one kind this process may work on. */
  #free(isCall: boolean): number {
    return CONCURRENT - this.#completionsOf(isCall).length
  }
  async #claim(host: Host): Promise<readonly Task[]> {
    // Every process looks twice a second: nearly always there is nothing to write.
    const now = Date.now()
    const dueKinds = await host.database.read(ANY_DUE, [now, now])
    const kinds = dueKinds
      .map(row => Number(row.is_call) === 1)
      .filter(isCall => this.#free(isCall) > 0)
    if (kinds.length === 0) return []
    const process = await host.membership.name()
    try {
      const list = kinds.map(isCall => claimDue(process, now, this.#free(isCall), isCall))
      const claimed = await writeWithRetry(host.database, list)
      const rows = await readClaimed(host.database, process, claimed.flat())
      return rows.map(taskOf)
    } catch (error) {
      this.#mayOwnOthers = true
      throw error
    }
  }
  /** Goes on with tasks that this process owns and does not work on: the result of their claim was
   *  lost, or a step failed. A submit in progress may have been sent. */
  async #adoptOthers(host: Host): Promise<void> {
    if (!this.#mayOwnOthers) return
    const process = await host.membership.name()
    const rows = await host.database.read(OWNED, [process])
    this.#mayOwnOthers = false
    const delayed = delayedTasks(host)
    for (const task of rows.map(taskOf))
      if (!this.#steps.has(task.id) && !delayed.has(task.id)) this.#begin(host, task, true)
  }
  #begin(host: Host, task: Task, isAdopted = false): void {
    const completion = this.#step(host, task, isAdopted)
      .catch(error => {
        // Another process has the task now.
        if (isCode(error, 'TASK_MOVED', 'CHARGE_CLOSED')) return
        this.#mayOwnOthers = true
        host.log.warn({ task: task.id, error }, 'a task could not be moved on')
      })
      .finally(() => this.#steps.delete(task.id))
    this.#steps.set(task.id, { isCall: task.isCall, completion })
  }
  /** Makes the next step of a task that this process has claimed. */
  async #step(host: Host, task: Task, isAdopted: boolean): Promise<void> {
    const process = await host.membership.name()
    const { signal } = this.#closing
    const mover = new Mover(host, task, process, () => !signal.aborted)
    await this.#moveOn(host, mover, isAdopted)
    reportFailure(host, task, mover.task)
  }
  async #moveOn(host: Host, mover: Mover, isAdopted: boolean): Promise<void> {
    const { task } = mover
    const route = this.#routes.get(task.route)
    // Its upstream may be paused, which only a claim sees.
    if (isAdopted && task.state === 'accepted')
      return mover.move({ state: task.state, due: Date.now() })
    if (task.state === 'accepted' && (await endWithOwner(host, mover))) return
    if (route) return route.step(mover, this.#closing.signal)
    if (task.state === 'failed') return mover.endLatePolls()
    // Its route is gone from the configuration: an operator may bring it back until the deadline.
    if (Date.now() < task.deadline) return mover.retry(60_000)
    return mover.fail({ code: TASK_ERRORS.timeout, message: 'the task did not finish in time' })
  }
}
