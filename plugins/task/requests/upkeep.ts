/** Background work over the requests of tasks: those of earlier versions leave the rows of their
 *  tasks, and pieces that belong to no task are removed. */
import { isCode } from '../../../engine/kit.ts'
import type { Database } from '../../../engine/plugin.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { FIND_ANY } from '../statements.ts'
import { isFinal, taskOf } from '../task.ts'
import { usageOf } from '../usage.ts'
import { deleteParts, forgetUnsplit, ORPHANED, splitTask, UNSPLIT } from './statements.ts'
import { describeRequest, storeRequest } from './stored-request.ts'

/** ms that a create may take from its first piece to the row of its task. */
const GRACE = 3_600_000
const PAGE = 20

/** Moves requests out of the rows of tasks: one transaction for each task, so that serving goes on
 *  meanwhile. */
export const splitTasks = async (
  database: Pick<Database, 'read' | 'write'>,
  signal?: AbortSignal,
): Promise<void> => {
  for (;;) {
    const rows = await database.read(UNSPLIT, [PAGE])
    for (const { id } of rows) {
      if (signal?.aborted) return
      await splitOne(database, String(id))
    }
    if (rows.length < PAGE) return
  }
}
const splitOne = async (database: Pick<Database, 'read' | 'write'>, id: string): Promise<void> => {
  const [row] = await database.read(FIND_ANY, [id])
  const task = row && row.summary === null ? taskOf(row) : undefined
  if (!task) return void (await writeWithRetry(database, [forgetUnsplit(id)]))
  const meters = usageOf(task)?.meters
  // Nothing reads the request of a finished task again.
  const request = isFinal(task.state)
    ? { ...(await describeRequest(task.body)), meters, parts: 0 }
    : await storeRequest(database, task, meters)
  try {
    await writeWithRetry(database, splitTask(id, request))
  } catch (error) {
    if (!isCode(error, 'TASK_SPLIT')) throw error
  }
}
/** Removes pieces whose create ended before its task was stored. */
export const removeOrphanedParts = async (
  database: Pick<Database, 'read' | 'write'>,
  signal?: AbortSignal,
): Promise<void> => {
  for (;;) {
    const rows = await database.read(ORPHANED, [Date.now() - GRACE, PAGE])
    for (const { task } of rows) {
      if (signal?.aborted) return
      await writeWithRetry(database, [deleteParts(String(task))])
    }
    if (rows.length < PAGE) return
  }
}
