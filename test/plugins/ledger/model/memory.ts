/** Runs the ledger's own SQL on an SQLite in memory: the store's grouping and expectations, without
 *  its disk and its process. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Database, Row, Statement, Value } from '../../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES } from '../../../../engine/store/membership.ts'
import { toFault } from '../../../../engine/store/refusal-fault.ts'
import { createGroupCommit } from '../../../../engine/store/sqlite/group-commit.ts'
import { prepareStore } from '../../../../engine/store/sqlite/migrate.ts'
import type { Sqlite } from '../../../../engine/store/sqlite/sqlite.ts'
import { encodeRows, normalizeRow, toSqlite } from '../../../../engine/store/values.ts'
import { migrations as credentials } from '../../../../plugins/credentials/tables.ts'
import { migrations } from '../../../../plugins/ledger/tables.ts'

const TABLES = ['charges', 'credits', 'shares', 'tollgate_processes', 'usage_days', 'wallets']

export interface Memory extends Pick<Database, 'read'> {
  /** Applies a list; returns the code of the refusal, if it is refused. */
  apply(list: readonly Statement[]): { readonly code?: string; readonly rows: readonly Row[] }
  rows(text: string): readonly Row[]
  /** Empties every table. */
  clear(): void
}

export const openMemory = (): Memory => {
  const connection = new DatabaseSync(':memory:')
  connection.exec('PRAGMA foreign_keys = ON')
  prepareStore(sqliteOver(connection))
  for (const { text } of [...MEMBERSHIP_TABLES, ...credentials, ...migrations])
    connection.exec(text)
  const store = sqliteOver(connection)
  const group = createGroupCommit(store)
  const clear = TABLES.map(table => connection.prepare(`DELETE FROM ${table}`))
  return {
    apply(list) {
      const steps = list.map(one => ({ ...one, ...one.sql, rows: encodeRows(one) }))
      const [outcome] = group([{ client: 'test', isRepeat: false, steps }])
      if (outcome && 'rows' in outcome) return { rows: outcome.rows[0] ?? [] }
      if (!outcome) throw new Error('no outcome')
      return { code: toFault(outcome.refusal, list).code, rows: [] }
    },
    rows: text => store.run(text, []).rows,
    read: async ({ text }, values) => store.run(text, values).rows,
    clear() {
      for (const statement of clear) statement.run()
    },
  }
}

const sqliteOver = (connection: DatabaseSync): Sqlite => {
  const statements = new Map<
    string,
    { readonly statement: StatementSync; readonly returns: boolean }
  >()
  const find = (text: string) => {
    const existing = statements.get(text)
    if (existing) return existing
    const statement = connection.prepare(text)
    statement.setReadBigInts(true)
    const entry = { statement, returns: statement.columns().length > 0 }
    statements.set(text, entry)
    return entry
  }
  return {
    connection,
    run(text, values) {
      const { statement, returns } = find(text)
      const parameters = values.map(toSqlite)
      if (!returns) return { changes: Number(statement.run(...parameters).changes), rows: [] }
      const rows = statement.all(...parameters) as Record<string, Value>[]
      return { changes: rows.length, rows: rows.map(normalizeRow) }
    },
    close: () => connection.close(),
  }
}
