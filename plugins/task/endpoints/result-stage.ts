/** Endpoints over the results of tasks: their files, and their deletion. */
import { isCode } from '../../../engine/kit.ts'
import type { Exchange, Host, Json, Stage, Statement } from '../../../engine/plugin.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import type { ResultDialect, TaskDialect } from '../dialects/dialect.ts'
import { type ResultDialectName, taskDialects } from '../dialects/index.ts'
import type { ResultViewOptions } from '../options.ts'
import { readPointer } from '../pointer.ts'
import type { TaskRunner } from '../runner.ts'
import { deleteTask } from '../statements.ts'
import { isFinal, type Task } from '../task.ts'
import { cancelTask } from './cancel-task.ts'
import { findTask } from './find-task.ts'
import { sendLink } from './result-content.ts'
import { removeCopy, sendCopy } from './result-copy.ts'

export class ResultStage implements Stage {
  readonly answers = true
  readonly #host: Host
  readonly #runner: TaskRunner
  readonly #name: ResultDialectName
  readonly #dialect: TaskDialect & ResultDialect
  readonly #view: ResultViewOptions['view']

  constructor(host: Host, runner: TaskRunner, { dialect, view }: ResultViewOptions) {
    this.#host = host
    this.#runner = runner
    this.#name = dialect
    this.#dialect = taskDialects[dialect]
    this.#view = view
  }
  async handle(exchange: Exchange): Promise<void> {
    const task = await findTask(exchange, this.#host, this.#name)
    if (this.#view === 'content') return this.#send(exchange, task)
    if (this.#view === 'delete') return this.#delete(exchange, task)
    throw this.#dialect.resultFaults.noRemix(task)
  }
  explain(): Json {
    return { tasks: this.#view }
  }
  async #send(exchange: Exchange, task: Task): Promise<void> {
    const variant = this.#dialect.variantOf(exchange.request.query)
    const { resultFaults } = this.#dialect
    if (task.state !== 'succeeded') throw resultFaults.noContent(task)
    const place = this.#runner.ruleOf(task)?.variants.get(variant)
    const copy = task.copies.find(({ result, member }) => result === 0 && `/${member}` === place)
    if (copy) return sendCopy(exchange, this.#host, copy)
    const linkOf = ({ results: [first] }: Task): string => {
      const url = place && readPointer(first, place)
      if (typeof url !== 'string' || url === '') throw resultFaults.noVariant(variant)
      return url
    }
    await sendLink(exchange, { host: this.#host, runner: this.#runner }, task, linkOf)
  }
  /** A task that the upstream has not begun is cancelled. */
  async #delete(exchange: Exchange, task: Task): Promise<void> {
    const { faults } = this.#dialect
    const deletion = deleteTask(task)
    if (isFinal(task.state)) await this.#deleteFinished(task, deletion)
    else
      await cancelTask(task, { host: this.#host, runner: this.#runner, faults, more: [deletion] })
    exchange.answer(200, this.#dialect.deleted(task))
  }
  /** Its files go first: if one cannot be removed now, the client tries again. */
  async #deleteFinished(task: Task, deletion: Statement): Promise<void> {
    for (const copy of task.copies) await removeCopy(this.#host, copy)
    try {
      await writeWithRetry(this.#host.database, [deletion])
    } catch (error) {
      throw isCode(error, 'TASK_MOVED') ? this.#dialect.faults.notFound(task.id) : error
    }
  }
}
