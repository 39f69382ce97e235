/** The databases of commands: an existing store, or a read-only one. */
import { mkdirSync } from 'node:fs'
import { errors } from '../errors.ts'
import { isCode } from '../kit.ts'
import { LEASE_TABLES } from '../quota/statements.ts'
import type { Sql } from '../store/contract.ts'
import {
  type DatabaseOptions,
  type OpenDatabase,
  openDatabase,
  openForReading,
} from '../store/database.ts'
import { createLazyDatabase } from '../store/lazy-database.ts'
import { MEMBERSHIP_TABLES } from '../store/membership.ts'
import { PROCESSES_TABLE } from '../store/while-registered.ts'
import type { Terminal } from './command.ts'
import type { Open } from './load-for-command.ts'
import {
  emptyFault,
  lockFault,
  placeOf,
  refuseMovedStore,
  refuseOtherStore,
  refuseUnservable,
  refuseUnused,
} from './store/store-in-use.ts'

/** The configured database, opened on first use; starts a writer if none is running. A command
 *  makes no store and no tables: only `tollgate start` does. It says which store it uses. */
export const existingDatabase =
  ({ printError }: Pick<Terminal, 'printError'>, isAnyway = false): Open =>
  ({ database: url, data }) => {
    // Also for a command that reads no store.
    if (!isAnyway) refuseMovedStore(url, data)
    const database = createLazyDatabase(async () => {
      await refuseUnused(url, data, isAnyway)
      const opened = await openExisting(url, data, isAnyway)
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
/** ms until a write without a result is given up: a command can wait longer than a call. */
const WRITE_TIMEOUT = 10_000

const openExisting = async (
  url: string,
  data: string,
  isAnyway: boolean,
): Promise<OpenDatabase> => {
  const options = { url, data, start: true, isAnyway, writeTimeout: WRITE_TIMEOUT }
  const database = await openDatabase(options).catch(async error => {
    throw isCode(error, 'STORE_UNAVAILABLE') ? ((await lockFault(url, data)) ?? error) : error
  })
  try {
    await database.read(HAS_TABLES, [])
    return database
  } catch (error) {
    await database.close()
    throw isTableMissing(error) ? emptyFault(url, data) : error
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
export const newDatabase =
  (isAnyway: boolean): Open =>
  ({ database: url, data }) =>
    createLazyDatabase(async () => {
      if (!isAnyway) await refuseOtherStore(url, data)
      mkdirSync(data, { recursive: true, mode: 0o700 })
      const options = { url, data, start: true, isAnyway, writeTimeout: WRITE_TIMEOUT }
      return openWithTables(options)
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
  STORE_OLDER: [
    503,
    'The store at %s is of an earlier version (%s). Commands change no tables: start this version of the gateway on it once',
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

/** Read-only, for commands that look at the configuration: a moved store is a problem of it. */
export const unmovedDatabase = (isAnyway: boolean): Open =>
  withAssertion(isAnyway, async ({ database, data }) => refuseMovedStore(database, data))

/** Read-only, for a command that acts for a start: what a start would refuse is a problem of the
 *  configuration. It opens as many connections as a gateway needs at least. */
export const startableDatabase = (
  isAnyway: boolean,
  { printError }: Pick<Terminal, 'printError'>,
): Open =>
  withAssertion(isAnyway, ({ database, data }) =>
    refuseUnservable(database, data, ({ message }) => printError(`warning: ${message}`)),
  )
const withAssertion =
  (isAnyway: boolean, assert: (settings: Parameters<Open>[0]) => Promise<void>): Open =>
  settings => ({
    ...readOnlyDatabase(settings),
    ...(!isAnyway && { assertStartable: () => assert(settings) }),
  })

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
