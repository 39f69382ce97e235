/** Accounts as an operator sees them. */
import type { Database, Row, Sql } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { findAccount } from '../credentials/find.ts'
import { accountRows, isDeletedName } from '../credentials/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { LAST_CALLS, OPEN_HOLDS, SPENT } from '../ledger/views/usage.ts'
import { accountValuesIn } from '../ledger/views/usage-days.ts'
import { withBalances } from '../ledger/views/wallets.ts'
import type { AccountDetails, AccountRow, Limits } from '../views.ts'
import { keysOf } from './keys.ts'
import { isoTime, jsonOf } from './rows.ts'

type Reads = Pick<Database, 'read'>

const ROW: Sql = { name: 'operator: account', text: withBalances(accountRows('a.id = ?')) }

/** A row of `withBalances` over `accountRows`. */
export const accountRowOf = (row: Row): AccountRow => ({
  id: Number(row.id),
  name: String(row.name),
  role: String(row.role),
  keys: Number(row.keys),
  created: isoTime(row.created),
  state: stateOf(row),
  balance: printMoney(nanosOf(row.balance ?? 0)),
  used: printMoney(nanosOf(row.used ?? 0)),
  overdraft: printMoney(nanosOf(row.overdraft ?? 0)),
  limits: jsonOf<Limits>(row.limits),
})
const stateOf = ({ name, suspended }: Row): AccountRow['state'] => {
  if (isDeletedName(String(name))) return 'deleted'
  return suspended === null ? 'active' : 'suspended'
}
/** Throws ACCOUNT_UNKNOWN. */
export const accountRow = async (
  database: Pick<Database, 'read'>,
  nameOrId: string,
): Promise<AccountRow> => {
  const { id } = await findAccount(database, nameOrId)
  return accountRowById(database, id)
}
/** Of an account that exists, or did. */
export const accountRowById = async (
  database: Pick<Database, 'read'>,
  id: number,
): Promise<AccountRow> => {
  const [row = {}] = await database.read(ROW, [id])
  return accountRowOf(row)
}

// ---------------------------------------------------------------- with usage, keys and calls

interface DetailsQuery {
  readonly now: number
  /** How many of the last ones. */
  readonly calls: number
  readonly isDeletedToo: boolean
}
/** Throws ACCOUNT_UNKNOWN. */
export const accountDetails = async (
  database: Reads,
  nameOrId: string,
  { now, calls, isDeletedToo }: DetailsQuery,
): Promise<AccountDetails> => {
  const { id } = await findAccount(database, nameOrId, { isDeletedToo })
  const [row, holds, today, month, lastCalls, credentials] = await Promise.all([
    accountRowById(database, id),
    database.read(OPEN_HOLDS, [id]),
    spent(database, id, startOf(now, 'day'), now),
    spent(database, id, startOf(now, 'month'), now),
    database.read(LAST_CALLS, [id, calls]),
    keysOf(database, id, now),
  ])
  return {
    ...row,
    holds: printMoney(nanosOf(holds[0]?.held)),
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
): Promise<AccountDetails['today']> => {
  const [row] = await database.read(SPENT, accountValuesIn(account, { from, to: now + 1 }, now))
  return { calls: Number(row?.calls ?? 0), cost: printMoney(nanosOf(row?.amount)) }
}
const startOf = (now: number, span: 'day' | 'month'): number => {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), span === 'day' ? date.getUTCDate() : 1)
}
const callOf = (row: Row): AccountDetails['calls'][number] => ({
  request: String(row.request),
  at: isoTime(row.opened),
  model: String(row.model),
  key: row.key === null ? null : Number(row.key),
  state: String(row.state),
  cost: printMoney(nanosOf(row.amount)),
})
