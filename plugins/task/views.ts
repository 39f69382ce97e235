/** Queries, lists and cancels tasks of the calling account. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Exchange, Host, Stage } from '../../engine/plugin.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { ACCOUNT } from '../slots.ts'
import { announce } from './callbacks.ts'
import { creditsOf } from './credits.ts'
import type { TaskDialect } from './dialects/dialect.ts'
import { taskDialects } from './dialects/index.ts'
import type { ViewName, ViewOptions } from './options.ts'
import { callUpstream, closeHold, type TaskRunner } from './runner.ts'
import { claimTask, FIND, LIST, moveTask } from './statements.ts'
import { isFinal, TASK_ERRORS, type Task, taskOf } from './task.ts'

/** ms between two reads of a query that waits for a change. */
const WAIT_INTERVAL = 250
/** Seconds that a query may wait: less than a stage may take (`timeouts.stage`). */
const MAX_WAIT = 58

export class ViewStage implements Stage {
  readonly answers = true
  readonly #host: Host
  readonly #runner: TaskRunner
  readonly #dialect: TaskDialect
  readonly #view: ViewName

  constructor(host: Host, runner: TaskRunner, { dialect, view }: ViewOptions) {
    this.#host = host
    this.#runner = runner
    this.#dialect = taskDialects[dialect]
    this.#view = view
  }
  handle(exchange: Exchange): Promise<void> {
    if (this.#view === 'list') return this.#list(exchange)
    return this.#view === 'query' ? this.#query(exchange) : this.#cancel(exchange)
  }
  explain() {
    return { tasks: this.#view }
  }
  async #query(exchange: Exchange): Promise<void> {
    const seconds = Number(exchange.request.query.get('wait') ?? 0)
    const until = Date.now() + Math.min(MAX_WAIT, seconds > 0 ? seconds : 0) * 1_000
    let task = await this.#find(exchange)
    const { state } = task
    while (task.state === state && !isFinal(state) && Date.now() < until) {
      await pause(WAIT_INTERVAL, undefined, { signal: exchange.signal })
      task = await this.#find(exchange)
    }
    exchange.answer(200, this.#dialect.query(task, this.#contextOf(task)))
  }
  async #list(exchange: Exchange): Promise<void> {
    const { from, to, size, number } = this.#dialect.page(exchange.request.query, Date.now())
    const account = exchange.slots.need(ACCOUNT).id
    const values = [account, from, to, size + 1, number * size]
    const rows = await this.#host.database.read(LIST, values)
    const next = rows.length > size ? String(number + 1) : ''
    const tasks = rows.slice(0, size).map(taskOf)
    exchange.answer(
      200,
      this.#dialect.list(tasks, task => this.#contextOf(task), next),
    )
  }
  /** A task that waits ends at once; one that the upstream has queued is cancelled there first. */
  async #cancel(exchange: Exchange): Promise<void> {
    const before = await this.#find(exchange)
    const rule = this.#runner.ruleOf(before)
    const isQueued = before.state === 'submitted' && rule?.cancel !== undefined
    if (before.state !== 'accepted' && !isQueued)
      throw this.#dialect.faults.notCancellable(before.state)
    const { database, membership } = this.#host
    const process = await membership.name()
    const [rows = []] = await writeWithRetry(database, [
      claimTask(process, before.id, before.account),
    ])
    const task = rows[0] && taskOf(rows[0])
    // A process is submitting or polling it at this moment.
    if (!task) throw this.#dialect.faults.notCancellable(before.state)
    const isCancelled =
      task.state === 'accepted' || (isQueued && (await this.#cancelUpstream(task)))
    const error = { code: TASK_ERRORS.cancelled, message: 'the task was cancelled' }
    const move = isCancelled
      ? ({ state: 'failed', error } as const)
      : { state: task.state, due: Date.now() }
    const now = Date.now()
    const list = [
      moveTask(task, move, process, now),
      ...announce(task.state, { ...task, ...move }, this.#host, now),
    ]
    await writeWithRetry(database, isCancelled ? [...list, ...closeHold(task, 'failed')] : list)
    if (!isCancelled) throw this.#dialect.faults.notCancellable(task.state)
    exchange.answer(200, this.#dialect.cancelled(task))
  }
  async #cancelUpstream(task: Task): Promise<boolean> {
    const call = this.#runner.ruleOf(task)?.cancel
    if (!call) return false
    try {
      const body = Buffer.from(JSON.stringify({ id: task.upstreamId }))
      const { status } = await callUpstream(this.#host, task, { call, body })
      return status < 300
    } catch {
      return false
    }
  }
  async #find({ params, slots }: Exchange): Promise<Task> {
    const id = params.id ?? ''
    const [row] = await this.#host.database.read(FIND, [id, slots.need(ACCOUNT).id])
    if (!row) throw this.#dialect.faults.notFound()
    return taskOf(row)
  }
  #contextOf(task: Task) {
    return { credits: creditsOf(task, this.#host) }
  }
}
