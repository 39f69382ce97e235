/** Statements over stored responses. Pure. Statements in the transaction of a charge never fail by
 *  a constraint: storing a response must not prevent its charge. */
import type { Sql, Statement } from '../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../engine/store/while-registered.ts'
import { makerValues, type Owner, overMade } from '../credentials/members.ts'

const sql = (name: string, text: string): Sql => ({ name: `responses: ${name}`, text })

/** One row: a response of an account. */
export interface StoredResponse extends ResponseRow {
  /** JSON, as the client sent it. */
  readonly input: string
}
/** A row without its input. */
export interface ResponseRow extends Owner {
  readonly id: string
  /** ms. */
  readonly created: number
  readonly expires: number
  readonly previous: string | undefined
  readonly conversation: string | undefined
  readonly status: string
  /** JSON, as the client received it. */
  readonly response: string
}

const STATE = 'account, id, created, expires, previous, conversation, status, response'
const COLUMNS = `${STATE}, input`
const NEW_COLUMNS = `${STATE}, key, member, input`
/** The input of a row `s`, or of its parts. */
const INPUT = `CASE WHEN s.input <> '' THEN s.input ELSE (
     SELECT string_agg(p.piece, '' ORDER BY p.part) FROM stored_response_parts p
     WHERE p.account = s.account AND p.response = s.id AND p.name = 'input') END AS input`
const SAVE = sql(
  'save',
  `INSERT INTO stored_responses (${NEW_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (account, id) DO UPDATE SET created = excluded.created, expires = excluded.expires,
     previous = excluded.previous, conversation = excluded.conversation, status = excluded.status,
     input = excluded.input, response = excluded.response, key = excluded.key,
     member = excluded.member`,
)
const BEGIN = sql(
  'begin',
  `INSERT INTO stored_responses (${NEW_COLUMNS}, process)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?)`,
)
const OPEN = sql(
  'open',
  `UPDATE stored_responses SET status = 'in_progress'
   WHERE account = ? AND id = ? AND status = 'begun' AND process = ?`,
)
const ADD_PIECE = sql(
  'add piece',
  `INSERT INTO stored_response_parts (account, response, name, part, piece) VALUES (?, ?, ?, ?, ?)
   ON CONFLICT (account, response, name, part) DO NOTHING`,
)
/** Pieces in their order (account, response, name, the first, the end). */
export const PIECES = sql(
  'pieces',
  `SELECT piece FROM stored_response_parts
   WHERE account = ? AND response = ? AND name = ? AND part >= ? AND part < ? ORDER BY part`,
)
const DELETE_BEGUN = sql(
  'delete begun',
  `DELETE FROM stored_responses WHERE (account, id) IN (SELECT account, id FROM stored_responses
   WHERE status = 'begun' AND process IS NULL LIMIT ?) RETURNING id`,
)
const FINISH = sql(
  'finish',
  `UPDATE stored_responses SET status = ?, response = ?, process = NULL
   WHERE account = ? AND id = ? AND process IS NOT NULL`,
)
const INDEX_ITEMS: Sql = {
  name: 'responses: index items',
  text: `INSERT INTO stored_items (account, id, response) SELECT s.account, item.value, s.id
   FROM stored_responses s, json_each(?) item WHERE s.account = ? AND s.id = ?
   ON CONFLICT (account, id, response) DO NOTHING`,
  postgres: `INSERT INTO stored_items (account, id, response) SELECT s.account, item.value, s.id
   FROM stored_responses s, json_array_elements_text(CAST(? AS JSON)) AS item (value)
   WHERE s.account = ? AND s.id = ? ON CONFLICT (account, id, response) DO NOTHING`,
}
const CANCEL = sql(
  'cancel',
  `UPDATE stored_responses SET status = 'cancelled', process = NULL
   WHERE account = ? AND id = ? AND status = 'in_progress' AND (process IS NOT NULL
     OR EXISTS (SELECT 1 FROM stored_calls c
       WHERE c.account = stored_responses.account AND c.response = stored_responses.id))`,
)
const SAVE_CALL = sql(
  'save call',
  'INSERT INTO stored_calls (account, response, call) VALUES (?, ?, ?)',
)
const FORGET_CALL = sql(
  'forget call',
  `DELETE FROM stored_calls WHERE account = ? AND response = ? AND NOT EXISTS (
     SELECT 1 FROM stored_responses s WHERE s.account = stored_calls.account
       AND s.id = stored_calls.response AND s.status = 'in_progress')`,
)
const TAKE = sql(
  'take',
  `UPDATE stored_responses SET process = (SELECT id FROM ${PROCESSES_TABLE} WHERE id = ?)
   WHERE account = ? AND id = ? AND status = 'in_progress' AND process IS NULL
     AND EXISTS (SELECT 1 FROM ${PROCESSES_TABLE} WHERE id = ?)`,
)
const COUNT_ATTEMPT = sql(
  'count attempt',
  'UPDATE stored_calls SET attempts = attempts + 1 WHERE account = ? AND response = ?',
)
const RELEASE = sql(
  'release',
  `UPDATE stored_responses SET process = NULL
   WHERE account = ? AND id = ? AND process = ? AND status = 'in_progress'`,
)
/** Unfinished background responses that no process runs (row count). */
export const WAITING_CALLS = sql(
  'waiting calls',
  `SELECT c.account, c.response, c.attempts FROM stored_calls c
   JOIN stored_responses s ON s.account = c.account AND s.id = c.response
   WHERE s.status = 'in_progress' AND s.process IS NULL ORDER BY s.created LIMIT ?`,
)
/** The call of an unfinished background response (account, its id). */
export const CALL = sql(
  'call',
  `SELECT c.call, s.response FROM stored_calls c
   JOIN stored_responses s ON s.account = c.account AND s.id = c.response
   WHERE c.account = ? AND c.response = ?`,
)
const WITHDRAW = sql('withdraw', 'DELETE FROM stored_responses WHERE account = ? AND id = ?')
const DELETE = sql(
  'delete',
  'DELETE FROM stored_responses WHERE account = ? AND id = ? AND expires > ? RETURNING id',
)
const DELETE_EXPIRED = sql(
  'clean',
  `DELETE FROM stored_responses WHERE (account, id) IN (SELECT account, id FROM stored_responses
   WHERE expires <= ? AND process IS NULL ORDER BY expires LIMIT ?) RETURNING id`,
)
/** 0 for a response in progress that no process can run again. */
const CALLS = `(SELECT count(*) FROM stored_calls c
     WHERE c.account = s.account AND c.response = s.id) AS calls`
