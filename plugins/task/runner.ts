/** Works on the due tasks of the installation: submits, polls and ends them. One per process. Of
 *  several processes each claims other tasks, and a dead one's tasks are freed when it is
 *  reaped. */
import { asFault } from '../../engine/errors.ts'
import { isCode } from '../../engine/kit.ts'
import type { Host } from '../../engine/plugin.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import type { TaskDialect } from './dialects/dialect.ts'
import { taskDialects } from './dialects/index.ts'
import { backOff, Mover } from './moves.ts'
import type { TaskRule } from './options.ts'
import type { PollRate } from './poll-rate.ts'
import { ANY_DUE, claimDue, OWNED } from './statements.ts'
import { TASK_ERRORS, type Task, taskOf } from './task.ts'
import { callUpstream, type UpstreamAnswer } from './upstream-call.ts'

/** Tasks that one process works on at a time. */
const CONCURRENT = 50
/** ms between two looks for due tasks; a create wakes the runner of its own process at once. */
export const TICK = 500

/** How a route runs its tasks, in the version of the configuration that is live. */
export interface RouteRunner {
  readonly host: Host
  readonly pollRate: PollRate
  readonly rule: TaskRule
}

export class TaskRunner {
  readonly #routes = new Map<string, RouteRunner>()
  /** The steps under way, by task. */
  readonly #steps = new Map<string, Promise<void>>()
  /** A claim or a step failed: this process may own tasks that it does not work on. */
  #mayOwnOthers = false
  /** Ends the steps that wait for the store or for their turn. */
  readonly #closing = new AbortController()

  /** Registers a route; a later version of it replaces the first. */
  addRoute(name: string, route: RouteRunner): void {
    this.#routes.set(name, route)
  }
  get routes(): ReadonlyMap<string, RouteRunner> {
    return this.#routes
  }
  ruleOf(task: Pick<Task, 'route'>): TaskRule | undefined {
    return this.#routes.get(task.route)?.rule
  }
  /** Works on everything that is due. Resolves when nothing more is due, or `signal` aborts. */
  async run(host: Host, signal: AbortSignal): Promise<void> {
    await this.#adoptOthers(host)
    while (!signal.aborted) {
      const free = CONCURRENT - this.#steps.size
      const tasks = free > 0 ? await this.#claim(host, free) : []
      for (const task of tasks) this.#begin(host, task)
      if (tasks.length < free) return
      await Promise.race(this.#steps.values())
    }
  }
  /** Resolves when the steps under way have ended. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#steps.values())
  }
  async #claim(host: Host, most: number): Promise<readonly Task[]> {
    // Every process looks twice a second: nearly always there is nothing to write.
    const [due] = await host.database.read(ANY_DUE, [Date.now()])
    if (!due) return []
    const process = await host.membership.name()
    try {
      const list = [claimDue(process, Date.now(), most)]
      const [rows = []] = await writeWithRetry(host.database, list)
      return rows.map(taskOf)
    } catch (error) {
      this.#mayOwnOthers = true
      throw error
    }
  }
  /** Goes on with tasks that this process owns and does not work on: the result of their claim was
   *  lost, or a step failed. What was being submitted was perhaps sent. */
  async #adoptOthers(host: Host): Promise<void> {
    if (!this.#mayOwnOthers) return
    const process = await host.membership.name()
    const rows = await host.database.read(OWNED, [process])
    this.#mayOwnOthers = false
    for (const task of rows.map(taskOf)) if (!this.#steps.has(task.id)) this.#begin(host, task)
  }
  #begin(host: Host, task: Task): void {
    const step = this.step(host, task)
      .catch(error => {
        // Another process has the task now.
        if (isCode(error, 'TASK_MOVED', 'CHARGE_CLOSED')) return
        this.#mayOwnOthers = true
        host.log.warn({ task: task.id, error }, 'a task could not be moved on')
      })
      .finally(() => this.#steps.delete(task.id))
    this.#steps.set(task.id, step)
  }
  /** Makes the next step of a task that this process has claimed. */
  async step(host: Host, task: Task): Promise<void> {
    const route = this.#routes.get(task.route)
    const process = await host.membership.name()
    const mover = new Mover(host, task, process, () => !this.#closing.signal.aborted)
    if (task.state === 'failed') return this.#pollLate(route, mover)
    // Its route is gone from the configuration: an operator may bring it back until the deadline.
    if (!route && Date.now() < task.deadline) return mover.retry(60_000)
    if (!route) return mover.fail(TASK_ERRORS.timeout, 'the task did not finish in time')
    if (task.state === 'accepted') return this.#submit(route, mover)
    if (task.state === 'submitted' || task.state === 'running') return this.#poll(route, mover)
    // Its process died, or lost the result of a write: the request was perhaps sent.
    return task.state === 'submitting'
      ? mover.loseTrack('the process that submitted it lost its answer')
      : mover.rest()
  }
  async #submit({ host, rule }: RouteRunner, mover: Mover): Promise<void> {
    const task = mover.task
    if (Date.now() > task.deadline)
      return mover.fail(TASK_ERRORS.timeout, 'the task could not be submitted in time')
    // Due at once for another process, should this one die: see `step`.
    await mover.move({ state: 'submitting', attempts: task.attempts + 1, due: Date.now() }, true)
    let answer: UpstreamAnswer
    try {
      answer = await callUpstream(host, mover.task, {
        call: { method: 'POST', path: rule.submit.path ?? mover.task.path },
        body: bodyFor(mover.task, rule),
        ...(rule.idempotency !== undefined && { headers: { [rule.idempotency]: task.id } }),
      })
    } catch (error) {
      return mover.afterFailedSubmit(asFault(error), rule)
    }
    return mover.afterSubmit(answer, rule)
  }
  async #poll({ host, rule, pollRate }: RouteRunner, mover: Mover): Promise<void> {
    await pollRate.wait(mover.task.target.upstream, this.#closing.signal)
    const { call, first, longest } = rule.poll
    const delay = backOff(mover.task, first, longest)
    try {
      const answer = await callUpstream(host, mover.task, { call })
      if (answer.status < 300) return await mover.afterPoll(answer, rule, delay)
    } catch (error) {
      const { code } = asFault(error)
      if (code === 'TASK_MOVED' || code === 'CHARGE_CLOSED') throw error
    }
    return Date.now() > mover.task.deadline ? mover.expire(rule) : mover.retry(delay)
  }
  /** Polls a task that failed by its deadline: the upstream may have finished it later. */
  async #pollLate(route: RouteRunner | undefined, mover: Mover): Promise<void> {
    if (!route) return mover.endLatePolls()
    const { host, rule } = route
    const { json } = await callUpstream(host, mover.task, { call: rule.poll.call }).catch(() => ({
      json: undefined,
    }))
    return mover.afterLatePoll(json, rule)
  }
}

/** The request as the target gets it: with the target's name of the model. */
const bodyFor = ({ body, target }: Task, { dialect }: TaskRule): Buffer => {
  const { submitted }: TaskDialect = taskDialects[dialect]
  const members = submitted?.(body, target) ?? body
  const named = 'model' in members && target.name !== undefined
  return Buffer.from(JSON.stringify(named ? { ...members, model: target.name } : members))
}
