/** Statements over batches and their lines. A move of a batch names the state that it leaves; a
 *  move of a line names the process that works on it. Pure. */
import type { Fault, Sql, Statement } from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'
import { overWork, workOfCaller } from '../credentials/members.ts'
import { withAccountNames } from '../credentials/statements.ts'
import {
  type Batch,
  type BatchState,
  type Ending,
  type Line,
  type LineError,
  MESSAGES,
} from './batch.ts'

const sql = (name: string, text: string, postgres?: string): Sql => ({
  name: `batches: ${name}`,
  text,
  ...(postgres !== undefined && { postgres }),
})

const CREATE = sql(
  'create',
  `INSERT INTO batches (id, account, slots, endpoint, route, input_file, metadata, output_lifetime,
     total, state, times, created, expires, process)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'validating', '{}', ?, ?,
     (SELECT id FROM ${PROCESSES_TABLE} WHERE id = ?))`,
)
/** It begins after `startBatch`, or after the end of the process `heldBy`. */
export const createBatch = (batch: Batch, heldBy: string): Statement => ({
  sql: CREATE,
  values: [
    batch.id,
    batch.account,
    JSON.stringify(batch.slots),
    batch.endpoint,
    batch.route,
    batch.inputFile,
    batch.metadata === null ? null : JSON.stringify(batch.metadata),
    batch.outputLifetime ?? null,
    batch.total,
    batch.created,
    batch.expires,
    heldBy,
  ],
  rows: 1,
})
const START = sql('start', 'UPDATE batches SET process = NULL WHERE id = ?')
export const startBatch = (id: string): Statement => ({ sql: START, values: [id] })
const WITHDRAW = sql('withdraw', 'DELETE FROM batches WHERE id = ?')
/** Removes a batch with its lines: its client was told that its create failed, or deletes it. */
export const withdrawBatch = (id: string): Statement => ({ sql: WITHDRAW, values: [id] })

const MOVE = sql(
  'move',
  `UPDATE batches SET state = ?, ending = ?, times = ?, errors = ?, total = ?,
     completed = coalesce(?, completed), failed = coalesce(?, failed),
     output_file = ?, error_file = ? WHERE id = ? AND state = ?`,
)
type Move = Partial<
  Pick<Batch, 'errors' | 'total' | 'completed' | 'failed' | 'outputFile' | 'errorFile'>
> & { readonly state: BatchState; readonly ending?: Ending }
/** Rejects with BATCH_MOVED: another process, or the client, made a move. Lines that end meanwhile
 *  count: the counters change only if the move has them. */
export const moveBatch = (batch: Batch, move: Move, now: number): Statement => {
  const times = move.state === batch.state ? batch.times : { ...batch.times, [move.state]: now }
  const after = { ...batch, ...move, times }
  return {
    sql: MOVE,
    values: [
      after.state,
      after.ending ?? null,
      JSON.stringify(after.times),
      after.errors.length > 0 ? JSON.stringify(after.errors) : null,
      after.total,
      move.completed ?? null,
      move.failed ?? null,
      after.outputFile ?? null,
      after.errorFile ?? null,
      batch.id,
      batch.state,
    ],
    rows: 1,
    otherwise: 'BATCH_MOVED',
  }
}
export const failBatch = (batch: Batch, errors: readonly LineError[], now: number): Statement =>
  moveBatch(batch, { state: 'failed', errors }, now)

/** Lines under way end, and are charged; no other is sent. `reason`: why the
 *  gateway cancels it. */
export const cancelBatch = (batch: Batch, now: number, reason?: Fault): Statement => {
  const state = batch.state === 'validating' ? 'cancelled' : 'cancelling'
  const error = reason && { code: reason.code.toLowerCase(), message: reason.message }
  const errors = error ? [{ ...error, param: null, line: null }] : batch.errors
  return moveBatch(batch, { state, ending: 'cancelled', errors }, now)
}

