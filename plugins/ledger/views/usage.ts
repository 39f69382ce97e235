/** Queries of charges for display: single calls and sums. */
import type { Sql } from '../../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

const CALL = `
  SELECT c.request, c.opened, c.closed, c.route, c.model, c.key, c.state, c.held, c.amount, c.uncollected, c.estimated,
    c.usage, c.lines, c.task, c.attributes, r.amount AS refunded
  FROM charges c LEFT JOIN credits r ON r.request = c.request`
/** Parameters: request, account. */
export const RECEIPT = sql('receipt', `${CALL} WHERE c.request = ? AND c.account = ?`)
/** The charge of a task; a late one in place of the released one. Parameters: task, account. */
export const TASK_RECEIPT = sql(
  'receipt of a task',
  `${CALL} WHERE c.task = ? AND c.account = ?
   ORDER BY CASE WHEN c.state = 'settled' THEN 0 ELSE 1 END, c.opened DESC LIMIT 1`,
)
/** The nanos that open calls and tasks of an account hold. Parameters: account. */
export const OPEN_HOLDS = sql(
  'open holds',
  `SELECT CAST(coalesce(sum(held), 0) AS BIGINT) AS held FROM charges
   WHERE account = ? AND state = 'open'`,
)
/** Latest first. Parameters: account, from, to, the end of the last page (opened, opened, request),
 *  row count. */
export const CALLS = sql(
  'calls',
  `${CALL} WHERE c.account = ? AND c.opened >= ? AND c.opened < ?
     AND (c.opened < ? OR (c.opened = ? AND c.request < ?))
   ORDER BY c.opened DESC, c.request DESC LIMIT ?`,
)
/** The charge of a request, for a refund. */
export const CHARGE = sql(
  'charge',
  'SELECT request, account, state, amount FROM charges WHERE request = ?',
)

const sums = (group: string): string => `
  SELECT ${group} AS name, count(*) AS calls, CAST(sum(c.amount) AS BIGINT) AS amount,
    CAST(coalesce(sum(r.amount), 0) AS BIGINT) AS refunded
  FROM charges c LEFT JOIN credits r ON r.request = c.request
  WHERE c.account = ? AND c.opened >= ? AND c.opened < ? AND c.state = 'settled' AND ${group} > ?
  GROUP BY ${group} ORDER BY ${group} LIMIT ?`
/** Parameters: account, from, to, the group to start after, row count. Days are numbered from 1970,
 *  UTC. */
export const BY_DAY = sql('by day', sums('c.opened / 86400000'))
export const BY_MODEL = sql('by model', sums('c.model'))
/** Key 0 is usage without a key. A text, since another statement joins the names of the keys. */
export const BY_KEY = sums('coalesce(c.key, 0)')
