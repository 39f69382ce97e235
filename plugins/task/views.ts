/** Queries, lists and cancels tasks of the calling account. */
import { errors } from '../../engine/errors.ts'
import type { Bytes, Exchange, Host, Row, Stage } from '../../engine/plugin.ts'
import { sandboxHeaderOf } from '../conversion/sandbox-header.ts'
import { creditsOf } from './credits.ts'
import type { CursorPage, Page, TaskDialect } from './dialects/dialect.ts'
import { type TaskDialectName, taskDialects } from './dialects/index.ts'
import { cancelTask } from './endpoints/cancel-task.ts'
import { type Caller, callerOf, findTask } from './endpoints/find-task.ts'
import type { ViewName, ViewOptions } from './options.ts'
import { showListed, showWhole } from './results/shown.ts'
import type { TaskRunner } from './runner.ts'
import { FILTERED, LIST, PAGES, QUEUE } from './statements.ts'
import { type Fields, isFinal, type Task, taskOf, timeOfTaskId } from './task.ts'
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
    if (this.#view === 'list' || this.#view === 'queue') return this.#list(exchange)
    return this.#view === 'query' ? this.#query(exchange) : this.#cancel(exchange)
  }
  explain() {
    return { tasks: this.#view }
  }
  async #query(exchange: Exchange): Promise<void> {
    const seconds = waitIn(exchange.request.query)
    const task = await this.#find(exchange)
    const headers = sandboxHeaderOf(this.#host, task.target.upstream)
    if (seconds === 0 || isFinal(task.state)) {
      const fresh = await this.#runner.refreshLinks(this.#host, task)
      exchange.answer(200, await this.#viewOf(fresh), headers)
    } else {
      const body = this.#viewOnceMoved(task, seconds, exchange)
      exchange.answer(200, body, { ...JSON_HEADERS, ...headers })
    }
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
      membership: this.#host.membership,
      isEnough: ({ state }) => state !== before.state,
      read: () => this.#find(exchange),
    })
    yield Buffer.from(JSON.stringify(await this.#viewOf(task)))
  }
  async #list(exchange: Exchange): Promise<void> {
    const { request } = exchange
    const search =
      request.method === 'POST' ? searchOf((await request.json()) as Fields) : request.query
    const page = this.#dialect.page(search, Date.now())
    const caller = callerOf(exchange)
    const rows = await ('order' in page
      ? this.#rowsAfter(page, caller)
      : this.#rowsOfPage(page, caller))
    const pageRows = rows.slice(0, page.size)
    const tasks = await showListed(pageRows.map(taskOf), this.#host)
    const following = 'order' in page ? (tasks.at(-1)?.id ?? '') : String(page.number + 1)
    const next = rows.length > page.size ? following : ''
    exchange.answer(
      200,
      this.#dialect.list(tasks, task => this.#contextOf(task), next),
    )
  }
  /** Reads one row more than the page has: it says whether another page follows. */
  #rowsOfPage(
    { from, to, size, number, filters }: Page,
    { account, own }: Caller,
  ): Promise<readonly Row[]> {
    const start = [account, from, to, this.#name, ...own]
    const end = [size + 1, number * size]
    const { database } = this.#host
    if (!filters) return database.read(this.#view === 'queue' ? QUEUE : LIST, [...start, ...end])
    const { ids, states, models, paths, resolutions } = filters
    const lists = [ids, states, models, paths, resolutions].flatMap(list => {
      const text = list === undefined ? null : JSON.stringify(list)
      return [text, text]
    })
    return database.read(FILTERED, [...start, ...lists, ...end])
  }
  #rowsAfter(
    { order, after, size }: CursorPage,
    { account, own }: Caller,
  ): Promise<readonly Row[]> {
    const start = order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER
    const time = after === undefined ? start : timeOfTaskId(after)
    const position = [time, after ?? null, after ?? null]
    const values = [account, this.#name, ...own, ...position, size + 1]
    return this.#host.database.read(PAGES[order], values)
  }
  async #cancel(exchange: Exchange): Promise<void> {
    const task = await this.#find(exchange)
    const { faults } = this.#dialect
    await cancelTask(task, { host: this.#host, runner: this.#runner, faults })
    exchange.answer(200, this.#dialect.cancelled(task))
  }
  #find(exchange: Exchange): Promise<Task> {
    return findTask(exchange, this.#host, this.#name)
  }
  async #viewOf(task: Task) {
    return this.#dialect.query(await showWhole(task, this.#host), this.#contextOf(task))
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
/** The members of a body as a query has them; a list is a name that is repeated. */
const searchOf = (body: Fields): URLSearchParams =>
  new URLSearchParams(
    Object.entries(body).flatMap(([name, value]) =>
      [value].flat().map((each): [string, string] => [name, String(each)]),
    ),
  )
