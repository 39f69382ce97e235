/** Finds the task that a request names, of the calling account and of one dialect. */
import type { Exchange, Host } from '../../../engine/plugin.ts'
import { ownWorkValues } from '../../credentials/members.ts'
import { ACCOUNT } from '../../slots.ts'
import { type TaskDialectName, taskDialects } from '../dialects/index.ts'
import { FIND_IN_DIALECT } from '../statements.ts'
import { type Task, taskOf } from '../task.ts'

/** The calling account, and the values that limit tasks to those that the caller sees. */
export const callerOf = ({ slots }: Pick<Exchange, 'slots'>) => {
  const account = slots.need(ACCOUNT)
  return { account: account.id, own: ownWorkValues(account) }
}
export type Caller = ReturnType<typeof callerOf>

/** Rejects with a fault of the dialect. */
export const findTask = async (
  exchange: Exchange,
  { database }: Pick<Host, 'database'>,
  dialect: TaskDialectName,
): Promise<Task> => {
  const { id = '' } = exchange.params
  const { account, own } = callerOf(exchange)
  const values = [id, account, dialect, ...own]
  const [row] = await database.read(FIND_IN_DIALECT, values)
  if (!row) throw taskDialects[dialect].faults.notFound(id)
  return taskOf(row)
}
