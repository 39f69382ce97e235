/** Finds an account by its name or its number. */
import type { Database } from '../../engine/plugin.ts'
import { fault } from './faults.ts'
import { FIND_ACCOUNT } from './statements.ts'

export interface NamedAccount {
  readonly id: number
  readonly name: string
}
/** Throws ACCOUNT_UNKNOWN. */
export const findAccount = async (
  database: Pick<Database, 'read'>,
  nameOrId: string,
): Promise<NamedAccount> => {
  const id = /^\d{1,15}$/.test(nameOrId) ? Number(nameOrId) : null
  const [row] = await database.read(FIND_ACCOUNT, [nameOrId, id])
  if (!row) throw fault('ACCOUNT_UNKNOWN', [nameOrId])
  return { id: Number(row.id), name: String(row.name) }
}
