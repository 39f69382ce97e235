/** Embedded SQLite, opened with verified durability settings. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Row, Value } from '../../plugin.ts'
import { fault } from '../faults.ts'
import { DURABILITY, type Durability } from '../open-database.ts'
import { normalizeRow, toSqlite } from '../values.ts'

// 3.51.3 fixes a race between a checkpoint and a restart of the log that could lose WAL frames.
const OLDEST = '3.51.3'
const requiredPragmas = (durability: Durability): Readonly<Record<string, string | number>> => ({
  journal_mode: 'wal',
  synchronous: SYNCHRONOUS[durability],
  foreign_keys: 1,
})
// FULL: one fsync per commit. NORMAL: an fsync only at a checkpoint, so a power cut may lose the
// last commits but never corrupts the file.
const SYNCHRONOUS: Readonly<Record<Durability, number>> = { power: 2, process: 1 }
const pragmas = (durability: Durability): string => `PRAGMA journal_mode = WAL;
  PRAGMA synchronous = ${SYNCHRONOUS[durability]}; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 67108864`
// Prepared statements; at this many all are dropped, since a reload may have changed a plugin's
// SQL.
const MAX_PREPARED = 2_000

interface RunResult {
  readonly changes: number
  readonly rows: readonly Row[]
}
export interface Sqlite {
  readonly connection: DatabaseSync
  run(text: string, values: readonly Value[]): RunResult
  close(): void
}

export const assertVersion = (version: string): void => {
  const parts = version.split('.').map(Number)
  const oldest = OLDEST.split('.').map(Number)
  const at = oldest.findIndex((number, index) => number !== parts[index])
  const newer = at < 0 || (parts[at] ?? 0) > (oldest[at] ?? 0)
  if (!newer) throw fault('STORE_SQLITE_OLD', [version, OLDEST])
}
export const assertPragmas = (
  effective: Readonly<Record<string, Value | undefined>>,
  durability: Durability = DURABILITY,
): void => {
  for (const [name, right] of Object.entries(requiredPragmas(durability))) {
    const value = effective[name]
    if (value !== right) throw fault('STORE_PRAGMA', [name, value ?? 'unset', right])
  }
}

/** Opens a store for writing. Reads the pragmas back from SQLite; throws STORE_PRAGMA if one has
 *  another value. */
export const openForWriting = (file: string, durability: Durability = DURABILITY): Sqlite => {
  const connection = new DatabaseSync(file, { timeout: 5_000 })
  try {
    assertVersion(String(queryValue(connection, 'SELECT sqlite_version()')))
    connection.exec(pragmas(durability))
    const names = Object.keys(requiredPragmas(durability))
    const effective = names.map(name => [name, queryValue(connection, `PRAGMA ${name}`)])
    assertPragmas(Object.fromEntries(effective), durability)
    storeLog(connection)
  } catch (error) {
    connection.close()
    throw error
  }
  return createSqlite(connection)
}
/** An earlier writer may have ended because it could not sync its log. Its pages are then in memory
 *  only, and the system takes them for written: they go to the database file, which is synced.
 *  Readers may use a part of the log for the moment; that part stays. */
const storeLog = (connection: DatabaseSync): void => {
  connection.exec('PRAGMA busy_timeout = 250')
  try {
    connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    // Reads go on, and writes as soon as there is space.
    if ((error as { errcode?: number }).errcode !== FULL) throw error
  }
  connection.exec('PRAGMA busy_timeout = 5000')
}
/** https://www.sqlite.org/rescode.html#full */
const FULL = 13
export const openForReading = (file: string): Sqlite =>
  createSqlite(new DatabaseSync(file, { readOnly: true, timeout: 5_000 }))

const queryValue = (connection: DatabaseSync, text: string): Value | undefined =>
  Object.values(connection.prepare(text).get() ?? {})[0] as Value | undefined

interface PreparedStatement {
  readonly statement: StatementSync
  readonly parameters: number
  readonly returns: boolean
}

const createSqlite = (connection: DatabaseSync): Sqlite => {
  const statements = new Map<string, PreparedStatement>()
  const find = (text: string): PreparedStatement => {
    const existing = statements.get(text)
    if (existing) return existing
    if (statements.size >= MAX_PREPARED) statements.clear()
    const preparedStatement = prepare(connection, text)
    statements.set(text, preparedStatement)
    return preparedStatement
  }
  return {
    connection,
    run(text, values) {
      const { statement, parameters, returns } = find(text)
      // SQLite binds a missing value as NULL.
      if (values.length !== parameters) {
        throw new Error(`it has ${parameters} parameters, but ${values.length} values`)
      }
      const boundValues = values.map(toSqlite)
      if (!returns) return { changes: Number(statement.run(...boundValues).changes), rows: [] }
      const rows = statement.all(...boundValues) as Record<string, Value>[]
      return { changes: rows.length, rows: rows.map(normalizeRow) }
    },
    close: () => connection.close(),
  }
}

/** Prepares a statement of a list. A list is one transaction, so a statement must not end it and
 *  must not contain a second statement. */
const prepare = (connection: DatabaseSync, text: string): PreparedStatement => {
  if (!/^\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b/i.test(text)) {
    throw new Error('only SELECT, INSERT, UPDATE, DELETE and WITH are allowed')
  }
  if (/\bOR\s+ROLLBACK\b/i.test(text))
    throw new Error('OR ROLLBACK would undo other statements too')
  const statement = connection.prepare(text)
  if (statement.sourceSQL.trimEnd().length < text.trimEnd().length) {
    throw new Error('it contains more than one statement')
  }
  const returns = statement.columns().length > 0
  if (returns) statement.setReadBigInts(true)
  const parameters = text.replace(/'[^']*'|"[^"]*"/g, '').split('?').length - 1
  return { statement, parameters, returns }
}

// https://sqlite.org/rescode.html: errors that no statement causes, and those from which a new
// process may recover.
const STORE_ERRORS = new Set([5, 6, 7, 8, 10, 11, 13, 14, 15, 26])
const FATAL = new Set([10, 11, 26])
const primaryCode = (error: unknown): number =>
  Number((error as { errcode?: number }).errcode) & 0xff

export const isStoreError = (error: unknown): boolean => STORE_ERRORS.has(primaryCode(error))
export const isBusy = (error: unknown): boolean => primaryCode(error) === 5
export const isFatal = (error: unknown): boolean => FATAL.has(primaryCode(error))

/** Whether the row exists: SQLITE_CONSTRAINT_PRIMARYKEY, _UNIQUE or _ROWID. */
export const isDuplicateRow = (error: unknown): boolean =>
  [1555, 2067, 2579].includes(Number((error as { errcode?: number }).errcode))
/** Names of a violated constraint: its own, `table.column` and `column`. */
export const violatedNames = (error: unknown): readonly string[] | undefined => {
  if (primaryCode(error) !== 19) return undefined
  const [, kind = '', detail = ''] =
    /^(.*?) constraint failed(?:: (?:index ')?([^']*)'?)?$/.exec((error as Error).message) ?? []
  const columns = detail === '' ? [] : detail.split(', ')
  const short = columns.map(column => column.slice(column.indexOf('.') + 1))
  return [...new Set([...columns, ...short, detail || kind])]
}
