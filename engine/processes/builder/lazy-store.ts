/** The store of the builder, opened at its first use: a configuration that fails validation creates
 *  no folder and opens no store. */
import type { Settings } from '../../config/settings.ts'
import type { ProcessLog } from '../../observe/log.ts'
import { type OpenDatabase, openDatabase } from '../../store/database.ts'
import { createLazyDatabase } from '../../store/lazy-database.ts'
import { logMigrations } from '../../store/sqlite/migration-log.ts'

/** Longest wait for the store, ms. */
const OPEN_TIMEOUT = 8_000

export const lazyStore = (
  { data, database: url }: Pick<Settings, 'data' | 'database'>,
  log: ProcessLog,
  beforeOpen: () => void,
): OpenDatabase =>
  createLazyDatabase(() => {
    beforeOpen()
    return openDatabase({
      url,
      data,
      openTimeout: OPEN_TIMEOUT,
      onMigration: logMigrations(log),
    })
  })
