/** Prepares the statements of a list as queries, with the rows that they will lock. */
import type { Statement, Value } from '../../plugin.ts'
import type { Step as MergeableStep } from '../merged-statements.ts'
import { encodeRows } from '../values.ts'
import type { RowLock } from './dialect.ts'
import type { DialectCache } from './dialect-cache.ts'
import type { Query } from './session.ts'

export interface LockedRow {
  readonly table: string
  readonly column: string
  readonly value: Value
}
/** A query, or why the statement is invalid. */
export type Step =
  | {
      readonly query: Query
      readonly rows: number
      readonly locks: readonly LockedRow[]
      /** The untranslated statement, if it can be merged with others. */
      readonly mergeable?: MergeableStep | undefined
    }
  | { readonly problem: string }

export const stepOf = (dialects: DialectCache, statement: Statement): Step => {
  const { sql, values, locks = [] } = statement
  const preparedSql = dialects.get(sql)
  if ('problem' in preparedSql) return preparedSql
  const { name, text, parameters } = preparedSql
  if (parameters !== values.length) {
    return { problem: `it has ${parameters} parameters, but ${values.length} values` }
  }
  const row = lockedRow(preparedSql.lock, values)
  const query = { name, text, values }
  const rows = encodeRows(statement)
  const { sums, joins } = sql
  const mergeable =
    sums || joins ? { text: sql.postgres ?? sql.text, values, rows, sums, joins } : undefined
  return { query, rows, locks: row ? [row, ...locks] : locks, mergeable }
}

const lockedRow = (lock: RowLock | undefined, values: readonly Value[]): LockedRow | undefined => {
  const { table = '', column = '', literal, parameter = -1 } = lock ?? {}
  const value = literal ?? values[parameter] ?? null
  if (!lock || value === null || typeof value === 'object') return undefined
  return { table, column, value }
}
