/** Queries of charges for display: single calls and sums. */
import type { Sql } from '../../../engine/plugin.ts'
import { madeIn, memberOfCall } from '../../calls/call-member.ts'
import { plannedInSql } from '../plans/part.ts'
import { tagsOfAll } from './tag-days.ts'
import { usageOfAccount, usageOfAll } from './usage-days.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

export const CALL = `
  SELECT c.request, c.account, c.version, c.opened, c.closed, c.route, c.model, c.key, c.state, c.held, c.amount, c.uncollected, c.estimated,
    c.usage, c.lines, c.task, c.attributes, c.served, ${memberOfCall(madeIn('c'))} AS member, ${plannedInSql('c')} AS planned,
    CASE WHEN c.state = 'settled' THEN c.plan_tokens END AS planned_tokens, r.amount AS refunded
  FROM charges c LEFT JOIN credits r ON r.request = c.request`
/** Parameters: request, account. */
export const RECEIPT = sql('receipt', `${CALL} WHERE c.request = ? AND c.account = ?`)
/** The charge of a task; a late one in place of the released one. Parameters: task, account. */
export const TASK_RECEIPT = sql(
  'receipt of a task',
  `${CALL} WHERE c.task = ? AND c.account = ?
   ORDER BY CASE WHEN c.state = 'settled' THEN 0 ELSE 1 END, c.opened DESC LIMIT 1`,
)
/** The nanos that open calls and tasks hold of an account, without the parts that its plan pays.
 *  Parameters: account. */
export const OPEN_HOLDS = sql(
  'open holds',
  `SELECT CAST(coalesce(sum(held - coalesce(plan_held, 0)), 0) AS BIGINT) AS held FROM charges
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
/** `opened`: the column, or an expression that keeps SQLite from a search in order of time. */
const allCalls = (name: string, source: string, opened = 'c.opened'): Sql =>
  sql(
    `all calls ${name}`,
    `${CALL} WHERE ${source} ${opened} <= ? AND ${opened} >= ? AND (c.opened < ? OR c.request < ?)
     AND (CAST(? AS BIGINT) IS NULL OR c.account = ?)
     AND (CAST(? AS TEXT) IS NULL OR c.model = ?) AND (CAST(? AS BIGINT) IS NULL OR c.key = ?)
     AND (CAST(? AS TEXT) IS NULL OR c.state = ?)
   ORDER BY ${opened} DESC, c.request DESC LIMIT ?`,
  )
/** Calls of all accounts, latest first: `uncollected`, those with an uncollected part; `open`,
 *  the running ones. Parameters: the end of the last page (opened), the end of the search (0 for
 *  none), the end of the last page (opened, request), filters (account, model, key and state, twice
 *  each, null for all), row count. */
export const ALL_CALLS = {
  all: allCalls('by time', ''),
  open: allCalls('open', "c.state = 'open' AND", '+c.opened'),
  uncollected: allCalls('uncollected', 'c.uncollected > 0 AND'),
}
/** Lists of the calls of one account: the parameters begin with its number. */
export const CALLS_OF = {
  all: allCalls('of an account', 'c.account = ? AND'),
  open: allCalls('open of an account', "c.account = ? AND c.state = 'open' AND", '+c.opened'),
  // Few calls have an uncollected part, of all accounts.
  uncollected: allCalls('uncollected of an account', '+c.account = ? AND c.uncollected > 0 AND'),
}
/** The charge of a request, for a refund. */
export const CHARGE = sql(
  'charge',
  'SELECT request, account, state, amount, budgets, plan FROM charges WHERE request = ?',
)

/** Columns of a sum of rows `u` of `usageOfAccount` or `usageOfAll`. */
export const USAGE_SUMS = `CAST(sum(u.calls) AS BIGINT) AS calls, CAST(sum(u.amount) AS BIGINT) AS amount,
  CAST(sum(u.refunded) AS BIGINT) AS refunded,
  CAST(sum(u.input) AS BIGINT) AS input, CAST(sum(u.cached) AS BIGINT) AS cached,
  CAST(sum(u.output) AS BIGINT) AS output`
const overUsage = (
  name: string,
  usage: typeof usageOfAll,
  textOver: (usage: string) => string,
): Sql => ({
  name: `ledger: ${name}`,
  text: textOver(usage.sqlite),
  postgres: textOver(usage.postgres),
})
/** Parameters: `accountValuesIn`. */
export const SPENT = overUsage(
  'spent',
  usageOfAccount,
  usage => `SELECT ${USAGE_SUMS} FROM (${usage}) u`,
)
/** The charges of a request or a task, latest first. Parameters: the id, three times. */
export const CHARGES_OF = sql(
  'charges of',
  `${CALL} WHERE c.request = ? OR c.task = ? OR c.request = ? ORDER BY c.opened DESC, c.request DESC`,
)
const topSums =
  (group: string) =>
  (usage: string): string =>
    `
  SELECT ${group} AS name, ${USAGE_SUMS} FROM (${usage}) u
  GROUP BY ${group} HAVING sum(u.calls) > 0 ORDER BY amount DESC, name LIMIT ?`
/** The largest sums of all accounts. Parameters: `valuesIn`, row count. Key 0: without a key.
 *  `withNames` adds columns to the rows of a statement. */
export const topUsage = (
  group: 'account' | 'model' | 'key' | 'day' | 'tag',
  withNames: (text: string) => string = text => text,
): Sql =>
  overUsage(`top ${group}s`, group === 'tag' ? tagsOfAll : usageOfAll, usage =>
    withNames(topSums(`u.${group}`)(usage)),
  )