/** A response that a caller sees, without its input (parameters of the caller, id, now). */
export const FIND = overMade('s', caller =>
  sql(
    'find',
    `SELECT ${STATE}, process, ${CALLS} FROM stored_responses s
     WHERE ${caller} AND id = ? AND expires > ? AND status <> 'begun'`,
  ),
)
/** The input of a response that its caller may see (account, id). */
export const FIND_INPUT = sql(
  'find input',
  `SELECT ${INPUT} FROM stored_responses s WHERE account = ? AND id = ?`,
)
/** The newest response that a caller sees with an output item of this id (parameters of the caller,
 *  id, now). */
export const FIND_ITEM = overMade('s', caller =>
  sql(
    'find item',
    `SELECT s.response, s.status, s.process FROM stored_items i
     JOIN stored_responses s ON s.account = i.account AND s.id = i.response
     WHERE ${caller} AND i.id = ? AND s.expires > ? ORDER BY s.created DESC LIMIT 1`,
  ),
)
/** The responses that a process runs. */
export const RUNNING = sql('running', 'SELECT account, id FROM stored_responses WHERE process = ?')
/** A response and its history, the oldest first. Parameters: caller, id, now, account, now,
 *  maximum depth. A response of the caller may continue one of another member, which an owner
 *  continued. */
export const HISTORY = overMade('stored_responses', caller =>
  sql(
    'history',
    `WITH RECURSIVE chain (depth, ${COLUMNS}, process) AS (
     SELECT 1, ${COLUMNS}, process FROM stored_responses
     WHERE ${caller} AND id = ? AND expires > ?
     UNION ALL
     SELECT c.depth + 1, ${COLUMNS.replace(/\w+/g, 's.$&')}, s.process
     FROM stored_responses s JOIN chain c ON s.id = c.previous
     WHERE s.account = ? AND s.expires > ? AND c.depth < ?)
   SELECT depth, ${STATE}, process, ${INPUT}, ${CALLS} FROM chain s
   ORDER BY depth DESC`,
  ),
)

