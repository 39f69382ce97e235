/** The tasks of an account in all dialects: list, show and cancel, for the console. */
import { errors } from '../../../engine/errors.ts'
import type { Exchange, Host, Json, Sql, Stage } from '../../../engine/plugin.ts'
import { accountEvents } from '../../account-events/account-events.ts'
import {
  accountFor,
  overWork,
  ownWorkValues,
  seesWork,
  workOfCaller,
} from '../../credentials/members.ts'
import { checkPathId } from '../../dialects/path-id.ts'
import { mediaTypeOf } from '../../formats/media/media-type.ts'
import type { OwnTask } from '../../views.ts'
import { TASK_COLUMNS, TASKS } from '../requests/statements.ts'
import { dataOf, isWebUrl, sourcesIn } from '../results/results.ts'
import { showListed, showWhole } from '../results/shown.ts'
import type { TaskRunner } from '../runner.ts'
import { isFinal, type Task, taskOf } from '../task.ts'
import type { AccountOptions } from './account-options.ts'
import { cancelTask } from './cancel-task.ts'
import { SAFE_TYPE, sendLink } from './result-content.ts'
import { sendCopy } from './result-copy.ts'

const fault = errors({
  TASK_UNKNOWN: [404, 'Unknown task: %s'],
  TASK_STATE: [400, '`state` must be open, succeeded or failed', { param: 'state' }],
  TASK_CURSOR: [400, '`cursor` must be the `next` of the previous page', { param: 'cursor' }],
  TASK_NO_FILE: [404, 'The task %s has no such file'],
  TASK_NOT_CANCELLABLE: [409, 'The task is %s and cannot be cancelled any more'],
})
const ofCaller = workOfCaller('tasks')
const FIND = ofCaller(
  'of account',
  own => `SELECT ${TASK_COLUMNS} FROM ${TASKS} WHERE id = ? AND account = ? AND ${own}`,
)
const FILTERS: Readonly<Record<string, string>> = {
  '': '1 = 1',
  open: "state NOT IN ('succeeded', 'failed')",
  succeeded: "state = 'succeeded'",
  failed: "state = 'failed'",
}
/** Latest first. Parameters: account, member twice, the end of the last page (created, created,
 *  id), rows. */
const LISTS: Readonly<Record<string, Sql>> = Object.fromEntries(
  Object.entries(FILTERS).map(([state, filter]) => [
    state,
    ofCaller(
      `list of account ${state}`,
      own => `SELECT ${TASK_COLUMNS} FROM ${TASKS} WHERE account = ? AND ${own} AND ${filter}
         AND (created < ? OR (created = ? AND id < ?))
       ORDER BY created DESC, id DESC LIMIT ?`,
    ),
  ]),
)
const STATES = overWork(
  'tasks: states of account',
  member => `SELECT id, state, progress, changed, ${member} AS member FROM tasks WHERE account = ?
   ORDER BY created DESC, id DESC LIMIT ?`,
)
const PAGE = 50
const CURSOR = /^(\d{1,15})-([\w-]{1,64})$/

export class AccountTasksStage implements Stage {
  readonly answers = true
  readonly #host: Host
  readonly #runner: TaskRunner
  readonly #view: AccountOptions['view']
  readonly #sendEvents: (exchange: Exchange) => Promise<void>

