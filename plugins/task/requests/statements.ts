/** Statements over the requests of tasks. Pure. */
import type { Sql, Statement } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import type { Fields } from '../task.ts'

const sql = (name: string, text: string): Sql => ({ name: `task requests: ${name}`, text })

/** The two rows of a task: its own and its request. */
export const TASKS = 'tasks LEFT JOIN task_requests r ON r.task = tasks.id'
export const TASK_COLUMNS = `tasks.*, r.summary, r.meters, r.parts,
   CASE WHEN r.whole IS NULL THEN 0 ELSE 1 END AS is_cut`

/** A request as it is stored; see `REQUEST_TABLES`. */
export interface StoredRequest {
  readonly summary: Fields
  readonly whole: Fields | undefined
  readonly meters: Meters | undefined
  /** Pieces of the request; 0: the summary is the request. */
  readonly parts: number
}
const ADD = sql(
  'add',
  'INSERT INTO task_requests (task, summary, whole, meters, parts) VALUES (?, ?, ?, ?, ?)',
)
export const addRequest = (
  task: string,
  { summary, whole, meters, parts }: StoredRequest,
): Statement => ({
  sql: ADD,
  values: [
    task,
    JSON.stringify(summary),
    whole === undefined ? null : JSON.stringify(whole),
    meters === undefined ? null : JSON.stringify(meters),
    parts,
  ],
  rows: 1,
})
const ADD_PART = sql(
  'add part',
  `INSERT INTO task_request_parts (task, part, created, piece) VALUES (?, ?, ?, ?)
   ON CONFLICT (task, part) DO NOTHING`,
)
export const addPart = (task: string, part: number, piece: string, now: number): Statement => ({
  sql: ADD_PART,
  values: [task, part, now, piece],
})
/** Pieces of a request in their order (task, the first, the end). */
export const PARTS = sql(
  'parts',
  'SELECT piece FROM task_request_parts WHERE task = ? AND part >= ? AND part < ? ORDER BY part',
)
/** The request with its texts uncut (task). */
export const WHOLE = sql('whole', 'SELECT whole FROM task_requests WHERE task = ?')

const DELETE_PARTS = sql('delete parts', 'DELETE FROM task_request_parts WHERE task = ?')
export const deleteParts = (task: string): Statement => ({ sql: DELETE_PARTS, values: [task] })

const ORPHANS = `SELECT task FROM task_request_parts p WHERE part = 0 AND created < ?
   AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = p.task)`
/** Requests whose create was never finished (created before, row count). */
export const ORPHANED = sql('orphaned', `${ORPHANS} LIMIT ?`)

/** Ids of tasks whose rows have a body (row count). */
export const UNSPLIT = sql('unsplit', 'SELECT id FROM tasks_unsplit LIMIT ?')
const SPLIT = sql('split', "UPDATE tasks SET body = '' WHERE id = ?")
const FORGET_UNSPLIT = sql('forget unsplit', 'DELETE FROM tasks_unsplit WHERE id = ?')
/** Moves the request of a task of an earlier version out of its row. */
export const splitTask = (task: string, request: StoredRequest): readonly Statement[] => [
  // The row may be deleted by now, and another process may have moved it.
  { sql: FORGET_UNSPLIT, values: [task], rows: 1, otherwise: 'TASK_SPLIT' },
  { sql: SPLIT, values: [task], rows: 1, otherwise: 'TASK_SPLIT' },
  addRequest(task, request),
]
export const forgetUnsplit = (task: string): Statement => ({ sql: FORGET_UNSPLIT, values: [task] })
