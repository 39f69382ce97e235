/** Statements over tasks. A move names the state that it leaves and the process that makes it. */
import { isFields } from '../../engine/kit.ts'
import type { Database, Json, Row, Sql, Statement, Target } from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'
import { workOfCaller } from '../credentials/members.ts'
import { addRequest, type StoredRequest, TASK_COLUMNS, TASKS } from './requests/statements.ts'
import type { Copy, ReportedUsage, State, Task, TaskError } from './task.ts'

const sql = (name: string, text: string, postgres?: string): Sql => ({
  name: `tasks: ${name}`,
  text,
  ...(postgres !== undefined && { postgres }),
})

const CREATE = sql(
  'create',
  `INSERT INTO tasks (id, account, key, request, route, dialect, path, model, version, state, body,
     slots, target, upstream, hold, callback, callback_key, is_call, created, changed, deadline,
     expires, due, mode, waiting, process)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'accepted', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
     (SELECT id FROM ${PROCESSES_TABLE} WHERE id = ?))`,
)
export interface NewTask {
  readonly id: string
  readonly account: number
  readonly key: number | undefined
  readonly request: string
  readonly route: string
  /** Undefined for calls. */
  readonly dialect: string | undefined
  readonly path: string
  readonly model: string
  readonly version: number
  /** After defaults. */
  readonly stored: StoredRequest
  readonly slots: Json
  readonly target: Target
  readonly hold: object | undefined
  readonly callback: object | undefined
  /** Encrypted. */
  readonly callbackKey: string | undefined
  readonly isCall: boolean
  readonly now: number
  readonly deadline: number
  readonly expires: number
  readonly mode: string | undefined
  /** It begins when its mode has room; see modes/. */
  readonly mustWait: boolean
  /** The process that holds it back until its client is answered. */
  readonly heldBy: string | undefined
}
/** Rejects with TASK_ID_TAKEN: the caller makes another id. */
export const createTask = (task: NewTask): readonly Statement[] => [
  insertTask(task),
  addRequest(task.id, task.stored),
]
const insertTask = (task: NewTask): Statement => ({
  sql: CREATE,
  values: [
    task.id,
    task.account,
    task.key ?? null,
    task.request,
    task.route,
    task.dialect ?? null,
    task.path,
    task.model,
    task.version,
    '',
    JSON.stringify(task.slots),
    JSON.stringify(task.target),
    task.target.upstream,
    task.hold === undefined ? null : JSON.stringify(task.hold),
    task.callback === undefined ? null : JSON.stringify(task.callback),
    task.callbackKey ?? null,
    task.isCall ? 1 : 0,
    task.now,
    task.now,
    task.deadline,
    task.expires,
    // A task that waits for its mode is due after its deadline, when it fails.
    task.mustWait ? task.deadline + 1 : task.now,
    task.mode ?? null,
    task.mustWait ? task.now : null,
    task.heldBy ?? null,
  ],
  rows: 1,
  violates: { 'tasks.id': 'TASK_ID_TAKEN', tasks_pkey: 'TASK_ID_TAKEN' },
})

const START = sql('start', 'UPDATE tasks SET process = NULL WHERE request = ? AND process = ?')
/** Lets any process work on the new task of a request. */
export const startTask = (request: string, heldBy: string): Statement => ({
  sql: START,
  values: [request, heldBy],
})
const WITHDRAW = sql('withdraw', 'DELETE FROM tasks WHERE request = ?')
/** Removes the task of a request whose client was told that it failed. */
export const withdrawTask = (request: string): Statement => ({ sql: WITHDRAW, values: [request] })

/** A task that waits for a paused upstream, or for room in its mode, is due at its deadline, when
 *  it fails. */
const DUE = `SELECT id FROM tasks WHERE is_call = ? AND due <= ? AND process IS NULL
   AND (state <> 'accepted' OR deadline <= ?
     OR (waiting IS NULL AND upstream NOT IN (SELECT upstream FROM task_pauses)))
   ORDER BY due LIMIT ?`
const claimText = (due: string): string =>
  `UPDATE tasks SET process = (SELECT id FROM ${PROCESSES_TABLE} WHERE id = ?)
   WHERE id IN (${due}) AND EXISTS (SELECT 1 FROM ${PROCESSES_TABLE} WHERE id = ?) RETURNING id`
