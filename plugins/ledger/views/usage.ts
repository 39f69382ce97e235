/** What the calls of accounts have cost, for whoever shows it: call by call, or in sums. */
import type { Sql } from '../../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

const CALL = `
  SELECT c.request, c.opened, c.closed, c.route, c.model, c.key, c.state, c.held, c.amount, c.uncollected, c.estimated,
    c.usage, c.lines, r.amount AS refunded
  FROM charges c LEFT JOIN credits r ON r.request = c.request`
/** By request and account. */
export const RECEIPT = sql('receipt', `${CALL} WHERE c.request = ? AND c.account = ?`)
/** The latest first. By account, from, to; then where the last page ended (opened, opened, request), and how many. */
export const CALLS = sql(
  'calls',
  `${CALL} WHERE c.account = ? AND c.opened >= ? AND c.opened < ?
     AND (c.opened < ? OR (c.opened = ? AND c.request < ?))
   ORDER BY c.opened DESC, c.request DESC LIMIT ?`,
)
/** By request: what a refund needs to know of a call. */
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
/** By account, from, to, the group to start after, and how many. Days are numbers since 1970, UTC. */
export const BY_DAY = sql('by day', sums('c.opened / 86400000'))
export const BY_MODEL = sql('by model', sums('c.model'))
/** What no key paid for stands under 0. A text, for a statement that adds the names of the keys. */
export const BY_KEY = sums('coalesce(c.key, 0)')
