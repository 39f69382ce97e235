/** Lets tasks that wait for room in their mode begin. Runs in every process. */
import type { Host } from '../../../engine/plugin.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { modesOf } from './modes.ts'
import { admit, WAITING_MODES } from './statements.ts'

/** Tasks that begin at once in a mode that has lost its limit. */
const BATCH = 500

export const admitWaiting = async (host: Host): Promise<void> => {
  const now = Date.now()
  for (const { mode, room } of await host.database.read(WAITING_MODES, [now])) {
    const name = String(mode)
    const most = modesOf(host).get(name)?.running ?? Number(room) + BATCH
    if (Number(room) < most) await writeWithRetry(host.database, admit(name, most, now))
  }
}
