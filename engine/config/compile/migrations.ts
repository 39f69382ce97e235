/** Migrates the tables of all plugins before any `setup` runs. */
import type { Plugin } from '../../plugin.ts'
import { MEMBERSHIP_TABLES } from '../../store/membership.ts'
import { SECRETS_TABLE } from '../../store/secrets.ts'
import { CompileError, type CompileFault, describeError, storeFault } from './compile-problem.ts'

/** A database of tests may have no `migrate`. */
interface MigratableDatabase {
  migrate?(owner: string, migrations: unknown): unknown
}

/** The migrations that this process has applied, by plugin: a reload does not apply them again. */
export const createMigrated = () => new Map<string, Plugin['migrations']>()

/** Migrates the tables of the plugins that a plugin `needs` before its own. `shareMigrated` returns
 *  the migrations that this process has applied; it is called only if a plugin has tables. Throws
 *  CompileError if the store itself fails. */
export const migrateTables = async (
  plugins: ReadonlyMap<string, Plugin>,
  database: object,
  faults: CompileFault[],
  shareMigrated: () => ReturnType<typeof createMigrated>,
): Promise<void> => {
  const store = database as MigratableDatabase
  const visited = new Set<string>()
  let migrated: ReturnType<typeof createMigrated> | undefined
  let hasEngineTables = false
  const visit = async (name: string, dependent: string): Promise<void> => {
    if (visited.has(name)) return
    visited.add(name)
    const plugin = plugins.get(name)
    if (!plugin) {
      const message = `it needs the tables of the plugin "${name}", which is not installed`
      return void faults.push({ plugin: dependent, code: 'MIGRATION_FAILED', message })
    }
    for (const other of plugin.needs ?? []) await visit(other, name)
    if (!plugin.migrations || !store.migrate) return
    migrated ??= shareMigrated()
    if (migrated.get(name) === plugin.migrations) return
    try {
      // The tables of the engine, which plugin tables may reference.
      if (!hasEngineTables) {
        await store.migrate('standing', MEMBERSHIP_TABLES)
        await store.migrate('secrets', SECRETS_TABLE)
      }
      hasEngineTables = true
      await store.migrate(name, plugin.migrations)
      migrated.set(name, plugin.migrations)
    } catch (error) {
      const description = describeError(error, 'MIGRATION_FAILED')
      // Each further plugin would wait for the failing store as long again.
      if (STORE_CODES.has(description.code))
        throw new CompileError([...faults, storeFault(error, description.code)])
      faults.push({ plugin: name, ...description })
    }
  }
  for (const name of plugins.keys()) await visit(name, name)
}

/** Codes of faults of the store itself. */
const STORE_CODES: ReadonlySet<string> = new Set([
  'STORE_START',
  'STORE_UNAVAILABLE',
  'STORE_URL',
  'STORE_FOLDER',
  'STORE_NEWER',
  'STORE_POSTGRES_OLD',
  'STORE_SQLITE_OLD',
  'STORE_FSYNC',
  'STORE_READ_ONLY',
  'STORE_PRAGMA',
  'STORE_MOVING',
  'STORE_MOVED',
  'STORE_POOLER',
  'STORE_POOL_SIZE',
  'STORE_OPTIONS',
])
