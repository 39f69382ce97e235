/** Works on the due tasks of the installation: submits, polls and ends them. One per process. Of
 *  several processes each claims other tasks, and a dead one's tasks are freed when it is
 *  reaped. */
import { asFault } from '../../engine/errors.ts'
import { isCode } from '../../engine/kit.ts'
import type { Fault, Host, Json, Reply, Statement } from '../../engine/plugin.ts'
import { releaseKept, settleKept } from '../ledger/kept-hold.ts'
import { chargeLate } from '../ledger/views/task-charges.ts'
import { writeWhileAway, writeWithRetry } from '../ledger/write-with-retry.ts'
import { announce, eraseKey } from './callbacks.ts'
import type { TaskDialect } from './dialects/dialect.ts'
import { taskDialects } from './dialects/index.ts'
import type { Call, TaskRule } from './options.ts'
import { readPointer } from './pointer.ts'
import type { PollRate } from './poll-rate.ts'
import { ANY_DUE, claimDue, type Move, moveTask, OWNED } from './statements.ts'
import { TASK_ERRORS, type Task, type TaskError, taskOf } from './task.ts'
import { usageOfRequest } from './usage.ts'

/** Tasks that one process works on at a time. */
const CONCURRENT = 50
/** ms between two looks for due tasks; a create wakes the runner of its own process at once. */
export const TICK = 500
/** Bytes of the largest answer of an upstream to a submit or a poll. */
const MAX_ANSWER = 4 * 1024 * 1024
/** ms for one call to an upstream. */
const CALL_TIMEOUT = 60_000

/** Faults after which the upstream surely has no request: they come before anything was sent. */
const NOT_SENT: ReadonlySet<string> = new Set(['TARGET_UNREACHABLE', 'TARGET_BUSY'])
/** The operator's account at the upstream is at fault, not the customer. */
const OPERATOR_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])

/** How a route runs its tasks, in the version of the configuration that is live. */
export interface RouteRunner {
  readonly host: Host
  readonly pollRate: PollRate
  readonly rule: TaskRule
}
interface Answer {
  readonly status: number
  readonly json: Json | undefined
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
    let answer: Answer
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

/** The moves of one claimed task. */
class Mover {
  readonly #host: Host
  readonly #process: string
  readonly #isWanted: () => boolean
  task: Task

