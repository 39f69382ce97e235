/** The embedded SQLite, opened so that an acknowledged write survives a power cut, or not at all. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Row, Value } from '../../plugin.ts'
import { fault } from '../faults.ts'
import type { Durability } from '../open-database.ts'
import { plainRow, toBound } from '../values.ts'

// 3.51.3 mends a race that could lose a WAL's frames when a checkpoint met a restart of the log.
const OLDEST = '3.51.3'
const needed = (durability: Durability): Readonly<Record<string, string | number>> => ({
  journal_mode: 'wal',
  synchronous: SYNCHRONOUS[durability],
  foreign_keys: 1,
})
// FULL: an fsync a commit. NORMAL: only as the log is moved into the file, so a power cut may take the last commits, and
// never breaks the file.
const SYNCHRONOUS: Readonly<Record<Durability, number>> = { power: 2, process: 1 }
const pragmas = (durability: Durability): string => `PRAGMA journal_mode = WAL;
  PRAGMA synchronous = ${SYNCHRONOUS[durability]}; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 67108864`
// A plugin's SQL may change with each reload; what was prepared for the old text is let go at this many.
const PREPARED = 2_000

interface Ran {
  readonly changes: number
  readonly rows: readonly Row[]
}
export interface Sqlite {
  readonly connection: DatabaseSync
  run(text: string, values: readonly Value[]): Ran
  close(): void
}

export const assertVersion = (version: string): void => {
  const found = version.split('.').map(Number)
  const oldest = OLDEST.split('.').map(Number)
  const at = oldest.findIndex((number, index) => number !== found[index])
  const newer = at < 0 || (found[at] ?? 0) > (oldest[at] ?? 0)
  if (!newer) throw fault('STORE_SQLITE_OLD', [version, OLDEST])
}
export const assertPragmas = (
  effective: Readonly<Record<string, Value | undefined>>,
  durability: Durability = 'power',
): void => {
  for (const [name, right] of Object.entries(needed(durability))) {
    const found = effective[name]
    if (found !== right) throw fault('STORE_PRAGMA', [name, found ?? 'unset', right])
  }
}

/** Opens it for writing. Asks SQLite what it really does instead of trusting what it was told. */
export const openForWriting = (file: string, durability: Durability = 'power'): Sqlite => {
  const connection = new DatabaseSync(file, { timeout: 5_000 })
  try {
    assertVersion(String(ask(connection, 'SELECT sqlite_version()')))
    connection.exec(pragmas(durability))
    const names = Object.keys(needed(durability))
    const effective = names.map(name => [name, ask(connection, `PRAGMA ${name}`)])
    assertPragmas(Object.fromEntries(effective), durability)
  } catch (error) {
    connection.close()
    throw error
  }
  return createSqlite(connection)
}
export const openForReading = (file: string): Sqlite =>
  createSqlite(new DatabaseSync(file, { readOnly: true, timeout: 5_000 }))

const ask = (connection: DatabaseSync, text: string): Value | undefined =>
  Object.values(connection.prepare(text).get() ?? {})[0] as Value | undefined

interface Prepared {
  readonly statement: StatementSync
  readonly parameters: number
  readonly returns: boolean
}

const createSqlite = (connection: DatabaseSync): Sqlite => {
  const prepared = new Map<string, Prepared>()
  const find = (text: string): Prepared => {
    const known = prepared.get(text)
    if (known) return known
    if (prepared.size >= PREPARED) prepared.clear()
    const made = prepare(connection, text)
    prepared.set(text, made)
    return made
  }
  return {
    connection,
    run(text, values) {
      const { statement, parameters, returns } = find(text)
      // SQLite takes a missing value for NULL.
      if (values.length !== parameters) {
        throw new Error(`it has ${parameters} parameters, and ${values.length} values were given`)
      }
      const bound = values.map(toBound)
      if (!returns) return { changes: Number(statement.run(...bound).changes), rows: [] }
      const rows = statement.all(...bound) as Record<string, Value>[]
      return { changes: rows.length, rows: rows.map(plainRow) }
    },
    close: () => connection.close(),
  }
}

/** A list is one transaction already, so its statements may neither end it nor hide a second statement. */
const prepare = (connection: DatabaseSync, text: string): Prepared => {
  if (!/^\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b/i.test(text)) {
    throw new Error('only SELECT, INSERT, UPDATE, DELETE and WITH may stand in a list')
  }
  if (/\bOR\s+ROLLBACK\b/i.test(text)) throw new Error('OR ROLLBACK would undo its neighbours too')
  const statement = connection.prepare(text)
  if (statement.sourceSQL.trimEnd().length < text.trimEnd().length) {
    throw new Error('it holds more than one statement')
  }
  const returns = statement.columns().length > 0
  if (returns) statement.setReadBigInts(true)
  const parameters = text.replace(/'[^']*'|"[^"]*"/g, '').split('?').length - 1
  return { statement, parameters, returns }
}

// https://sqlite.org/rescode.html: what is nobody's statement's fault, and what a fresh process may recover from.
const STORES_OWN = new Set([5, 6, 7, 8, 10, 11, 13, 14, 15, 26])
const FATAL = new Set([10, 11, 26])
const primaryCode = (error: unknown): number =>
  Number((error as { errcode?: number }).errcode) & 0xff

export const isStoresOwn = (error: unknown): boolean => STORES_OWN.has(primaryCode(error))
export const isBusy = (error: unknown): boolean => primaryCode(error) === 5
export const isFatal = (error: unknown): boolean => FATAL.has(primaryCode(error))

/** The row was there: SQLITE_CONSTRAINT_PRIMARYKEY, _UNIQUE or _ROWID. */
export const isRepeated = (error: unknown): boolean =>
  [1555, 2067, 2579].includes(Number((error as { errcode?: number }).errcode))
/** The names a violated constraint goes by: its own, `table.column` and `column`. */
export const violated = (error: unknown): readonly string[] | undefined => {
  if (primaryCode(error) !== 19) return undefined
  const [, kind = '', detail = ''] =
    /^(.*?) constraint failed(?:: (?:index ')?([^']*)'?)?$/.exec((error as Error).message) ?? []
  const columns = detail === '' ? [] : detail.split(', ')
  const short = columns.map(column => column.slice(column.indexOf('.') + 1))
  return [...new Set([...columns, ...short, detail || kind])]
}
