/** Who and what costs most, over all accounts, for commands and admin endpoints. */
import type { Database, Row } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { nanosOf } from '../ledger/statements.ts'
import { TOP } from '../ledger/views/usage.ts'
import { listAccounts } from './accounts.ts'
import { listKeys } from './keys.ts'
import { isoTime } from './rows.ts'

export type UsageGroup = keyof typeof TOP
export const USAGE_GROUPS = Object.keys(TOP) as readonly UsageGroup[]

/** A type, so that commands can print it as rows. */
export type UsageRow = {
  readonly [column: string]: string | number
}
export interface UsageQuery {
  readonly by: UsageGroup
  /** ms since 1970; `to` is exclusive. */
  readonly from: number
  readonly to: number
  readonly top: number
}
/** The largest first. Costs are decimals in units of the currency. */
export const usageOfAll = async (
  database: Pick<Database, 'read' | 'pages'>,
  { by, from, to, top }: UsageQuery,
): Promise<readonly UsageRow[]> => {
  const rows = await database.read(TOP[by], [from, to, top])
  const name = await namesOf(database, by, to)
  return rows.map(row => ({
    ...name(row),
    calls: Number(row.calls),
    cost: printMoney(nanosOf(row.amount)),
    refunded: printMoney(nanosOf(row.refunded)),
  }))
}

const namesOf = async (
  database: Pick<Database, 'read' | 'pages'>,
  by: UsageGroup,
  now: number,
): Promise<(row: Row) => UsageRow> => {
  if (by === 'model') return ({ name }) => ({ model: String(name) })
  if (by === 'day') return ({ name }) => ({ day: isoTime(Number(name) * 86_400_000).slice(0, 10) })
  if (by === 'account') {
    const accounts = new Map((await listAccounts(database)).map(each => [each.id, each.name]))
    return ({ name }) => ({ id: Number(name), account: accounts.get(Number(name)) ?? 'unknown' })
  }
  const keys = new Map((await listKeys(database, { now })).map(each => [each.id, each]))
  return ({ name }) => {
    const key = keys.get(Number(name))
    return { key: Number(name), name: key?.name ?? 'no key', account: key?.account ?? '' }
  }
}
