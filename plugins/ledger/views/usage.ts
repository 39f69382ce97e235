/** Queries of charges for display: single calls and sums. */
import type { Sql } from '../../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

export const CALL = `
  SELECT c.request, c.account, c.version, c.opened, c.closed, c.route, c.model, c.key, c.state, c.held, c.amount, c.uncollected, c.estimated,
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
/** Latest first. Parameters: account, row count. */
export const LAST_CALLS = sql(
  'last calls',
  `${CALL} WHERE c.account = ? ORDER BY c.opened DESC, c.request DESC LIMIT ?`,
)
/** Reads whether calls of an account have changed. Parameters: account, row count. */
export const CALL_STATES = sql(
  'call states',
  `SELECT request AS id, state, amount FROM charges WHERE account = ?
   ORDER BY opened DESC, request DESC LIMIT ?`,
)
/** Calls of all accounts, latest first. Parameters: the end of the last page (opened twice,
 *  request), filters (account, model, key and state, twice each, null for all), 1 for only those
 *  with an uncollected part, row count. */
export const ALL_CALLS = `${CALL} WHERE (c.opened < ? OR (c.opened = ? AND c.request < ?))
     AND (CAST(? AS BIGINT) IS NULL OR c.account = ?)
     AND (CAST(? AS TEXT) IS NULL OR c.model = ?) AND (CAST(? AS BIGINT) IS NULL OR c.key = ?)
     AND (CAST(? AS TEXT) IS NULL OR c.state = ?)
     AND (CAST(? AS BIGINT) = 0 OR c.uncollected > 0)
   ORDER BY c.opened DESC, c.request DESC LIMIT ?`
/** The charge of a request, for a refund. */
export const CHARGE = sql(
  'charge',
  'SELECT request, account, state, amount FROM charges WHERE request = ?',
)

/** Parameters: account, from, to. */
export const SPENT = sql(
  'spent',
  `SELECT count(*) AS calls, CAST(coalesce(sum(amount), 0) AS BIGINT) AS amount FROM charges
   WHERE account = ? AND opened >= ? AND opened < ? AND state = 'settled'`,
)
/** The charges of a request or a task, latest first. Parameters: the id, three times. */
export const CHARGES_OF = sql(
  'charges of',
  `${CALL} WHERE c.request = ? OR c.task = ? OR c.request = ? ORDER BY c.opened DESC, c.request DESC`,
)
const topSums = (group: string): string => `
  SELECT ${group} AS name, count(*) AS calls, CAST(sum(c.amount) AS BIGINT) AS amount,
    CAST(coalesce(sum(r.amount), 0) AS BIGINT) AS refunded
  FROM charges c LEFT JOIN credits r ON r.request = c.request
  WHERE c.opened >= ? AND c.opened < ? AND c.state = 'settled'
  GROUP BY ${group} ORDER BY amount DESC, name LIMIT ?`
/** The largest sums of all accounts. Parameters: from, to, row count. Key 0: without a key. */
export const TOP = {
  account: sql('top accounts', topSums('c.account')),
  model: sql('top models', topSums('c.model')),
  key: sql('top keys', topSums('coalesce(c.key, 0)')),
  day: sql('top days', topSums('c.opened / 86400000')),
}
