/** Pure statements over what is kept of responses. None of those that go with a charge can be refused: what is kept must
 *  never stand in the way of what is paid. */
import type { Sql, Statement } from '../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `responses: ${name}`, text })

/** One response of one account, as it is written down. */
export interface Stored {
  readonly account: number
  readonly id: string
  /** ms. */
  readonly created: number
  readonly expires: number
  readonly previous: string | undefined
  readonly conversation: string | undefined
  readonly status: string
  /** JSON: as its client sent it. */
  readonly input: string
  /** JSON: as its client was told it. */
  readonly response: string
}

const COLUMNS = 'account, id, created, expires, previous, conversation, status, input, response'
const KEEP = sql(
  'keep',
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
const NAME_ITEMS: Sql = {
  name: 'responses: name items',
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
const FORGET = sql(
  'forget',
  'DELETE FROM stored_responses WHERE account = ? AND id = ? AND expires > ? RETURNING id',
)
const CLEAN = sql(
  'clean',
  `DELETE FROM stored_responses WHERE (account, id) IN (SELECT account, id FROM stored_responses
   WHERE expires <= ? AND process IS NULL ORDER BY expires LIMIT ?) RETURNING id`,
)
/** One of an account's, by its id. */
export const FIND = sql(
  'find',
  `SELECT ${COLUMNS}, process FROM stored_responses WHERE account = ? AND id = ? AND expires > ?`,
)
/** The newest response of an account's that has an item of this name among what it answered. */
export const FIND_ITEM = sql(
  'find item',
  `SELECT s.response, s.status, s.process FROM stored_items i
   JOIN stored_responses s ON s.account = i.account AND s.id = i.response
   WHERE i.account = ? AND i.id = ? AND s.expires > ? ORDER BY s.created DESC LIMIT 1`,
)
/** What a process makes. */
export const RUNNING = sql('running', 'SELECT account, id FROM stored_responses WHERE process = ?')
/** A response and all that it continues, the oldest first: (account, id, now, account, now, most). */
export const CHAIN = sql(
  'chain',
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

const columns = (of: Stored): Statement['values'] => [
  ...[of.account, of.id, of.created, of.expires, of.previous ?? null, of.conversation ?? null],
  ...[of.status, of.input, of.response],
]
/** Of one id the last one stays. */
export const keepResponse = (of: Stored): Statement => ({ sql: KEEP, values: columns(of) })
/** Rejects with RESPONSE_BURIED when the process is taken for dead. */
export const beginResponse = (of: Stored, process: string): Statement => ({
  sql: BEGIN,
  values: [...columns(of), process],
  violates: { stored_owner: 'RESPONSE_BURIED', 'FOREIGN KEY': 'RESPONSE_BURIED' },
})
/** Nothing happens where somebody cancelled or deleted it, or it is finished already. */
export const finishResponse = (
  account: number,
  id: string,
  status: string,
  response: string,
): Statement => ({ sql: FINISH, values: [status, response, account, id] })
/** What its items can be found by. Nothing happens where it was deleted. */
export const nameItems = (account: number, id: string, items: readonly string[]): Statement => ({
  sql: NAME_ITEMS,
  values: [JSON.stringify(items), account, id],
})
/** Nothing happens where it is finished. */
export const cancelResponse = (account: number, id: string): Statement => ({
  sql: CANCEL,
  values: [account, id],
})
/** Returns a row where there was one. */
export const forgetResponse = (account: number, id: string, now: number): Statement => ({
  sql: FORGET,
  values: [account, id, now],
})
/** Returns a row for each that went. */
export const cleanResponses = (until: number, most: number): Statement => ({
  sql: CLEAN,
  values: [until, most],
})
