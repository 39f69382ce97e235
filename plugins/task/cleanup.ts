/** Deletes finished tasks whose time is over. */
import type { Database } from '../../engine/plugin.ts'
import { deleteExpired } from './statements.ts'

/** Tasks of one transaction. */
const BATCH = 500

export const deleteExpiredTasks = async (
  database: Pick<Database, 'write'>,
  signal?: AbortSignal,
): Promise<void> => {
  let deleted: number
  do {
    const [rows = []] = await database.write([deleteExpired(Date.now(), BATCH)])
    deleted = rows.length
  } while (deleted === BATCH && !signal?.aborted)
}