  /** `isWanted`: whether a write is tried again while the store is away. */
  constructor(host: Host, task: Task, process: string, isWanted: () => boolean) {
    this.#host = host
    this.task = task
    this.#process = process
    this.#isWanted = isWanted
  }
  /** `keep`: this process goes on with the task. */
  async move(move: Move, keep = false, more: readonly Statement[] = []): Promise<void> {
    const now = Date.now()
    const { due, ...members } = move
    const after = { ...this.task, ...members, changed: now }
    const list = [
      moveTask(this.task, move, this.#process, now, keep),
      ...announce(this.task.state, after, this.#host, now),
      ...more,
    ]
    await writeWhileAway(this.#host.database, list, this.#isWanted)
    this.task = after
    const { id, state, upstreamId } = this.task
    this.#host.log.debug({ task: id, state, upstreamId, due }, 'a task moved')
  }
  /** Gives the task back unchanged: nothing is left to do until an operator decides. */
  rest(): Promise<void> {
    return this.move({ state: this.task.state })
  }
  retry(delay: number): Promise<void> {
    const failures = this.task.failures + 1
    return this.move({ state: this.task.state, failures, due: Date.now() + delay })
  }
  fail(code: string, message: string): Promise<void> {
    return this.#end('failed', { error: { code, message } })
  }
  async afterSubmit({ status, json }: Answer, rule: TaskRule): Promise<void> {
    if (status === 429 || status === 503) return this.#acceptAgain(rule)
    if (status >= 500) return this.loseTrack(`the upstream answered ${status}`)
    if (status >= 300) return this.#refused(status, json, rule)
    const upstreamId = textAt(json, rule.submit.id)
    if (upstreamId === undefined)
      return this.loseTrack(`the upstream's answer has no id at ${rule.submit.id}`)
    const results = finishedResults(json, rule)
    if (results) return this.#end('succeeded', { upstreamId, results })
    await this.move({ state: 'submitted', upstreamId, due: Date.now() + rule.poll.first })
  }
  afterFailedSubmit(fault: Fault, rule: TaskRule): Promise<void> {
    const again = NOT_SENT.has(fault.code) || rule.idempotency !== undefined
    return again ? this.#acceptAgain(rule) : this.loseTrack(fault.message)
  }
  afterPoll({ json }: Answer, rule: TaskRule, delay: number): Promise<void> {
    const { poll } = rule
    const state = poll.states.get(textAt(json, poll.state) ?? '') ?? this.task.state
    if (state === 'succeeded')
      return this.#end('succeeded', { results: resultsOf(readPointer(json, poll.results)) })
    if (state === 'failed') return this.#end('failed', { error: errorOf(json, rule) })
    if (Date.now() > this.task.deadline) return this.expire(rule)
    // States only go forward: an upstream that queues a running task again changes nothing.
    const forward = this.task.state === 'running' ? 'running' : state
    const progress = poll.progress && Number(readPointer(json, poll.progress))
    return this.move({
      state: forward,
      failures: 0,
      due: Date.now() + delay,
      ...(Number.isFinite(progress) && { progress: Math.round(Number(progress)) }),
    })
  }
  /** Fails by its deadline, and is polled again at the times of `late`. */
  /** Fails the task at its deadline, and cancels it at the upstream if that can be done. */
  async expire(rule: TaskRule): Promise<void> {
    const body = Buffer.from(JSON.stringify({ id: this.task.upstreamId }))
    if (rule.cancel)
      await callUpstream(this.#host, this.task, { call: rule.cancel, body }).catch(() => {})
    const due = nextLatePoll(this.task, rule)
    const error = { code: TASK_ERRORS.timeout, message: 'the task did not finish in time' }
    return this.#end('failed', { error, ...(due !== undefined && { due }) })
  }
  afterLatePoll(json: Json | undefined, rule: TaskRule): Promise<void> {
    const { poll } = rule
    const state = poll.states.get(textAt(json, poll.state) ?? '')
    if (state === 'succeeded') return this.#succeedLate(resultsOf(readPointer(json, poll.results)))
    const due = state === 'failed' ? undefined : nextLatePoll(this.task, rule)
    return due === undefined ? this.endLatePolls() : this.move({ state: 'failed', due })
  }
  endLatePolls(): Promise<void> {
    return this.move({ state: 'failed' }, false, [eraseKey(this.task.id)])
  }
  /** Its hold was released: another charge takes what the balance covers. */
  async #succeedLate(results: readonly Json[]): Promise<void> {
    const { id, model, hold, body } = this.task
    const charge = hold ? chargeLate(hold, usageOfRequest(body, hold), Date.now()) : []
    await this.move({ state: 'succeeded', late: true, results }, false, charge)
    this.#host.metrics.count('tasks_late_total', { model })
    this.#host.log.warn({ task: id, model }, 'a task succeeded after it had failed by its deadline')
  }
  #acceptAgain({ poll }: TaskRule): Promise<void> {
    const failures = this.task.failures + 1
    const due = Date.now() + backOff({ ...this.task, failures }, poll.first, poll.longest)
    return this.move({ state: 'accepted', failures, due })
  }
  /** The upstream perhaps works on it: the hold stays, and an operator decides. */
  loseTrack(reason: string): Promise<void> {
    const { id, model } = this.task
    this.#host.metrics.count('tasks_unknown_total', { model })
    this.#host.log.error(
      { task: id, model, reason },
      'it is unknown whether the upstream got this task; decide with `tollgate tasks resolve`',
    )
    return this.move({ state: 'unknown', error: { code: TASK_ERRORS.internal, message: reason } })
  }
  #refused(status: number, json: Json | undefined, rule: TaskRule): Promise<void> {
    const error = errorOf(json, rule)
    if (!OPERATOR_STATUSES.has(status) && !/credit|balance|quota/i.test(error.code))
      return this.#end('failed', { error })
    const { id, model } = this.task
    this.#host.metrics.count('tasks_refused_total', { model })
    this.#host.log.error(
      { task: id, model, status, reason: error },
      'the upstream refused a task because of its account; check its key and its balance',
    )
    return this.fail(TASK_ERRORS.internal, 'the service could not run this task')
  }
  /** Final state, settlement or release: one transaction. */
  async #end(state: 'succeeded' | 'failed', move: Omit<Move, 'state'>): Promise<void> {
    const { metrics } = this.#host
    const startedAt = performance.now()
    await this.move({ ...move, state, progress: 100 }, false, closeHold(this.task, state))
    metrics.time('tasks_settle_seconds', { state }, (performance.now() - startedAt) / 1_000)
    metrics.count('tasks_total', { model: this.task.model, state })
  }
}