const CLAIM = sql('claim', claimText(DUE), claimText(`${DUE} FOR UPDATE SKIP LOCKED`))
/** Takes up to `most` due tasks of one kind for this process, oldest first, and returns their ids:
 *  the store records what a write returns. Of several processes that claim at once each gets
 *  others. */
export const claimDue = (
  process: string,
  now: number,
  most: number,
  isCall: boolean,
): Statement => ({ sql: CLAIM, values: [process, isCall ? 1 : 0, now, now, most, process] })

const MOVE = sql(
  'move',
  `UPDATE tasks SET state = ?, upstream_id = ?, attempts = ?, failures = ?, progress = ?, error = ?,
     results = ?, due = ?, changed = ?, late = ?, started = ?, copies = ?, copy_due = ?,
     process = ?, reported = ?
   WHERE id = ? AND state = ? AND process = ?`,
)
export interface Move {
  readonly state: State
  readonly upstreamId?: string
  readonly attempts?: number
  readonly failures?: number
  readonly progress?: number
  readonly error?: TaskError
  readonly results?: readonly Json[]
  readonly reported?: ReportedUsage
  readonly late?: boolean
  readonly started?: number
  readonly copies?: readonly Copy[]
  /** When its results are copied next. */
  readonly copyDue?: number
  /** Absent: nothing is left to do. */
  readonly due?: number
}
/** `keep`: the process goes on with the task. Rejects with TASK_MOVED: another process made a
 *  move. */
export const moveTask = (
  task: Task,
  move: Move,
  process: string,
  now: number,
  keep = false,
): Statement => {
  const error = move.error ?? task.error
  const results = move.results ?? task.results
  const copies = move.copies ?? task.copies
  const reported = move.reported ?? task.reported
  return {
    sql: MOVE,
    values: [
      move.state,
      move.upstreamId ?? task.upstreamId ?? null,
      move.attempts ?? task.attempts,
      move.failures ?? task.failures,
      move.progress ?? task.progress,
      error === undefined ? null : JSON.stringify(error),
      results.length === 0 ? null : JSON.stringify(results),
      move.due ?? null,
      now,
      (move.late ?? task.late) ? 1 : 0,
      move.started ?? task.started ?? null,
      copies.length === 0 ? null : JSON.stringify(copies),
      move.copyDue ?? null,
      keep ? process : null,
      reported === undefined ? null : JSON.stringify(reported),
      task.id,
      task.state,
      process,
    ],
    rows: 1,
    otherwise: 'TASK_MOVED',
  }
}

/** Nothing else names a result. */
const RESULT_ID = /^[A-Za-z0-9-]{1,64}$/
export const isResultId = (text: string): boolean => RESULT_ID.test(text)
const ADD_RESULT = sql(
  'add result',
  'INSERT INTO task_results (result, task) VALUES (?, ?) ON CONFLICT DO NOTHING',
)
/** Lets later requests name the results of a task that succeeds now. */
export const addResults = (
  before: Pick<Task, 'state'>,
  { id, state, results }: Task,
): readonly Statement[] => {
  if (state !== 'succeeded' || before.state === state) return []
  const ids = results.flatMap(each =>
    isFields(each) && typeof each.id === 'string' && isResultId(each.id) ? [each.id] : [],
  )
  return ids.map(result => ({ sql: ADD_RESULT, values: [result, id] }))
}

