/** Finds an account by its name or number, or creates it. */
import { isCode } from '../../engine/kit.ts'
import type { Database, Statement } from '../../engine/plugin.ts'
import type { Account } from '../slots.ts'
import { fault, refusal } from './faults.ts'
import { createAccount, FIND_ACCOUNT, isDeletedName } from './statements.ts'

export interface NamedAccount {
  readonly id: number
  readonly name: string
}
/** Throws ACCOUNT_UNKNOWN. `isDeletedToo`: also finds an account that was deleted, to read it. */
export const findAccount = async (
  database: Pick<Database, 'read'>,
  nameOrId: string,
  { isDeletedToo = false }: { readonly isDeletedToo?: boolean } = {},
): Promise<NamedAccount> => {
  const id = /^\d{1,15}$/.test(nameOrId) ? Number(nameOrId) : null
  const [row] = await database.read(FIND_ACCOUNT, [nameOrId, id])
  const name = String(row?.name)
  if (!row || (isDeletedName(name) && !isDeletedToo)) throw fault('ACCOUNT_UNKNOWN', [nameOrId])
  return { id: Number(row.id), name }
}

/** The account of this name for the slot ACCOUNT; a missing one is created as a customer without
 *  money. For plugins that authenticate. Throws AUTH_SUSPENDED, and ACCOUNT_NUMBER for a name that
 *  is a number: it would be ambiguous with the number of an account. */
export const ensureAccount = async (
  database: Database,
  name: string,
  write: (list: readonly Statement[]) => Promise<unknown> = list => database.write(list),
): Promise<Account> => {
  if (/^\d+$/.test(name)) throw refusal('ACCOUNT_NUMBER', [name])
  const known = await readAccount(database, name)
  if (known) return known
  try {
    await write(createAccount({ name, role: 'customer' }, await database.now()))
  } catch (error) {
    // Another process created it at the same time.
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
