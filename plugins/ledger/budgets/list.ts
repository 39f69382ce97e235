/** Lists budgets with their use: rows of the store, and budgets of `budgets:` for each owner. */
import type { Database, HostBase, Row, Sql, Value } from '../../../engine/plugin.ts'
import { OWNERS, ownerParameters, withOwnerNames } from '../../credentials/owners.ts'
import { walletInSql } from '../wallet.ts'
import { kindsOf } from './owner.ts'
import type { BudgetRowKey } from './rows.ts'
import { budgetsIn, periodOf } from './section.ts'
import { windowOf } from './window.ts'

/** A row whose terms have changed between money and tokens has windows of both. Its settings are
 *  JSON that another version may have written. */
const isOfUnit = (window: string): string =>
  `(${walletInSql.countsTokens(`${window}.wallet`)}) = (r.settings LIKE '%"tokens":%')`
// The last window of each row: it may have ended.
const WINDOW_OF_ROW = `LEFT JOIN budget_windows b ON b.kind = r.kind AND b.owner = r.owner AND b.budget = r.name
    AND b.start = (SELECT max(l.start) FROM budget_windows l
      WHERE l.kind = r.kind AND l.owner = r.owner AND l.budget = r.name AND ${isOfUnit('l')})
    AND ${isOfUnit('b')}
  LEFT JOIN wallets w ON w.id = b.wallet`
const ROW_COLUMNS = 'r.kind, r.owner, r.name, r.settings, b.start, w.used'
const IS_REPLACED = (owner: string, name: string): string =>
  `EXISTS (SELECT 1 FROM budget_rows s WHERE s.kind = ${owner}.kind AND s.owner = ${owner}.owner
     AND s.name = ${name} AND s.settings IS NOT NULL)`
const after = (kind: string, owner: string, name: string): string =>
  `(${kind}, ${owner}, ${name}) > (?, ?, ?)`
const PAGE = 'ORDER BY 1, 2, 3 LIMIT ?'

/** Parameters: see `CONFIGURED`, the row to start after; the row to start after; row count. */
const allBudgets = (configured: string): string => `SELECT ${ROW_COLUMNS}
  FROM budget_rows r ${WINDOW_OF_ROW} WHERE r.settings IS NOT NULL AND ${after('r.kind', 'r.owner', 'r.name')}
  UNION ALL
  SELECT b.kind, b.owner, b.budget, NULL, b.start, w.used
  FROM budget_windows b JOIN wallets w ON w.id = b.wallet
  WHERE (b.kind, b.budget, b.period, b.start) IN (SELECT c.kind, c.name, c.period, c.start FROM ${configured})
    AND NOT ${IS_REPLACED('b', 'b.budget')} AND ${after('b.kind', 'b.owner', 'b.budget')} ${PAGE}`
/** Parameters: `OWNERS`, the row to start after; `OWNERS`, `CONFIGURED`, the row to start after;
 *  row count. */
const budgetsOfOwners = (configured: string): string => `SELECT ${ROW_COLUMNS}
  FROM (${OWNERS}) o JOIN budget_rows r ON r.kind = o.kind AND r.owner = o.owner ${WINDOW_OF_ROW}
  WHERE r.settings IS NOT NULL AND ${after('r.kind', 'r.owner', 'r.name')}
  UNION ALL
  SELECT o.kind, o.owner, c.name, NULL, c.start, w.used
  FROM (${OWNERS}) o JOIN ${configured} ON c.kind = o.kind
  LEFT JOIN budget_windows b ON b.kind = o.kind AND b.owner = o.owner AND b.budget = c.name
    AND b.period = c.period AND b.start = c.start
  LEFT JOIN wallets w ON w.id = b.wallet
  WHERE NOT ${IS_REPLACED('o', 'c.name')} AND ${after('o.kind', 'o.owner', 'c.name')} ${PAGE}`

/** The windows of now of the budgets of `budgets:`, as a table `c`. Its parameter is JSON. */
const CONFIGURED = {
  sqlite: `(SELECT json_extract(j.value, '$.kind') AS kind, json_extract(j.value, '$.name') AS name,
      json_extract(j.value, '$.period') AS period, json_extract(j.value, '$.start') AS start
    FROM json_each(?) j) c`,
  postgres:
    'json_to_recordset(CAST(? AS json)) AS c(kind TEXT, name TEXT, period TEXT, start BIGINT)',
}
const perStore = (name: string, rows: (configured: string) => string): Sql => ({
  name: `budgets: ${name}`,
  text: withOwnerNames(rows(CONFIGURED.sqlite)),
  postgres: withOwnerNames(rows(CONFIGURED.postgres)),
})
const LIST = perStore('list', allBudgets)
const LIST_OWNED = perStore('list of owners', budgetsOfOwners)

interface Listed {
  /** Only budgets of this account, with its keys and members; undefined: of every owner that has
   *  a window now. */
  readonly account: number | undefined
  /** Only those of this member and his keys. */
  readonly member?: number | undefined
  /** The row to start after. */
  readonly after: Pick<Row, 'kind' | 'owner' | 'name'>
  readonly limit: number
  /** ms since 1970. */
  readonly now: number
}
/** Rows with the members of an owner (`withOwnerNames`), `name`, `settings` (null: of `budgets:`),
 *  and the begin and the use of a window. */
export const listBudgets = (
  database: Pick<Database, 'read'>,
  host: Pick<HostBase, 'section'>,
  { account, member, after: { kind = '', owner = 0, name = '' }, limit, now }: Listed,
): Promise<readonly Row[]> => {
  const windows = JSON.stringify(
    budgetsIn(host).flatMap(budget => {
      const { name, of, per, zone } = budget
      const { start } = windowOf(now, per, zone)
      return kindsOf(of, host).map(kind => ({ kind, name, period: periodOf(budget), start }))
    }),
  )
  const cursor: readonly Value[] = [kind, owner, name]
  if (account === undefined) return database.read(LIST, [...cursor, windows, ...cursor, limit])
  const owners = ownerParameters(account, member)
  return database.read(LIST_OWNED, [...owners, ...cursor, ...owners, windows, ...cursor, limit])
}

const FIND: Sql = {
  name: 'budgets: find row',
  text: withOwnerNames(`SELECT ${ROW_COLUMNS} FROM budget_rows r ${WINDOW_OF_ROW}
    WHERE r.settings IS NOT NULL AND r.kind = ? AND r.owner = ? AND r.name = ?`),
}
export const findBudgetRow = async (
  database: Pick<Database, 'read'>,
  { kind, owner, name }: BudgetRowKey,
): Promise<Row | undefined> => {
  const [row] = await database.read(FIND, [kind, owner, name])
  return row
}
