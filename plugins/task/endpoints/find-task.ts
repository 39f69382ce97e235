/** Finds the task that a request names, of the calling account and of one dialect. */
import type { Exchange, Host } from '../../../engine/plugin.ts'
import { ACCOUNT } from '../../slots.ts'
import { type TaskDialectName, taskDialects } from '../dialects/index.ts'
import { FIND_IN_DIALECT } from '../statements.ts'
import { type Task, taskOf } from '../task.ts'

/** Rejects with a fault of the dialect. */
export const findTask = async (
  { params, slots }: Exchange,
  { database }: Pick<Host, 'database'>,
  dialect: TaskDialectName,
): Promise<Task> => {
  const { id = '' } = params
  const [row] = await database.read(FIND_IN_DIALECT, [id, slots.need(ACCOUNT).id, dialect])
  if (!row) throw taskDialects[dialect].faults.notFound(id)
  return taskOf(row)
}
