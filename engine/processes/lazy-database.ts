/** A database that is opened by its first use. */
import type { OpenDatabase } from '../store/database.ts'

export const lateDatabase = (open: () => Promise<OpenDatabase>): OpenDatabase => {
  let opening: Promise<OpenDatabase> | undefined
  const opened = (): Promise<OpenDatabase> => {
    opening ??= open().catch(error => {
      // The next use tries again.
      opening = undefined
      throw error
    })
    return opening
  }
  return {
    write: async statements => (await opened()).write(statements),
    read: async (sql, values) => (await opened()).read(sql, values),
    async *pages(sql, values, size) {
      yield* (await opened()).pages(sql, values, size)
    },
    now: async () => (await opened()).now(),
    migrate: async (owner, migrations) => (await opened()).migrate(owner, migrations),
    will: (name, statements) => void opened().then(database => database.will(name, statements)),
    progress: (name, count) => void opened().then(database => database.progress(name, count)),
    close: async () => (await opening)?.close(),
  }
}
