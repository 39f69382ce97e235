/** Finds an account by its name or its number, or opens it. */
import { isCode } from '../../engine/kit.ts'
import type { Database } from '../../engine/plugin.ts'
import type { Account } from '../slots.ts'
import { fault, refusal } from './faults.ts'
import { createAccount, FIND_ACCOUNT } from './statements.ts'

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

/** The account of this name as a value of the slot ACCOUNT; it is opened at first sight, as a
 *  customer without money. For plugins that authenticate: the name must not look like a number.
 *  Throws AUTH_SUSPENDED. */
export const ensureAccount = async (database: Database, name: string): Promise<Account> => {
  const known = await readAccount(database, name)
  if (known) return known
  try {
    await database.write(createAccount({ name, role: 'customer' }, Date.now()))
  } catch (error) {
    // Another process opened it at the same time.
    if (!isCode(error, 'ACCOUNT_EXISTS')) throw error
  }
  const account = await readAccount(database, name)
  if (!account) throw fault('ACCOUNT_UNKNOWN', [name])
  return account
}
const readAccount = async (
  database: Pick<Database, 'read'>,
  name: string,
): Promise<Account | undefined> => {
  const [row] = await database.read(FIND_ACCOUNT, [name, null])
  if (!row) return undefined
  if (row.suspended !== null) throw refusal('AUTH_SUSPENDED')
  const role = row.role === 'admin' ? 'admin' : 'customer'
  return { id: Number(row.id), name: String(row.name), role }
}