const columns = (response: ResponseRow): Statement['values'] => [
  response.account,
  response.id,
  response.created,
  response.expires,
  response.previous ?? null,
  response.conversation ?? null,
  response.status,
  response.response,
  ...makerValues(response.maker),
]
/** Replaces a response with the same id. */
export const saveResponse = (response: StoredResponse): Statement => ({
  sql: SAVE,
  values: [...columns(response), response.input],
})
/** The row of a background response, without its parts. Rejects with RESPONSE_REAPED if the process
 *  has been reaped. */
export const beginResponse = (response: ResponseRow, process: string): Statement => ({
  sql: BEGIN,
  values: [...columns(response), process],
  violates: { stored_owner: 'RESPONSE_REAPED', 'FOREIGN KEY': 'RESPONSE_REAPED' },
})
/** Makes a response that is `begun` one in progress, once its parts are stored. Rejects with
 *  RESPONSE_REAPED if the process has been reaped. */
export const openResponse = (account: number, id: string, process: string): Statement => ({
  sql: OPEN,
  values: [account, id, process],
  rows: 1,
  otherwise: 'RESPONSE_REAPED',
})
/** The pieces of a part. */
export const addPieces = (
  account: number,
  response: string,
  name: 'input' | 'body',
  pieces: readonly string[],
): readonly Statement[] =>
  pieces.map((piece, part) => ({ sql: ADD_PIECE, values: [account, response, name, part, piece] }))
/** Deletes responses whose process ended before their parts were stored. Returns a row for each. */
export const deleteBegunResponses = (limit: number): Statement => ({
  sql: DELETE_BEGUN,
  values: [limit],
})
/** Stores what runs a background response, so that another process can. */
export const saveCall = (account: number, response: string, call: string): Statement => ({
  sql: SAVE_CALL,
  values: [account, response, call],
})
/** Does nothing while the response is in progress: a process that was reaped cannot finish it. */
export const forgetCall = (account: number, response: string): Statement => ({
  sql: FORGET_CALL,
  values: [account, response],
})
/** Makes this process the one that runs a response. Rejects with RESPONSE_TAKEN if another does. */
export const takeResponse = (
  account: number,
  id: string,
  process: string,
): readonly Statement[] => [
  { sql: TAKE, values: [process, account, id, process], rows: 1, otherwise: 'RESPONSE_TAKEN' },
  { sql: COUNT_ATTEMPT, values: [account, id] },
]
/** Leaves an unfinished response to another process. */
export const releaseResponse = (account: number, id: string, process: string): Statement => ({
  sql: RELEASE,
  values: [account, id, process],
})
/** Does nothing if the response was cancelled, deleted or finished. */
export const finishResponse = (
  account: number,
  id: string,
  status: string,
  response: string,
): Statement => ({ sql: FINISH, values: [status, response, account, id] })
/** Indexes the items of a response by their ids. Does nothing if the response was deleted. */
export const indexItems = (account: number, id: string, items: readonly string[]): Statement => ({
  sql: INDEX_ITEMS,
  values: [JSON.stringify(items), account, id],
})
/** Does nothing if the response is finished, or if no process can run it again. */
export const cancelResponse = (account: number, id: string): Statement => ({
  sql: CANCEL,
  values: [account, id],
})
/** Returns a row if the response existed. */
/** Removes the response of a request whose client was told that it failed. */
export const withdrawResponse = (account: number, id: string): Statement => ({
  sql: WITHDRAW,
  values: [account, id],
})
export const deleteResponse = (account: number, id: string, now: number): Statement => ({
  sql: DELETE,
  values: [account, id, now],
})
/** Returns a row for each deleted response. */
export const deleteExpiredResponses = (until: number, limit: number): Statement => ({
  sql: DELETE_EXPIRED,
  values: [until, limit],
})
