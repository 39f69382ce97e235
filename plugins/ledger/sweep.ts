/** Buries processes that ended without a word: what they held goes back to its owners. Run by one process at a time. */
import type { Database, Log, Sql } from '../../engine/plugin.ts'
import { isCode } from './faults.ts'
import { bury } from './processes.ts'
import { DEAD_AFTER } from './standing.ts'
import { writeSurely } from './surely.ts'

const DEAD: Sql = {
  name: 'ledger: dead',
  text: 'SELECT id, seen FROM ledger_processes WHERE seen < ? ORDER BY id LIMIT 100',
}

/** Returns how many were buried. */
export const sweep = async (
  database: Pick<Database, 'read' | 'write' | 'now'>,
  log: Log,
  deadAfter = DEAD_AFTER,
): Promise<number> => {
  const now = await database.now()
  let buried = 0
  for (const { id, seen } of await database.read(DEAD, [now - deadAfter])) {
    try {
      await writeSurely(database, bury(String(id), Number(seen), now))
      buried++
      log.info({ process: id }, 'a process ended without a word: what it held went back')
    } catch (thrown) {
      if (!isCode(thrown, 'STILL_ALIVE')) throw thrown
    }
  }
  return buried
}
