/** A process that lets callers in, as a worker does: `node auth-client.ts <options of the store as JSON>`, callers over IPC. */
import { openDatabase } from '../../engine/store/database.ts'
import auth from '../../plugins/auth/index.ts'
import { type Caller, hostOver, passThrough } from './accounts.ts'

const database = await openDatabase(JSON.parse(process.argv[2] ?? '{}'))
const stage = auth.setup('key', hostOver(database))
process.on('message', async (caller: Caller) => {
  const answer = await passThrough(stage, caller).then(
    account => ({ account }),
    ({ code, message }) => ({ code, message }),
  )
  process.send?.(answer)
})
process.send?.('ready')
