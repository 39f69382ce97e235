/** Queries, lists and cancels tasks of the calling account. */
import { errors } from '../../engine/errors.ts'
import type { Bytes, Exchange, Host, Stage } from '../../engine/plugin.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { ACCOUNT } from '../slots.ts'
import { creditsOf } from './credits.ts'
import type { TaskDialect } from './dialects/dialect.ts'
import { type TaskDialectName, taskDialects } from './dialects/index.ts'
import { findTask } from './endpoints/find-task.ts'
import { closeHold, Mover } from './moves.ts'
import type { ViewName, ViewOptions } from './options.ts'
import { showTask } from './results/results.ts'
import type { TaskRunner } from './runner.ts'
import { claimTask, LIST } from './statements.ts'
import { isFinal, TASK_ERRORS, type Task, taskOf } from './task.ts'
import { cancelUpstream } from './upstream-call.ts'
import { waitForTask } from './wait.ts'

const fault = errors({
  TASK_WAIT: [
    400,
    'Invalid wait: expected a whole number of seconds from 1 to 60.',
    { param: 'wait', as: { vidu: { type: 'FieldInvalid', message: 'invalid field: %s' } } },
  ],
})
/** Seconds that a query may wait. */
const MAX_WAIT = 60
const JSON_HEADERS = { 'content-type': 'application/json' }

export class ViewStage implements Stage {
  readonly answers = true
  readonly #host: Host
  readonly #runner: TaskRunner
  readonly #dialect: TaskDialect
  readonly #name: TaskDialectName
  readonly #view: ViewName

  constructor(host: Host, runner: TaskRunner, { dialect, view }: ViewOptions) {
    this.#host = host
    this.#runner = runner
    this.#dialect = taskDialects[dialect]
    this.#name = dialect
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
    const seconds = waitIn(exchange.request.query)
    const task = await this.#find(exchange)
    if (seconds === 0 || isFinal(task.state)) exchange.answer(200, await this.#viewOf(task))
    else exchange.answer(200, this.#viewOnceMoved(task, seconds, exchange), JSON_HEADERS)
  }
  /** The body of a query that waits. The stage has ended by then, so that `timeouts.stage` does not
   *  count, and the head is sent with the body, so that a fault is still an error. */
  async *#viewOnceMoved(
    before: Task,
    seconds: number,
    exchange: Exchange,
  ): AsyncGenerator<Bytes, void> {
    const task = await waitForTask(before, {
      longest: seconds * 1_000,
      signal: exchange.signal,
      isEnough: ({ state }) => state !== before.state,
      read: () => this.#find(exchange),
    })
    yield Buffer.from(JSON.stringify(await this.#viewOf(task)))
  }
  async #list(exchange: Exchange): Promise<void> {
    const { from, to, size, number } = this.#dialect.page(exchange.request.query, Date.now())
    const account = exchange.slots.need(ACCOUNT).id
    const values = [account, from, to, this.#name, size + 1, number * size]
    const rows = await this.#host.database.read(LIST, values)
    const next = rows.length > size ? String(number + 1) : ''
    const pageRows = rows.slice(0, size)
    const tasks = await Promise.all(pageRows.map(row => showTask(taskOf(row), this.#host)))
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
    const claim = [claimTask(process, before.id, before.account)]
    const [rows = []] = await this.#keepGoing(writeWithRetry(database, claim))
    const task = rows[0] && taskOf(rows[0])
    // A process is submitting or polling it at this moment.
    if (!task) throw this.#dialect.faults.notCancellable(before.state)
    const mover = new Mover(this.#host, task, process, () => false)
    const isCancelled =
      task.state === 'accepted' || (isQueued && (await cancelUpstream(this.#host, task, rule)))
    if (!isCancelled) {
      await this.#keepGoing(mover.move({ state: task.state, due: Date.now() }))
      throw this.#dialect.faults.notCancellable(task.state)
    }
    const error = { code: TASK_ERRORS.cancelled, message: 'the task was cancelled' }
    const end = mover.move({ state: 'failed', error }, false, closeHold(task, 'failed'))
    await this.#keepGoing(end)
    exchange.answer(200, this.#dialect.cancelled(task))
  }
  /** After a failed write the task may belong to this process: its runner goes on with it. */
  async #keepGoing<T>(write: Promise<T>): Promise<T> {
    try {
      return await write
    } catch (error) {
      this.#runner.adoptLater()
      throw error
    }
  }
  #find(exchange: Exchange): Promise<Task> {
    return findTask(exchange, this.#host, this.#name)
  }
  async #viewOf(task: Task) {
    return this.#dialect.query(await showTask(task, this.#host), this.#contextOf(task))
  }
  #contextOf(task: Task) {
    return { credits: creditsOf(task, this.#host) }
  }
}
/** Seconds; 0: the query does not wait. */
const waitIn = (query: URLSearchParams): number => {
  const text = query.get('wait')
  if (text === null) return 0
  const seconds = /^[1-9]\d?$/.test(text) ? Number(text) : 0
  if (seconds < 1 || seconds > MAX_WAIT) throw fault('TASK_WAIT')
  return seconds
}
