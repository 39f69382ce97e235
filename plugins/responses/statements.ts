/** Statements over stored responses. Pure. Statements in the transaction of a charge never fail by
 *  a constraint: storing a response must not prevent its charge. */
import type { Sql, Statement } from '../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `responses: ${name}`, text })

/** One row: a response of an account. */
export interface StoredResponse {
  readonly account: number
  readonly id: string
  /** ms. */
  readonly created: number
  readonly expires: number
  readonly previous: string | undefined
  readonly conversation: string | undefined
  readonly status: string
  /** JSON, as the client sent it. */
  readonly input: string
  /** JSON, as the client received it. */
  readonly response: string
}

const COLUMNS = 'account, id, created, expires, previous, conversation, status, input, response'
const SAVE = sql(
  'save',
  `INSERT INTO stored_responses (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (account, id) DO UPDATE SET created = excluded.created, expires = excluded.expires,
     previous = excluded.previous, conversation = excluded.conversation, status = excluded.status,
     input = excluded.input, response = excluded.response`,
)
const BEGIN = sql(
  'begin',
  `INSERT INTO stored_responses (${COLUMNS}, process) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
   WHERE account = ? AND id = ? AND process IS NOT NULL`,
)
const DELETE = sql(
  'delete',
  'DELETE FROM stored_responses WHERE account = ? AND id = ? AND expires > ? RETURNING id',
)
const DELETE_EXPIRED = sql(
  'clean',
  `DELETE FROM stored_responses WHERE (account, id) IN (SELECT account, id FROM stored_responses
   WHERE expires <= ? AND process IS NULL ORDER BY expires LIMIT ?) RETURNING id`,
)
/** A response of an account, by its id. */
export const FIND = sql(
  'find',
  `SELECT ${COLUMNS}, process FROM stored_responses WHERE account = ? AND id = ? AND expires > ?`,
)
/** The newest response of an account with an output item of this id. */
export const FIND_ITEM = sql(
  'find item',
  `SELECT s.response, s.status, s.process FROM stored_items i
   JOIN stored_responses s ON s.account = i.account AND s.id = i.response
   WHERE i.account = ? AND i.id = ? AND s.expires > ? ORDER BY s.created DESC LIMIT 1`,
)
/** The responses that a process runs. */
export const RUNNING = sql('running', 'SELECT account, id FROM stored_responses WHERE process = ?')
/** A response and its history, the oldest first. Parameters: account, id, now, account, now,
 *  maximum depth. */
export const HISTORY = sql(
  'history',
  `WITH RECURSIVE chain (depth, id, previous, conversation, created, status, input, response) AS (
     SELECT 1, id, previous, conversation, created, status, input, response FROM stored_responses
     WHERE account = ? AND id = ? AND expires > ?
     UNION ALL
     SELECT c.depth + 1, s.id, s.previous, s.conversation, s.created, s.status, s.input, s.response
     FROM stored_responses s JOIN chain c ON s.id = c.previous
     WHERE s.account = ? AND s.expires > ? AND c.depth < ?)
   SELECT depth, id, previous, conversation, created, status, input, response FROM chain
   ORDER BY depth DESC`,
)

const columns = (response: StoredResponse): Statement['values'] => [
  response.account,
  response.id,
  response.created,
  response.expires,
  response.previous ?? null,
  response.conversation ?? null,
  response.status,
  response.input,
  response.response,
]
/** Replaces a response with the same id. */
export const saveResponse = (response: StoredResponse): Statement => ({
  sql: SAVE,
  values: columns(response),
})
/** Rejects with RESPONSE_REAPED if the process has been reaped. */
export const beginResponse = (response: StoredResponse, process: string): Statement => ({
  sql: BEGIN,
  values: [...columns(response), process],
  violates: { stored_owner: 'RESPONSE_REAPED', 'FOREIGN KEY': 'RESPONSE_REAPED' },
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
/** Does nothing if the response is finished. */
export const cancelResponse = (account: number, id: string): Statement => ({
  sql: CANCEL,
  values: [account, id],
})
/** Returns a row if the response existed. */
export const deleteResponse = (account: number, id: string, now: number): Statement => ({
  sql: DELETE,
  values: [account, id, now],
})
/** Returns a row for each deleted response. */
export const deleteExpiredResponses = (until: number, limit: number): Statement => ({
  sql: DELETE_EXPIRED,
  values: [until, limit],
})