/** Settles the hold of a task that succeeded, or releases that of one that failed. */
export const closeHold = (task: Task, end: 'succeeded' | 'failed'): readonly Statement[] => {
  const { hold, body } = task
  if (!hold) return []
  const now = Date.now()
  return [
    end === 'succeeded'
      ? settleKept(hold, usageOfRequest(body, hold), now)
      : releaseKept(hold, now),
  ]
}

interface UpstreamCall {
  readonly call: Call
  readonly body?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}
/** Runs a call of a task through the stages behind `task`, to the task's own target. */
export const callUpstream = async (
  host: Host,
  task: Task,
  { call, body, headers = {} }: UpstreamCall,
): Promise<Answer> => {
  const id = encodeURIComponent(task.upstreamId ?? '')
  const path = call.path.replaceAll('{id}', id)
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
  return { status: reply.status, json: await jsonOf(reply) }
}
const jsonOf = async (reply: Reply): Promise<Json | undefined> => {
  const bytes = await reply.bytes(MAX_ANSWER)
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as Json
  } catch {
    return undefined
  }
}
/** The request as the target gets it: with the target's name of the model. */
const bodyFor = ({ body, target }: Task, { dialect }: TaskRule): Buffer => {
  const { submitted }: TaskDialect = taskDialects[dialect]
  const members = submitted?.(body, target) ?? body
  const named = 'model' in members && target.name !== undefined
  return Buffer.from(JSON.stringify(named ? { ...members, model: target.name } : members))
}
/** Doubles from the first interval to the longest, with a tenth of jitter. */
const backOff = ({ failures, state, changed, created }: Task, first: number, longest: number) => {
  const polls = state === 'running' ? Math.log2(1 + Math.max(0, changed - created) / first) : 0
  const delay = Math.min(longest, first * 2 ** Math.min(20, Math.max(failures, polls - 2)))
  return Math.round(Math.max(first, delay) * (0.9 + Math.random() * 0.2))
}

/** When a task that failed by its deadline is polled again, if at all. */
const nextLatePoll = ({ deadline, upstreamId }: Task, { late }: TaskRule): number | undefined => {
  if (upstreamId === undefined) return undefined
  const now = Date.now()
  return late.map(time => deadline + time).find(due => due > now)
}

const textAt = (json: Json | undefined, pointer: string): string | undefined => {
  const value = readPointer(json, pointer)
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
const resultsOf = (value: Json | undefined): readonly Json[] => {
  const list = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]
  return list.map(each => (typeof each === 'string' ? { url: each } : (each as Json)))
}
/** The results in the answer to a submit; undefined where the work goes on. */
const finishedResults = (
  json: Json | undefined,
  { submit, poll }: TaskRule,
): readonly Json[] | undefined => {
  if (submit.results === undefined) return undefined
  if (poll.states.get(textAt(json, poll.state) ?? '') !== 'succeeded') return undefined
  const results = resultsOf(readPointer(json, submit.results))
  return results.length > 0 ? results : undefined
}
const errorOf = (json: Json | undefined, { poll }: TaskRule): TaskError => {
  const { code = '/reason', message = '/message' } = poll.error
  const upstreamCode = textAt(json, code) ?? textAt(json, '/reason') ?? textAt(json, '/error/code')
  return {
    code: upstreamCode ?? TASK_ERRORS.internal,
    message: textAt(json, message) ?? textAt(json, '/error/message') ?? '',
  }
}
