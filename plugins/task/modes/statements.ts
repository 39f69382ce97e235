/** Statements over modes: what each has at the upstream and what waits for room. Pure. */
import type { Sql, Statement } from '../../../engine/plugin.ts'

const sql = (name: string, text: string, postgres?: string): Sql => ({
  name: `task modes: ${name}`,
  text,
  ...(postgres !== undefined && { postgres }),
})

const IS_OPEN = `state NOT IN ('succeeded', 'failed')`
/** A task has room in its mode once it need not wait any longer, until the upstream has finished
 *  it. In the state `unknown` it has room until its deadline: the upstream may work on it. */
const HAS_ROOM = `waiting IS NULL AND copy_due IS NULL AND ${IS_OPEN}
  AND (state <> 'unknown' OR deadline > ?)`

/** By mode, of its open tasks (now): those that have `room`, of these the `accepted` ones, which
 *  the upstream does not have yet, and those that are `waiting` for room. */
export const MODE_COUNTS = sql(
  'counts',
  `SELECT mode, count(CASE WHEN ${HAS_ROOM} THEN 1 END) AS room,
     count(CASE WHEN waiting IS NULL AND state = 'accepted' THEN 1 END) AS accepted,
     count(waiting) AS waiting
   FROM tasks WHERE mode IS NOT NULL AND ${IS_OPEN} GROUP BY mode`,
)
/** The modes in which tasks wait (now), each with the number of those that have `room`. Goes from
 *  one mode to the next in the index: however many wait, it reads few rows. */
export const WAITING_MODES = sql(
  'waiting',
  `WITH RECURSIVE modes (mode) AS (
     SELECT min(mode) FROM tasks WHERE mode IS NOT NULL AND waiting IS NOT NULL AND ${IS_OPEN}
     UNION ALL
     SELECT (SELECT min(t.mode) FROM tasks t
             WHERE t.mode > modes.mode AND t.waiting IS NOT NULL AND t.${IS_OPEN})
     FROM modes WHERE modes.mode IS NOT NULL)
   SELECT mode, (SELECT count(*) FROM tasks WHERE tasks.mode = modes.mode AND ${HAS_ROOM}) AS room
   FROM modes WHERE mode IS NOT NULL`,
)
/** The mean time of the latest tasks, ms (mode, row count). */
export const MODE_MEAN = sql(
  'mean',
  `SELECT CAST(avg(changed - started) AS BIGINT) AS mean FROM (
     SELECT changed, started FROM tasks WHERE mode = ? AND state = 'succeeded' AND late = 0
     ORDER BY changed DESC LIMIT ?) AS latest`,
)

/** Two processes that admit at once would both find the same room. The writer of SQLite admits for
 *  one after the other. */
const LOCK = sql(
  'lock',
  'SELECT 1 AS locked',
  "SELECT 1 AS locked FROM pg_advisory_xact_lock(hashtext('tollgate'), hashtext('task modes'))",
)
const OLDEST = `SELECT id FROM tasks
   WHERE mode = ? AND waiting IS NOT NULL AND ${IS_OPEN}
     AND process IS NULL AND upstream NOT IN (SELECT upstream FROM task_pauses)
   ORDER BY waiting, id LIMIT max(0, CAST(? AS BIGINT) - (
     SELECT count(*) FROM tasks WHERE mode = ? AND ${HAS_ROOM}))`
const admitText = (oldest: string): string =>
  `UPDATE tasks SET waiting = NULL, due = ? WHERE id IN (${oldest})`
const ADMIT = sql('admit', admitText(OLDEST), admitText(`${OLDEST} FOR UPDATE SKIP LOCKED`))
/** Makes tasks that wait for room due, oldest first, until `most` of the mode have room. */
export const admit = (mode: string, most: number, now: number): readonly Statement[] => [
  { sql: LOCK, values: [] },
  { sql: ADMIT, values: [now, mode, most, mode, now] },
]
