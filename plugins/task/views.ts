/** Queries, lists and cancels tasks of the calling account. */
import type { Exchange, Host, Stage } from '../../engine/plugin.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { ACCOUNT } from '../slots.ts'
import { creditsOf } from './credits.ts'
import type { TaskDialect } from './dialects/dialect.ts'
import { taskDialects } from './dialects/index.ts'
import { closeHold, Mover } from './moves.ts'
import type { ViewName, ViewOptions } from './options.ts'
import type { TaskRunner } from './runner.ts'
import { claimTask, FIND, LIST } from './statements.ts'
import { isFinal, TASK_ERRORS, type Task, taskOf } from './task.ts'
import { cancelUpstream } from './upstream-call.ts'
import { waitForTask } from './wait.ts'

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
    const before = await this.#find(exchange)
    const task = await waitForTask(before, {
      longest: Math.min(MAX_WAIT, seconds > 0 ? seconds : 0) * 1_000,
      signal: exchange.signal,
      isEnough: ({ state }) => state !== before.state || isFinal(state),
      read: () => this.#find(exchange),
    })
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
    const mover = new Mover(this.#host, task, process, () => false)
    const isCancelled =
      task.state === 'accepted' || (isQueued && (await cancelUpstream(this.#host, task, rule)))
    if (!isCancelled) {
      await mover.move({ state: task.state, due: Date.now() })
      throw this.#dialect.faults.notCancellable(task.state)
    }
    const error = { code: TASK_ERRORS.cancelled, message: 'the task was cancelled' }
    await mover.move({ state: 'failed', error }, false, closeHold(task, 'failed'))
    exchange.answer(200, this.#dialect.cancelled(task))
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
