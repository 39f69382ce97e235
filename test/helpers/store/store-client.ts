/** A process with a client of the store. Usage: `node store-client.ts <options as JSON>`; method
 *  calls arrive over IPC. */
import { openDatabase } from '../../../engine/store/database.ts'
import { createMembership, MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'

const database = await openDatabase(JSON.parse(process.argv[2] ?? '{}'))
const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const membership = createMembership({ database, log })
const methods = {
  ...database,
  register: () => membership.name(),
  migrateMembership: () => database.migrate('standing', MEMBERSHIP_TABLES),
}
process.on(
  'message',
  async ({ id, method, args }: { id: number; method: keyof typeof methods; args: never[] }) => {
    try {
      const run = methods[method] as unknown as (...args: never[]) => unknown
      process.send?.({ id, result: (await run(...args)) ?? null })
    } catch (error) {
      const { code, message } = error as { code: string; message: string }
      process.send?.({ id, error: { code, message } })
    }
  },
)
process.send?.({ id: 0 })
