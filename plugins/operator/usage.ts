/** Sums of usage for commands and endpoints: what costs most over all accounts, and the days and
 *  models of one. */
import { DURATIONS } from '../../engine/kit.ts'
import type { Database, Row } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { tokenColumns } from '../billing/tokens.ts'
import { withAccountNames, withKeyNames } from '../credentials/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { BY_DAY_AND_MODEL } from '../ledger/views/overview.ts'
import { firstDayOf, keptTops, keptValues } from '../ledger/views/top-usage.ts'
import { topUsage } from '../ledger/views/usage.ts'
import { accountValuesIn, valuesIn } from '../ledger/views/usage-days.ts'
import type { UsageCell } from '../views.ts'
import { isoTime } from './rows.ts'

const DAY = DURATIONS.d
const BY_COST = 'ORDER BY r.amount DESC, r.name'
const withAccount = (text: string): string => `${withAccountNames(text, 'name')} ${BY_COST}`
const withKey = (text: string): string => {
  const withKeys = withKeyNames(text, 's.amount DESC, s.name')
  return `${withAccountNames(withKeys, 'key_account')} ${BY_COST}`
}
const LISTS = {
  account: keptTops('account', withAccount),
  key: keptTops('key', withKey),
} as const

const NAMES = {
  account: row => ({ id: Number(row.name), account: String(row.account_name ?? 'unknown') }),
  model: row => ({ model: String(row.name) }),
  key: row => ({
    key: Number(row.name),
    name: String(row.key_name ?? 'no key'),
    account: String(row.account_name ?? ''),
  }),
  day: row => ({ day: isoTime(Number(row.name) * DAY).slice(0, 10) }),
  tag: row => ({ tag: String(row.name) }),
} satisfies Readonly<Record<string, (row: Row) => UsageRow>>
export type UsageGroup = keyof typeof NAMES
export const USAGE_GROUPS = Object.keys(NAMES) as readonly UsageGroup[]
const STATEMENTS = {
  account: topUsage('account', withAccount),
  model: topUsage('model'),
  key: topUsage('key', withKey),
  day: topUsage('day'),
  tag: topUsage('tag'),
}

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
  /** A period that ends later has today as a whole day; the time of this process by default. */
  readonly now?: number
}
/** The largest first. Costs are decimals in units of the currency. */
export const usageOfAll = async (
  database: Pick<Database, 'read'>,
  query: UsageQuery,
): Promise<readonly UsageRow[]> => {
  const rows = await topRows(database, query)
  return rows.map(row => rowOf(row, query.by))
}
/** The same as the store has them: each row with `name`, `account_name`, `key_name` and
 *  `key_account`. */
export const topRows = (
  database: Pick<Database, 'read'>,
  { by, top, now = Date.now(), ...period }: UsageQuery,
): Promise<readonly Row[]> => database.read(STATEMENTS[by], [...valuesIn(period, now), top])
interface DaysQuery {
  readonly by: keyof typeof LISTS
  /** Whole days (UTC) before today. */
  readonly days: number
  readonly now: number
  readonly top: number
}
/** The same of whole days until now: of a large store as the last list has them. */
export const topRowsOfDays = async (
  database: Pick<Database, 'read'>,
  { by, days, now, top }: DaysQuery,
): Promise<readonly Row[]> => {
  const values = keptValues(by, days, { now, top })
  const rows = values ? await database.read(LISTS[by], values) : []
  if (rows.length > 0) return rows
  return topRows(database, { by, from: firstDayOf(days, now) * DAY, to: now + 1, top, now })
}
const rowOf = (row: Row, by: UsageGroup): UsageRow => ({
  ...NAMES[by](row),
  calls: Number(row.calls),
  ...tokenColumns(row),
  cost: printMoney(nanosOf(row.amount)),
  refunded: printMoney(nanosOf(row.refunded)),
})

/** Days times models; the console asks for ninety days at most. */
const MOST_CELLS = 10_000
/** Calls, cost and tokens of an account by day and model. `member`: only calls that he made. */
export const usageCells = async (
  database: Pick<Database, 'read'>,
  account: number,
  {
    from,
    to,
    member = null,
  }: Pick<UsageQuery, 'from' | 'to'> & { readonly member?: number | null },
): Promise<readonly UsageCell[]> => {
  const values = accountValuesIn(account, { from, to }, Date.now())
  const rows = await database.read(BY_DAY_AND_MODEL, [...values, member, member, MOST_CELLS])
  return rows.map(row => ({
    day: isoTime(Number(row.day) * DAY).slice(0, 10),
    model: String(row.model),
    calls: Number(row.calls),
    cost: printMoney(nanosOf(row.amount)),
    refunded: printMoney(nanosOf(row.refunded)),
    failed: Number(row.failed),
    input: Number(row.input),
    cached: Number(row.cached),
    output: Number(row.output),
  }))
}