const END = sql(
  'end',
  `UPDATE tasks SET state = ?, error = ?, due = NULL, changed = ?, late = ?
   WHERE id = ? AND state = ? AND process IS NULL`,
)
/** Ends a task that no process works on. Rejects with TASK_MOVED. */
export const endIdleTask = (
  { id, state }: Pick<Task, 'id' | 'state'>,
  end: 'succeeded' | 'failed',
  error: TaskError | undefined,
  now: number,
): Statement => ({
  sql: END,
  values: [
    end,
    error === undefined ? null : JSON.stringify(error),
    now,
    state === 'failed' ? 1 : 0,
    id,
    state,
  ],
  rows: 1,
  otherwise: 'TASK_MOVED',
})
const RETRY = sql(
  'retry',
  `UPDATE tasks SET state = 'accepted', error = NULL, due = ?, changed = ?
   WHERE id = ? AND state = ? AND process IS NULL`,
)
/** Makes an unknown task due for another submit. Rejects with TASK_MOVED. */
export const retryIdleTask = (
  { id, state }: Pick<Task, 'id' | 'state'>,
  now: number,
): Statement => ({
  sql: RETRY,
  values: [now, now, id, state],
  rows: 1,
  otherwise: 'TASK_MOVED',
})
const END_SUBMITTING = sql(
  'end submitting',
  `UPDATE tasks SET state = 'failed', error = ?, due = ?, failures = 0, changed = ?, process = NULL
   WHERE id = ? AND state = 'submitting'`,
)
/** Fails a task whose submit is under way: its process cannot move it any more. `due`: when the
 *  upstream is asked for it, if it is. Rejects with TASK_MOVED. */
export const endSubmittingTask = (
  id: string,
  error: TaskError,
  { now, due }: { readonly now: number; readonly due: number | undefined },
): Statement => ({
  sql: END_SUBMITTING,
  values: [JSON.stringify(error), due ?? null, now, id],
  rows: 1,
  otherwise: 'TASK_MOVED',
})
const CLAIM_ONE = sql(
  'claim one',
  `UPDATE tasks SET process = (SELECT id FROM ${PROCESSES_TABLE} WHERE id = ?)
   WHERE id = ? AND account = ? AND process IS NULL
     AND EXISTS (SELECT 1 FROM ${PROCESSES_TABLE} WHERE id = ?) RETURNING id`,
)
/** Takes one task that no process works on; returns its id, if it could be taken. */
export const claimTask = (process: string, id: string, account: number): Statement => ({
  sql: CLAIM_ONE,
  values: [process, id, account, process],
})

const DUE_OF = (kind: 0 | 1): string =>
  `EXISTS (SELECT 1 FROM tasks WHERE is_call = ${kind} AND due <= ? AND process IS NULL)`
/** The kinds of which a task is due and no process has it (now, now). */
export const ANY_DUE = sql(
  'any due',
  `SELECT 0 AS is_call WHERE ${DUE_OF(0)} UNION ALL SELECT 1 WHERE ${DUE_OF(1)}`,
)
// ---------------------------------------------------------------- copies of results

/** No process copies them, or this one has lost sight of them. */
const COPIES_DUE = `SELECT id FROM tasks WHERE copy_due <= ?
   AND (process IS NULL OR (process = ? AND id NOT IN (SELECT value FROM json_each(?))))
   ORDER BY copy_due LIMIT ?`
const CLAIM_COPIES = sql(
  'claim copies',
  claimText(COPIES_DUE),
  claimText(
    `${COPIES_DUE.replace('value FROM json_each(?)', 'json_array_elements_text(CAST(? AS json))')}
     FOR UPDATE SKIP LOCKED`,
  ),
)
/** Takes up to `most` tasks whose results are to be copied. `active`: those that this process
 *  copies already. */
export const claimCopies = (
  process: string,
  active: readonly string[],
  now: number,
  most: number,
): Statement => ({
  sql: CLAIM_COPIES,
  values: [process, now, process, JSON.stringify(active), most, process],
})
/** Whether results are to be copied (now). */
export const ANY_COPY_DUE = sql(
  'any copy due',
  'SELECT 1 AS due FROM tasks WHERE copy_due <= ? LIMIT 1',
)

const MAKE_DUE = sql(
  'make due',
  `UPDATE tasks SET due = ? WHERE id = ? AND state IN ('submitted', 'running') AND process IS NULL
     AND due > ?`,
)
/** Polls a task now. Does nothing for one that is finished, or that a process works on. */
export const makeDue = (id: string, now: number): Statement => ({
  sql: MAKE_DUE,
  values: [now, id, now],
})
// ---------------------------------------------------------------- links of results

const REFRESH = sql(
  'refresh',
  "UPDATE tasks SET results = ?, refreshed = ? WHERE id = ? AND state = 'succeeded'",
)
/** Replaces the results of a finished task. Does nothing where it is gone. */
export const refreshTask = (id: string, results: readonly Json[], now: number): Statement => ({
  sql: REFRESH,
  values: [JSON.stringify(results), now, id],
})
// ---------------------------------------------------------------- operators

