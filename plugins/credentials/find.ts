/** Finds an account as an operator names it: by its name or its number. */
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
  wanted: string,
): Promise<NamedAccount> => {
  const id = /^\d{1,15}$/.test(wanted) ? Number(wanted) : null
  const [found] = await database.read(FIND_ACCOUNT, [wanted, id])
  if (!found) throw fault('ACCOUNT_UNKNOWN', [wanted])
  return { id: Number(found.id), name: String(found.name) }
}