  constructor(host: Host, runner: TaskRunner, { view }: AccountOptions) {
    this.#host = host
    this.#runner = runner
    this.#view = view
    this.#sendEvents = accountEvents(
      host,
      STATES,
      ({ id, state, progress }) => ({
        id: String(id),
        state: String(state),
        progress: Number(progress),
      }),
      seesWork,
    )
  }
  async handle(exchange: Exchange): Promise<void> {
    if (this.#view === 'account-events') return this.#sendEvents(exchange)
    if (this.#view === 'account-content') return this.#sendFile(exchange)
    const body = await (this.#view === 'account-list' ? this.#list(exchange) : this.#one(exchange))
    const headers = { 'cache-control': 'no-store' }
    exchange.answer(200, { success: true, message: '', ...body }, headers)
  }
  explain() {
    return { tasks: this.#view }
  }
  async #list(exchange: Exchange): Promise<{ readonly [name: string]: Json }> {
    const { request } = exchange
    const list = LISTS[request.query.get('state') ?? '']
    if (!list) throw fault('TASK_STATE')
    const cursor = request.query.get('cursor')
    const [, time = '', id = ''] = cursor === null ? [] : (CURSOR.exec(cursor) ?? [])
    if (cursor !== null && id === '') throw fault('TASK_CURSOR')
    const created = cursor === null ? Number.MAX_SAFE_INTEGER : Number(time)
    const account = accountFor(exchange, 'read')
    const position = [created, created, id]
    const values = [account.id, ...ownWorkValues(account), ...position, PAGE + 1]
    const rows = await this.#host.database.read(list, values)
    const page = rows.slice(0, PAGE)
    const last = page.at(-1)
    return {
      data: (await showListed(page.map(taskOf), this.#host)).map(viewOf),
      next: rows.length > PAGE && last ? `${last.created}-${last.id}` : null,
    }
  }
  async #one(exchange: Exchange): Promise<{ readonly data: Json }> {
    const task = await this.#find(exchange)
    if (this.#view !== 'account-cancel') {
      const fresh = await this.#runner.refreshLinks(this.#host, task)
      return { data: viewOf(await showWhole(fresh, this.#host)) }
    }
    accountFor(exchange, 'use')
    const faults = { notCancellable: (state: string) => fault('TASK_NOT_CANCELLABLE', [state]) }
    await cancelTask(task, { host: this.#host, runner: this.#runner, faults })
    return { data: viewOf(await showWhole(await this.#find(exchange), this.#host)) }
  }
  /** A file of a result, from where it is: the page that plays it loads nothing from elsewhere. */
  async #sendFile(exchange: Exchange): Promise<void> {
    const task = await this.#find(exchange)
    const [index, member] = [Number(exchange.params.index), exchange.params.member ?? '']
    const isIt = (each: { readonly result: number; readonly member: string }) =>
      each.result === index && each.member === member
    const copy = task.copies.find(isIt)
    if (copy) return sendCopy(exchange, this.#host, copy)
    const sourceOf = ({ isCopying, results }: Task) =>
      isCopying ? undefined : sourcesIn(results).find(isIt)
    const source = sourceOf(task)
    if (!source) throw fault('TASK_NO_FILE', [task.id])
    if (isWebUrl(source.text)) {
      const linkOf = (each: Task) => sourceOf(each)?.text ?? source.text
      return sendLink(exchange, { host: this.#host, runner: this.#runner }, task, linkOf)
    }
    const bytes = dataOf(source)
    const { type } = mediaTypeOf(bytes)
    exchange.answer(200, bytes, {
      'content-type': SAFE_TYPE.test(type) ? type : 'application/octet-stream',
      'cache-control': 'private',
      'x-content-type-options': 'nosniff',
    })
  }
  async #find(exchange: Exchange): Promise<Task> {
    const { params } = exchange
    const id = checkPathId(params.id ?? '')
    const isId = /^[\w-]{1,64}$/.test(id)
    const account = accountFor(exchange, 'read')
    const values = [id, account.id, ...ownWorkValues(account)]
    const [row] = isId ? await this.#host.database.read(FIND, values) : []
    if (!row) throw fault('TASK_UNKNOWN', [id.slice(0, 64)])
    return taskOf(row)
  }
}

const viewOf = (task: Task): OwnTask => {
  const { id, request, route, model, state, progress, error, results, body } = task
  return {
    id,
    request_id: request,
    route,
    model,
    state,
    progress: state === 'succeeded' ? 100 : progress,
    error: error ? { code: error.code, message: error.message } : null,
    results: results as OwnTask['results'],
    request: body,
    created: new Date(task.created).toISOString(),
    changed: new Date(task.changed).toISOString(),
    expires: isFinal(state) ? new Date(task.expires).toISOString() : null,
  }
}