const PAUSE = sql(
  'pause',
  'INSERT INTO task_pauses (upstream, since) VALUES (?, ?) ON CONFLICT (upstream) DO NOTHING',
)
const RESUME = sql('resume', 'DELETE FROM task_pauses WHERE upstream = ?')
export const pauseUpstream = (upstream: string, now: number): Statement => ({
  sql: PAUSE,
  values: [upstream, now],
})
export const resumeUpstream = (upstream: string): Statement => ({
  sql: RESUME,
  values: [upstream],
})
/** The paused upstreams: `since`, and how many tasks are `waiting` for each. */
export const PAUSES = sql(
  'pauses',
  `SELECT p.upstream, p.since, count(t.id) AS waiting FROM task_pauses p
     LEFT JOIN tasks t ON t.upstream = p.upstream AND t.state = 'accepted' AND t.due IS NOT NULL
   GROUP BY p.upstream, p.since ORDER BY p.upstream`,
)
const REMIND = sql(
  'remind',
  `UPDATE tasks SET warned = ? WHERE id IN (
     SELECT id FROM tasks WHERE state = 'unknown' AND route = ?
       AND CASE WHEN warned > changed THEN warned ELSE changed END <= ? ORDER BY id LIMIT ?)
   RETURNING id, model, changed`,
)
/** Marks unknown tasks of a route of which operators heard nothing since `before`; returns
 *  them. */
export const remindOfUnknown = (
  route: string,
  before: number,
  now: number,
  most: number,
): Statement => ({ sql: REMIND, values: [now, route, before, most] })

const MAKE_UNKNOWN_DUE = sql(
  'make unknown due',
  `UPDATE tasks SET due = ? WHERE state = 'unknown' AND route = ? AND due IS NULL
     AND process IS NULL AND changed <= ?`,
)
/** Makes tasks due that are `unknown` since then. */
export const makeUnknownDue = (route: string, before: number, now: number): Statement => ({
  sql: MAKE_UNKNOWN_DUE,
  values: [now, route, before],
})

// ---------------------------------------------------------------- queries

/** Over tasks that the caller sees. */
const ofCaller = workOfCaller('tasks')
const SELECT = `SELECT ${TASK_COLUMNS} FROM ${TASKS}`

const CLAIMED = sql(
  'claimed',
  `${SELECT} WHERE process = ? AND id IN (SELECT value FROM json_each(?))`,
  `${SELECT} WHERE process = ? AND id IN (SELECT json_array_elements_text(CAST(? AS json)))`,
)
/** The tasks that a process has claimed, by their `id`. */
export const readClaimed = async (
  database: Pick<Database, 'read'>,
  process: string,
  claimed: readonly Row[],
): Promise<readonly Row[]> => {
  if (claimed.length === 0) return []
  return database.read(CLAIMED, [process, JSON.stringify(claimed.map(({ id }) => id))])
}
/** The tasks that a process owns and does not copy results of (process). */
export const OWNED = sql('owned', `${SELECT} WHERE process = ? AND copy_due IS NULL`)
/** A task of an account (id, account). */
export const FIND = sql('find', `${SELECT} WHERE id = ? AND account = ?`)
/** A call of an account that ran as a task (id, account, path, member twice). */
export const FIND_CALL = ofCaller(
  'find call',
  own => `${SELECT} WHERE id = ? AND account = ? AND path = ? AND is_call = 1 AND ${own}`,
)
/** A task of an account in a dialect (id, account, dialect, member twice). */
export const FIND_IN_DIALECT = ofCaller(
  'find in dialect',
  own => `${SELECT} WHERE id = ? AND account = ? AND dialect = ? AND ${own}`,
)
/** The latest task of an account in a dialect with a result of this id (result, account, dialect,
 *  member twice). */
export const FIND_BY_RESULT = ofCaller(
  'find by result',
  own => `${SELECT} WHERE id IN (SELECT task FROM task_results WHERE result = ?)
     AND account = ? AND dialect = ? AND ${own}
   ORDER BY created DESC LIMIT 1`,
)
/** For operators (id). */
export const FIND_ANY = sql('find any', `${SELECT} WHERE id = ?`)
/** The latest tasks of an account in a dialect (account, from, to, dialect, member twice, row
 *  count, rows to skip). */