/** Over batches that the caller sees. */
const ofCaller = workOfCaller('batches')
/** A batch of an account (id, account, member twice). */
export const FIND = ofCaller(
  'find',
  own => `SELECT * FROM batches WHERE id = ? AND account = ? AND ${own}`,
)
/** For the runner (id). */
export const FIND_ANY = sql('find any', 'SELECT * FROM batches WHERE id = ?')
const OF_MESSAGES = `CASE WHEN endpoint = '${MESSAGES}' THEN 1 ELSE 0 END = ?`
/** Batches of an account behind a position, newest first (account, 1: of messages, member twice,
 *  created, id, row count). */
export const PAGE = ofCaller(
  'page',
  own => `SELECT * FROM batches WHERE account = ? AND ${OF_MESSAGES} AND ${own} AND (created, id) < (?, ?)
   ORDER BY created DESC, id DESC LIMIT ?`,
)
/** Those before a position, oldest first (as `PAGE`). */
export const PAGE_BEFORE = ofCaller(
  'page before',
  own => `SELECT * FROM batches WHERE account = ? AND ${OF_MESSAGES} AND ${own} AND (created, id) > (?, ?)
   ORDER BY created, id LIMIT ?`,
)
/** The latest batches (account or null, account, state or null, state, row count). */
export const LIST_ANY = sql(
  'list any',
  withAccountNames(
    `SELECT * FROM batches WHERE (CAST(? AS BIGINT) IS NULL OR account = ?)
       AND (CAST(? AS TEXT) IS NULL OR state = ?) ORDER BY created DESC, id DESC LIMIT ?`,
    'account',
  ),
)
/** A batch with the name of its account (id). */
export const FIND_NAMED = sql(
  'find named',
  withAccountNames('SELECT * FROM batches WHERE id = ?', 'account'),
)
/** Reads whether batches of an account have changed (account, row count). */
export const STATES = overWork(
  'batches: states',
  member => `SELECT id, state, completed, failed, total, ${member} AS member FROM batches WHERE account = ?
   ORDER BY created DESC, id DESC LIMIT ?`,
)
/** Unfinished batches, oldest first. */
export const UNFINISHED = sql(
  'unfinished',
  `SELECT * FROM batches WHERE state IN ('validating', 'in_progress', 'finalizing', 'cancelling')
     AND process IS NULL ORDER BY created`,
)
const DELETE_EXPIRED = sql(
  'delete expired',
  `DELETE FROM batches WHERE id IN (SELECT id FROM batches WHERE created <= ?
     AND state IN ('completed', 'failed', 'cancelled', 'expired') ORDER BY created LIMIT ?)`,
)
export const deleteOldBatches = (before: number, most: number): Statement => ({
  sql: DELETE_EXPIRED,
  values: [before, most],
})

// ---------------------------------------------------------------- lines

const ADD_LINE = sql(
  'add line',
  'INSERT INTO batch_lines (batch, line, custom_id, start, size, due) VALUES (?, ?, ?, ?, ?, ?)',
)
/** It is sent once its batch is in progress. */
export const addLine = (
  { batch, line, customId, start, size }: Omit<Line, 'attempts' | 'waits'>,
  due: number,
): Statement => ({ sql: ADD_LINE, values: [batch, line, customId, start, size, due] })
const DELETE_LINES = sql(
  'delete lines',
  `DELETE FROM batch_lines WHERE batch = ? AND line IN (
     SELECT line FROM batch_lines WHERE batch = ? ORDER BY line LIMIT ?) RETURNING line`,
)
export const deleteLines = (batch: string, most: number): Statement => ({
  sql: DELETE_LINES,
  values: [batch, batch, most],
})
/** Ended batches whose lines are still there. */
export const ENDED_WITH_LINES = sql(
  'ended with lines',
  `SELECT id FROM batches WHERE state IN ('completed', 'failed', 'cancelled', 'expired')
     AND EXISTS (SELECT 1 FROM batch_lines WHERE batch = batches.id)`,
)
/** A row where a line of the batch has no outcome yet (batch). */
export const ANY_UNFINISHED = sql(
  'any unfinished',
  'SELECT line FROM batch_lines WHERE batch = ? AND due IS NOT NULL LIMIT 1',
)
/** A row where a process works on a line of the batch (batch). */
export const ANY_RUNNING = sql(
  'any running',
  'SELECT line FROM batch_lines WHERE batch = ? AND due IS NOT NULL AND process IS NOT NULL LIMIT 1',
)

