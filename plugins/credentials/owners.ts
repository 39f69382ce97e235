/** Accounts, API keys and members as the owners of rows in other tables, such as windows of
 *  budgets. A row names its owner by `kind` and `owner`, a number. */
import type { Sql, Value } from '../../engine/plugin.ts'
import { withAccountNames } from './statements.ts'

const columnOf = (column: string, of: { readonly account: string; readonly other: string }) =>
  `CASE o.kind WHEN 'account' THEN ${of.account}
     WHEN 'key' THEN (SELECT k.${of.other} FROM api_keys k WHERE k.id = o.owner)
     WHEN 'member' THEN (SELECT m.${of.other} FROM members m WHERE m.id = o.owner) END AS ${column}`
const OWN_NAME = '(SELECT a.name FROM accounts a WHERE a.id = o.owner)'
/** Adds `account`, `account_name` and `owner_name` to the rows of a query; null for other kinds. */
export const withOwnerNames = (rows: string): string =>
  withAccountNames(
    `SELECT o.*, ${columnOf('account', { account: 'o.owner', other: 'account' })},
       ${columnOf('owner_name', { account: OWN_NAME, other: 'name' })}
     FROM (${rows}) o`,
    'account',
  )

const IS_ALL = 'CAST(? AS BIGINT) IS NULL'
/** The account, its keys and its members; or one member and his keys. Rows: `kind`, `owner`. */
export const OWNERS = `SELECT 'account' AS kind, a.id AS owner FROM accounts a
     WHERE a.id = ? AND ${IS_ALL}
   UNION ALL SELECT 'key', k.id FROM api_keys k
     WHERE k.account = ? AND k.revoked IS NULL AND (${IS_ALL} OR k.member = ?)
   UNION ALL SELECT 'member', m.id FROM members m
     WHERE m.account = ? AND m.removed IS NULL AND (${IS_ALL} OR m.id = ?)`
export const ownerParameters = (account: number, member: number | undefined): readonly Value[] => {
  const only = member ?? null
  return [account, only, account, only, only, account, only, only]
}
/** Of a key that is not revoked. Parameter: its number. */
export const OWNER_OF_KEY: Sql = {
  name: 'owner of key',
  text: 'SELECT account, member FROM api_keys WHERE id = ? AND revoked IS NULL',
}
