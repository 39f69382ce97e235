/** The databases of commands: an existing store, or a read-only one. */
import { existsSync, mkdirSync } from 'node:fs'
import { errors } from '../errors.ts'
import { isCode } from '../kit.ts'
import { findRunning, isAlive } from '../processes/running-gateway.ts'
import { LEASE_TABLES } from '../quota/statements.ts'
import type { Sql } from '../store/contract.ts'
import {
  type DatabaseOptions,
  isPostgres,
  locate,
  type OpenDatabase,
  openDatabase,
  openForReading,
  storeIdentity,
  withoutPassword,
} from '../store/database.ts'
import { createLazyDatabase } from '../store/lazy-database.ts'
import { MEMBERSHIP_TABLES } from '../store/membership.ts'
import { refuseMoved } from '../store/move/mark.ts'
import { PROCESSES_TABLE } from '../store/while-registered.ts'
import type { Terminal } from './command.ts'
import type { Open } from './load-for-command.ts'

/** The configured database, opened on first use; starts a writer if none is running. A command
 *  makes no store and no tables: only `tollgate start` does. It says which store it uses. */
export const existingDatabase =
  ({ printError }: Pick<Terminal, 'printError'>, isAnyway = false): Open =>
  ({ database: url, data }) => {
    const database = createLazyDatabase(async () => {
      if (!isAnyway) await refuseOther(url, data)
      const opened = await openExisting(url, data)
      printError(`store: ${placeOf(url, data)}`)
      return opened
    })
    const orOlder = <T>(result: Promise<T>): Promise<T> =>
      result.catch(error => {
        throw isTableMissing(error)
          ? fault('STORE_OLDER', [placeOf(url, data), error.message])
          : error
      })
    return {
      ...database,
      read: (sql, values) => orOlder(database.read(sql, values)),
      write: statements => orOlder(database.write(statements)),
      migrate: async () => {},
      // A store that could not be opened needs no closing.
      close: () => database.close().catch(() => {}),
    }
  }
/** Throws where the running gateway of the data folder uses another store, and for a store that was
 *  moved: an operator means the store in use. */
const refuseOther = async (url: string, data: string): Promise<void> => {
  const store = storeIdentity(url, data)
  const running = findRunning(data)
  const isOther = running?.store !== undefined && running.store !== store
  if (isOther && (await isAlive(running)))
    throw fault('STORE_OTHER', [running.pid, data, running.store, store])
  if (!isPostgres(url)) refuseMoved(locate(url, data).file)
}
const placeOf = (url: string, data: string): string =>
  isPostgres(url) ? withoutPassword(url) : locate(url, data).url

/** ms until a write without a result is given up: a command can wait longer than a call. */
const WRITE_TIMEOUT = 10_000

const openExisting = async (url: string, data: string): Promise<OpenDatabase> => {
  if (!isPostgres(url) && !existsSync(locate(url, data).file))
    throw fault('STORE_MISSING', [placeOf(url, data)])
  const database = await openDatabase({ url, data, start: true, writeTimeout: WRITE_TIMEOUT })
  try {
    await database.read(HAS_TABLES, [])
    return database
  } catch (error) {
    await database.close()
    throw isTableMissing(error) ? fault('STORE_EMPTY', [placeOf(url, data)]) : error
  }
}

/** Opens a store that the command makes, with the tables of the engine. Loading the configuration
 *  makes those of plugins. */
export const openWithTables = async (options: DatabaseOptions): Promise<OpenDatabase> => {
  const database = await openDatabase(options)
  await database.migrate('standing', MEMBERSHIP_TABLES)
  await database.migrate('allowance', LEASE_TABLES)
  return database
}
/** For an import before the first start. */
export const newDatabase: Open = ({ database: url, data }) =>
  createLazyDatabase(() => {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    return openWithTables({ url, data, start: true, writeTimeout: WRITE_TIMEOUT })
  })

const HAS_TABLES: Sql = {
  name: 'command: has tables',
  text: `SELECT id FROM ${PROCESSES_TABLE} LIMIT 1`,
}
/** A table or a column. */
const isTableMissing = (error: unknown): boolean =>
  /no such (table|column)|has no column|does not exist/.test(String((error as Error).message)) ||
  isCode(error, '42P01', '42703')
const fault = errors({
  STORE_OTHER: [
    409,
    'The gateway that runs on this data folder (process %d, %s) uses the store %s, and this command would use %s: give it the variables of the gateway (DATABASE_URL), or add --anyway',
  ],
  STORE_MISSING: [
    503,
    'There is no store at %s. Commands create none: run `tollgate start` once, or name the right one with settings.database (DATABASE_URL) or settings.data (TOLLGATE_DATA)',
  ],
  STORE_OLDER: [
    503,
    'The store at %s is of an earlier version (%s). Commands change no tables: start this version of the gateway on it once',
  ],
  STORE_EMPTY: [
    503,
    'The store at %s has no tables of Tollgate. Commands create none: run `tollgate start` once, or name the right one with settings.database (DATABASE_URL)',
  ],
})

/** An existing database for commands that need routes: while their stages are set up, it is
 *  read-only and may be absent. */
export const loadingDatabase =
  (terminal: Pick<Terminal, 'printError'>, isAnyway = false): Open =>
  settings => {
    const existing = existingDatabase(terminal, isAnyway)(settings)
    const loading = readOnlyDatabase(settings)
    let current = loading
    return {
      ...existing,
      read: (sql, values) => current.read(sql, values),
      write: statements => current.write(statements),
      pages: (sql, values, size) => current.pages(sql, values, size),
      now: () => current.now(),
      begin: () => {
        current = existing
      },
      close: async () => {
        await Promise.all([loading.close(), existing.close()])
      },
    }
  }

/** A read-only database: writes resolve without effect. */
export const readOnlyDatabase: Open = ({ database: url, data }) => {
  const opening = openForReading(url, data)
  // A failed open rejects reads only, so that commands that do not read continue.
  opening.catch(() => {})
  return {
    read: async (sql, values) => (await (await opening)?.read(sql, values)) ?? [],
    write: async statements => statements.map(() => []),
    async *pages() {},
    now: async () => Date.now(),
    migrate: async () => {},
    setCrashStatements: () => {},
    progress: () => {},
    owe: () => false,
    close: async () => (await opening.catch(() => undefined))?.close(),
  }
}
