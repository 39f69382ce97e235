/** Pages of accounts with their balances, in an order. */
import { flag, object, oneOf, text, type ValueOf } from '../../engine/config/shape.ts'
import type { Database, Row, Sql } from '../../engine/plugin.ts'
import { accountNumbers, accountRows, NOT_DELETED } from '../credentials/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { JOIN_WALLETS, withBalances } from '../ledger/views/wallets.ts'
import type { AccountRow } from '../views.ts'
import { accountRowOf } from './accounts.ts'
import { CURSOR } from './arguments.ts'
import { queryFault } from './faults.ts'

const PAGE = 100
const SORTS = {
  number: 'a.id',
  balance: 'coalesce(w.balance, 0)',
  used: 'coalesce(w.used, 0)',
} as const
type Sort = keyof typeof SORTS
const SORT_NAMES = Object.keys(SORTS) as readonly Sort[]
const ORDERS = ['asc', 'desc'] as const
type Order = (typeof ORDERS)[number]
const STATES = ['active', 'suspended'] as const

/** A page of accounts in an order; only the rows of the page get their other columns. No index has
 *  balances, since every charge would change it. Parameters: a part of the name (twice), the state
 *  (three times, or empty), value and number of the last row of the page before. The row count is a
 *  constant: a plan of PostgreSQL for any count would read all accounts. */
const pageOf = (sort: Sort, order: Order, filter: string): Sql => {
  const column = SORTS[sort]
  const orderText = `${column} ${order}, a.id ${order}`
  const rest = `${filter} (CAST(? AS TEXT) = '' OR lower(a.name) LIKE ?)
      AND (CAST(? AS TEXT) = '' OR (? = 'active' AND a.suspended IS NULL)
        OR (? = 'suspended' AND a.suspended IS NOT NULL))
      AND (${column}, a.id) ${order === 'asc' ? '>' : '<'} (CAST(? AS BIGINT), CAST(? AS BIGINT))
    ORDER BY ${orderText} LIMIT ${PAGE + 1}`
  return {
    name: `operator: accounts by ${sort} ${order}${filter === '' ? ', deleted too' : ''}`,
    text: withBalances(
      accountRows(`a.id IN (SELECT p.id FROM (${accountNumbers(JOIN_WALLETS, rest)}) p)`),
      orderText,
    ),
  }
}
const pagesWhere = (filter: string): Readonly<Record<string, Sql>> =>
  Object.fromEntries(
    SORT_NAMES.flatMap(sort =>
      ORDERS.map(order => [`${sort} ${order}`, pageOf(sort, order, filter)]),
    ),
  )
const PAGES = pagesWhere(`${NOT_DELETED} AND`)
const PAGES_OF_ALL = pagesWhere('')

export const ACCOUNT_QUERY = object(undefined, {
  search: text('A part of the name.', { maxLength: 64 }),
  state: oneOf(`${STATES.join(', ')}.`, STATES),
  sort: oneOf(`${SORT_NAMES.join(', ')}; number by default.`, SORT_NAMES),
  order: oneOf(`${ORDERS.join(', ')}; asc by default.`, ORDERS),
  all: flag('Deleted accounts too.'),
  cursor: CURSOR,
})
/** Throws ADMIN_QUERY for a cursor that is none. */
export const accountsPage = async (
  database: Pick<Database, 'read'>,
  {
    search = '',
    state,
    sort = 'number',
    order = 'asc',
    cursor,
    all = false,
  }: ValueOf<typeof ACCOUNT_QUERY>,
): Promise<{ readonly data: readonly AccountRow[]; readonly next: string | null }> => {
  const part = search.toLowerCase()
  const filters = [part, `%${part.replace(/[%_]/g, '')}%`, ...Array(3).fill(state ?? '')]
  const statement = (all ? PAGES_OF_ALL : PAGES)[`${sort} ${order}`]
  if (!statement) throw new Error(`no order ${sort} ${order}`)
  const rows = await database.read(statement, [...filters, ...endIn(cursor, order)])
  const page = rows.slice(0, PAGE)
  const last = page.at(-1)
  return {
    data: page.map(accountRowOf),
    next: rows.length > PAGE && last ? `${sortValueOf(last, sort)}:${last.id}` : null,
  }
}
const LARGEST = 2n ** 63n - 1n
/** Value and number of the last row of the page before. */
const endIn = (cursor: string | undefined, order: Order): readonly [bigint, bigint] => {
  if (cursor === undefined) return order === 'asc' ? [-LARGEST, -LARGEST] : [LARGEST, LARGEST]
  const [, value, id] = /^(-?\d{1,18}|-?[1-8]\d{18}):(\d{1,15})$/.exec(cursor) ?? []
  if (value === undefined || id === undefined)
    throw queryFault('cursor', '`next` of the page before')
  return [BigInt(value), BigInt(id)]
}
const sortValueOf = (row: Row, sort: Sort): bigint =>
  sort === 'number' ? BigInt(Number(row.id)) : nanosOf(row[sort] ?? 0)