export const LIST = ofCaller(
  'list',
  own => `${SELECT} WHERE account = ? AND created >= ? AND created < ? AND dialect = ? AND ${own}
   ORDER BY created DESC, id DESC LIMIT ? OFFSET ?`,
)
const isIn = (value: string): string =>
  `AND (CAST(? AS TEXT) IS NULL OR ${value} IN (SELECT value FROM json_each(?)))`
const filteredText = (own: string): string =>
  `${SELECT} WHERE account = ? AND created >= ? AND created < ? AND dialect = ? AND ${own}
   ${isIn('id')} ${isIn('state')} ${isIn('model')} ${isIn('path')}
   ${isIn("json_extract(coalesce(r.summary, tasks.body), '$.resolution')")}
   ORDER BY created DESC, id DESC LIMIT ? OFFSET ?`
/** The tasks of LIST whose id, state, model, path and resolution are in the lists of a client. Each
 *  list is a parameter twice: as JSON, or null without this filter. They precede the row count. */
const FILTERED_TEXTS = ofCaller('filtered', filteredText)
export const FILTERED: Sql = {
  ...FILTERED_TEXTS,
  postgres: String(FILTERED_TEXTS.postgres)
    .replaceAll('value FROM json_each(?)', 'json_array_elements_text(CAST(? AS json))')
    .replace('json_extract(', '(CAST(')
    .replace(", '$.resolution')", " AS json)->>'resolution')"),
}
const page = (order: 'asc' | 'desc', before: '<' | '>'): Sql =>
  ofCaller(
    `page ${order}`,
    own => `${SELECT} WHERE account = ? AND dialect = ? AND ${own} AND created ${before}= ?
       AND (CAST(? AS TEXT) IS NULL OR id ${before} ?)
     ORDER BY created ${order}, id ${order} LIMIT ?`,
  )
/** Tasks of an account in a dialect that follow another one, by its time and its id (account,
 *  dialect, member twice, time, twice the id or null, row count). */
export const PAGES = { asc: page('asc', '>'), desc: page('desc', '<') } as const
/** The same of those that are not finished. */
export const QUEUE = ofCaller(
  'queue',
  own => `${SELECT} WHERE account = ? AND created >= ? AND created < ? AND dialect = ? AND ${own}
     AND state NOT IN ('succeeded', 'failed')
   ORDER BY created DESC, id DESC LIMIT ? OFFSET ?`,
)
/** For operators: the latest of one state, or of all (twice null), row count. */
export const LIST_ANY = sql(
  'list any',
  `${SELECT} WHERE CAST(? AS TEXT) IS NULL OR state = ?
   ORDER BY created DESC, id DESC LIMIT ?`,
)
/** Unfinished tasks of an account (account). */
export const OPEN = sql(
  'open',
  `SELECT count(*) AS open FROM tasks
   WHERE account = ? AND state NOT IN ('succeeded', 'failed')`,
)
/** Open tasks by state, with the creation time of the oldest, and the oldest due time. */
export const COUNTS = sql(
  'counts',
  `SELECT state, count(*) AS number, min(created) AS oldest, min(due) AS due FROM tasks
   WHERE state NOT IN ('succeeded', 'failed') GROUP BY state`,
)
const DELETE_EXPIRED = sql(
  'delete expired',
  `DELETE FROM tasks WHERE id IN (SELECT id FROM tasks WHERE expires <= ?
   AND state IN ('succeeded', 'failed') ORDER BY expires LIMIT ?) RETURNING id`,
)
export const deleteExpired = (now: number, most: number): Statement => ({
  sql: DELETE_EXPIRED,
  values: [now, most],
})
const DELETE = sql(
  'delete',
  "DELETE FROM tasks WHERE id = ? AND account = ? AND state IN ('succeeded', 'failed')",
)
/** Deletes a finished task. Rejects with TASK_MOVED: it is not finished, or deleted already. */
export const deleteTask = ({ id, account }: Pick<Task, 'id' | 'account'>): Statement => ({
  sql: DELETE,
  values: [id, account],
  rows: 1,
  otherwise: 'TASK_MOVED',
})
