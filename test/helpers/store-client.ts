/** A client of the store as a process: `node store-client.ts <options as JSON>`, methods over IPC. */
import { type OpenDatabase, openDatabase } from '../../engine/store/database.ts'

const database = await openDatabase(JSON.parse(process.argv[2] ?? '{}'))
process.on(
  'message',
  async ({ id, method, args }: { id: number; method: keyof OpenDatabase; args: never[] }) => {
    try {
      const run = database[method] as (...args: never[]) => unknown
      process.send?.({ id, result: (await run(...args)) ?? null })
    } catch (error) {
      const { code, message } = error as { code: string; message: string }
      process.send?.({ id, error: { code, message } })
    }
  },
)
process.send?.({ id: 0 })