/** Lines of batches that have ended, or are being checked, are not sent. */
const IS_DUE = `due IS NOT NULL AND due <= ? AND process IS NULL AND batch IN (
   SELECT id FROM batches WHERE state = 'in_progress' AND ending IS NULL)`

/** Whether a line may be sent (now). */
export const ANY_DUE = sql('any due', `SELECT line FROM batch_lines WHERE ${IS_DUE} LIMIT 1`)
/** In the order of lines, so that batches make progress side by side. */
const DUE = `SELECT batch, line FROM batch_lines WHERE ${IS_DUE} ORDER BY line LIMIT ?`
const claimText = (due: string): string =>
  `UPDATE batch_lines SET attempts = attempts + 1,
     process = (SELECT id FROM ${PROCESSES_TABLE} WHERE id = ?)
   WHERE (batch, line) IN (${due}) AND EXISTS (SELECT 1 FROM ${PROCESSES_TABLE} WHERE id = ?)
   RETURNING *`
const CLAIM = sql('claim lines', claimText(DUE), claimText(`${DUE} FOR UPDATE SKIP LOCKED`))
/** Takes up to `most` lines for this process and returns their rows. */
export const claimLines = (process: string, now: number, most: number): Statement => ({
  sql: CLAIM,
  values: [process, now, most, process],
})
/** The lines that a process works on (process). */
export const OWNED = sql('owned lines', 'SELECT * FROM batch_lines WHERE process = ?')

const FINISH = sql(
  'finish line',
  `UPDATE batch_lines SET outcome = ?, ok = ?, due = NULL, process = NULL
   WHERE batch = ? AND line = ? AND process = ?`,
)
const COUNT_LINE = sql(
  'count line',
  'UPDATE batches SET completed = completed + ?, failed = failed + ? WHERE id = ?',
)
/** `outcome`: the line of the output file, or of the error file. Counts it in its batch. Rejects
 *  with LINE_MOVED. */
export const finishLine = (
  { batch, line }: Line,
  process: string,
  outcome: string,
  isOk: boolean,
): readonly Statement[] => [
  {
    sql: FINISH,
    values: [outcome, isOk ? 1 : 0, batch, line, process],
    rows: 1,
    otherwise: 'LINE_MOVED',
  },
  { sql: COUNT_LINE, values: isOk ? [1, 0, batch] : [0, 1, batch], rows: 1 },
]
const RETRY = sql(
  'retry line',
  `UPDATE batch_lines SET process = NULL, due = ?, waits = ?
   WHERE batch = ? AND line = ? AND process = ?`,
)
/** Rejects with LINE_MOVED. */
export const retryLine = (
  { batch, line, waits }: Line,
  process: string,
  due: number,
): Statement => ({
  sql: RETRY,
  values: [due, waits, batch, line, process],
  rows: 1,
  otherwise: 'LINE_MOVED',
})

/** Lines of a batch by outcome (batch). Reads all of them. */
export const COUNTS = sql(
  'counts',
  `SELECT coalesce(sum(CASE WHEN ok = 1 THEN 1 ELSE 0 END), 0) AS completed,
     coalesce(sum(CASE WHEN ok = 0 THEN 1 ELSE 0 END), 0) AS failed
   FROM batch_lines WHERE batch = ?`,
)
/** Outcomes of a batch in order (batch, ok, line to start after, row count). */
export const OUTCOMES = sql(
  'outcomes',
  `SELECT line, outcome FROM batch_lines WHERE batch = ? AND ok = ? AND line > ?
   ORDER BY line LIMIT ?`,
)
/** Lines without an outcome (batch, line to start after, row count). */
export const UNSENT = sql(
  'unsent',
  `SELECT line, batch, custom_id, start, size, attempts, waits FROM batch_lines
   WHERE batch = ? AND ok IS NULL AND line > ? ORDER BY line LIMIT ?`,
)
