/** A database that opens on first use. */
import type { OpenDatabase } from './database.ts'

export const createLazyDatabase = (open: () => Promise<OpenDatabase>): OpenDatabase => {
  let opening: Promise<OpenDatabase> | undefined
  const database = (): Promise<OpenDatabase> => {
    opening ??= open().catch(error => {
      // The next use opens it again.
      opening = undefined
      throw error
    })
    return opening
  }
  return {
    write: async statements => (await database()).write(statements),
    read: async (sql, values) => (await database()).read(sql, values),
    async *pages(sql, values, size) {
      yield* (await database()).pages(sql, values, size)
    },
    now: async () => (await database()).now(),
    migrate: async (owner, migrations) => (await database()).migrate(owner, migrations),
    setCrashStatements: (name, statements) =>
      void database().then(database => database.setCrashStatements(name, statements)),
    progress: (name, count) => void database().then(database => database.progress(name, count)),
    owe: (name, owed) => {
      void database().then(database => database.owe(name, owed))
      return false
    },
    close: async () => (await opening)?.close(),
  }
}
