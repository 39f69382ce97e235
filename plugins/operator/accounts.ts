/** Accounts as an operator sees and changes them, for commands and admin endpoints. */
import type { Database, Row, Sql } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { fault } from '../credentials/faults.ts'
import { findAccount, type NamedAccount } from '../credentials/find.ts'
import {
  ACCOUNT_BY_ID,
  accountPage,
  deleteAccount as deleteStatements,
  isDeletedName,
  renameAccount as renameStatements,
} from '../credentials/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { LAST_CALLS, OPEN_HOLDS, SPENT } from '../ledger/views/usage.ts'
import { accountValuesIn } from '../ledger/views/usage-days.ts'
import { balanceInSql, readWallet } from '../ledger/views/wallets.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import type { KeyView } from '../views.ts'
import { listKeys } from './keys.ts'
import { isoTime, readAll, whenCode } from './rows.ts'

type Reads = Pick<Database, 'read' | 'pages'>
type Writes = Pick<Database, 'read' | 'write'>

/** Amounts are decimals in units of the currency. */
export interface AccountView {
  readonly id: number
  readonly name: string
  readonly role: string
  readonly keys: number
  readonly created: string
  readonly state: 'active' | 'suspended' | 'deleted'
  readonly balance: string
}
const PAGE: Sql = {
  name: 'operator: accounts',
  text: `SELECT s.*, ${balanceInSql('s.id')} AS balance FROM (${accountPage}) s ORDER BY s.id`,
}

export const listAccounts = async (database: Reads): Promise<readonly AccountView[]> =>
  (await readAll(database, PAGE, [0])).map(row => viewOf(row, nanosOf(row.balance)))

const viewOf = (row: Row, balance: bigint): AccountView => ({
  id: Number(row.id),
  name: String(row.name),
  role: String(row.role),
  keys: Number(row.keys),
  created: isoTime(row.created),
  state: stateOf(row),
  balance: printMoney(balance),
})
const stateOf = ({ name, suspended }: Row): AccountView['state'] => {
  if (isDeletedName(String(name))) return 'deleted'
  return suspended === null ? 'active' : 'suspended'
}

// ---------------------------------------------------------------- one account

interface Spending {
  readonly calls: number
  readonly cost: string
}
export interface AccountDetails extends AccountView {
  /** What running calls and tasks hold of the balance. */
  readonly holds: string
  readonly used: string
  readonly overdraft: string
  /** Since midnight, and since the first of the month, UTC. */
  readonly today: Spending
  readonly month: Spending
  readonly credentials: readonly KeyView[]
  readonly calls: readonly CallView[]
}
interface CallView {
  readonly request: string
  readonly at: string
  readonly model: string
  readonly key: number | null
  readonly state: string
  readonly cost: string
}

/** `calls`: how many of the last ones. Throws ACCOUNT_UNKNOWN. */
export const accountDetails = async (
  database: Reads,
  nameOrId: string,
  { now, calls = 5 }: { readonly now: number; readonly calls?: number },
): Promise<AccountDetails> => {
  const { id } = await findAccount(database, nameOrId, { isDeletedToo: true })
  const [rows, wallet, holds, today, month, lastCalls, credentials] = await Promise.all([
    database.read(ACCOUNT_BY_ID, [id]),
    readWallet(database, id),
    database.read(OPEN_HOLDS, [id]),
    spent(database, id, startOf(now, 'day'), now),
    spent(database, id, startOf(now, 'month'), now),
    database.read(LAST_CALLS, [id, calls]),
    listKeys(database, { account: id, now }),
  ])
  const [row = {}] = rows
  return {
    ...viewOf(row, nanosOf(wallet?.balance)),
    holds: printMoney(nanosOf(holds[0]?.held)),
    used: printMoney(nanosOf(wallet?.used)),
    overdraft: printMoney(nanosOf(wallet?.overdraft)),
    today,
    month,
    credentials,
    calls: lastCalls.map(callOf),
  }
}
const spent = async (
  database: Reads,
  account: number,
  from: number,
  now: number,
): Promise<Spending> => {
  const [row] = await database.read(SPENT, accountValuesIn(account, { from, to: now + 1 }, now))
  return { calls: Number(row?.calls ?? 0), cost: printMoney(nanosOf(row?.amount)) }
}
const startOf = (now: number, span: 'day' | 'month'): number => {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), span === 'day' ? date.getUTCDate() : 1)
}
const callOf = (row: Row): CallView => ({
  request: String(row.request),
  at: isoTime(row.opened),
  model: String(row.model),
  key: row.key === null ? null : Number(row.key),
  state: String(row.state),
  cost: printMoney(nanosOf(row.amount)),
})

// ---------------------------------------------------------------- changes

/** Throws ACCOUNT_UNKNOWN or ACCOUNT_EXISTS. `name`: valid. */
export const renameAccount = async (
  database: Writes,
  nameOrId: string,
  name: string,
): Promise<NamedAccount> => {
  const { id } = await findAccount(database, nameOrId)
  await writeWithRetry(database, renameStatements(id, name)).catch(
    whenCode('ACCOUNT_EXISTS', () => fault('ACCOUNT_EXISTS', [name])),
  )
  return { id, name }
}

/** Ends an account: its credentials are revoked and its name is free. Its ledger stays. Unless
 *  `force`, throws ACCOUNT_IN_USE while it has money, debts, or open calls or tasks. */
export const deleteAccount = async (
  database: Writes,
  nameOrId: string,
  { now, force = false }: { readonly now: number; readonly force?: boolean },
): Promise<NamedAccount> => {
  const { id, name } = await findAccount(database, nameOrId)
  const [wallet, [openHolds]] = await Promise.all([
    readWallet(database, id),
    database.read(OPEN_HOLDS, [id]),
  ])
  const [balance, onHold] = [nanosOf(wallet?.balance), nanosOf(openHolds?.held)]
  const reasons = [
    ...(balance === 0n ? [] : [`a balance of ${printMoney(balance)}`]),
    ...(onHold === 0n ? [] : [`running calls or open tasks, which hold ${printMoney(onHold)}`]),
  ]
  if (reasons.length > 0 && !force) throw fault('ACCOUNT_IN_USE', [name, reasons.join(' and ')])
  await writeWithRetry(database, deleteStatements(id, name, now))
  return { id, name }
}
