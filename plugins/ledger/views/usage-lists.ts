/** Lists of an account's usage in any order, page by page: its calls, and sums of them. */
import type { Sql } from '../../../engine/plugin.ts'
import { madeIn, memberOfCall, ofMember } from '../../calls/call-member.ts'
import { IN_LIST } from '../../calls/number-lists.ts'
import { tagsInPostgres } from './served-by.ts'
import { callsOfTag, tagsOfAccount } from './tag-days.ts'
import { CALL, USAGE_SUMS } from './usage.ts'
import { usageOfAccount } from './usage-days.ts'

export type Order = 'asc' | 'desc'
const ORDERS: readonly Order[] = ['asc', 'desc']
interface SortColumn {
  readonly text: string
  readonly type: 'BIGINT' | 'TEXT'
}
const CALL_COLUMNS = {
  time: { text: 'c.opened', type: 'BIGINT' },
  cost: { text: 'coalesce(c.amount, 0)', type: 'BIGINT' },
  model: { text: 'c.model', type: 'TEXT' },
} as const satisfies Readonly<Record<string, SortColumn>>
export type CallSort = keyof typeof CALL_COLUMNS
export const CALL_SORTS = Object.keys(CALL_COLUMNS) as readonly CallSort[]

const GROUPS = {
  day: { text: 'u.day', type: 'BIGINT' },
  model: { text: 'u.model', type: 'TEXT' },
  /** Key 0 is usage without a key. */
  key: { text: 'u.key', type: 'BIGINT' },
  /** Member 0 is usage by the account itself. */
  member: { text: 'u.made_by', type: 'BIGINT' },
  /** Such as `project=alpha`. */
  tag: { text: 'u.tag', type: 'TEXT' },
} as const satisfies Readonly<Record<string, SortColumn>>
export type Group = keyof typeof GROUPS
export type SumSort = 'name' | 'calls' | 'cost'
export const SUM_SORTS: readonly SumSort[] = ['name', 'calls', 'cost']

/** The rows after the last page. Parameters: whether it is the first page (1 or 0), the values of
 *  the columns at that end, as texts. */
const behind = (columns: readonly SortColumn[], order: Order): string =>
  `(CAST(? AS BIGINT) = 1 OR (${columns.map(({ text }) => text).join(', ')}) ${order === 'asc' ? '>' : '<'}
     (${columns.map(({ type }) => `CAST(? AS ${type})`).join(', ')}))`

const REQUEST: SortColumn = { text: 'c.request', type: 'TEXT' }
/** Calls of equal cost or model are in the order of their times. */
const columnsOf = (sort: CallSort): readonly SortColumn[] => [
  ...(sort === 'time' ? [] : [CALL_COLUMNS[sort]]),
  CALL_COLUMNS.time,
  REQUEST,
]
const TAG = {
  sqlite: `json_extract(c.served, '$.tags."' || ? || '"')`,
  postgres: `CAST(${tagsInPostgres('c')} AS json) ->> CAST(? AS TEXT)`,
}
const RULE = {
  sqlite: `json_extract(c.served, '$.rule')`,
  postgres: `CAST(c.served AS json) ->> 'rule'`,
}
type DialectName = keyof typeof TAG
const OF_PERIOD = 'c.account = ? AND c.opened >= ? AND c.opened < ?'
const callsText = (
  sort: CallSort,
  order: Order,
  dialect: DialectName,
  source = OF_PERIOD,
): string => {
  const columns = columnsOf(sort)
  return `${CALL} WHERE ${source}
     AND ${behind(columns, order)}
     AND (CAST(? AS TEXT) IS NULL OR c.model = ?) AND (CAST(? AS BIGINT) IS NULL OR c.key = ?)
     AND (CAST(? AS TEXT) IS NULL OR c.state = ?)
     AND (CAST(? AS TEXT) IS NULL OR ${TAG[dialect]} = ?)
     AND (CAST(? AS TEXT) IS NULL OR ${RULE[dialect]} = ?) AND ${ofMember(madeIn('c'))}
   ORDER BY ${columns.map(({ text }) => `${text} ${order}`).join(', ')} LIMIT ?`
}
const sumsText = (group: Group, sort: SumSort, order: Order, usage: string): string => {
  const { text, type } = GROUPS[group]
  const name: SortColumn = { text: 's.name', type }
  const column: SortColumn =
    sort === 'name' ? name : { text: sort === 'cost' ? 's.amount' : 's.calls', type: 'BIGINT' }
  return `SELECT s.* FROM (
    SELECT ${text} AS name, ${USAGE_SUMS}
    FROM (${usage}) u WHERE ${ofMember(madeIn('u'))} GROUP BY ${text} HAVING sum(u.calls) > 0) s
  WHERE ${behind([column, name], order)}
  ORDER BY ${column.text} ${order}, s.name ${order} LIMIT ?`
}

const statementsOf = <Sort extends string>(
  sorts: readonly Sort[],
  name: string,
  textOf: (sort: Sort, order: Order, dialect: DialectName) => string,
): Readonly<Record<string, Sql>> =>
  Object.fromEntries(
    sorts.flatMap(sort =>
      ORDERS.map(order => [
        `${sort} ${order}`,
        {
          name: `ledger: ${name} by ${sort} ${order}`,
          text: textOf(sort, order, 'sqlite'),
          postgres: textOf(sort, order, 'postgres'),
        },
      ]),
    ),
  )

/** By sort and order, such as `time desc`. Parameters: account, from, to, the end of the last page
 *  (see `behind` and `columnsOf`), filters (model, key and state twice each, the name of a tag
 *  twice and its value, a rule twice, the member who made the call twice; null for all), row
 *  count. */
export const CALLS = statementsOf(CALL_SORTS, 'calls', callsText)

/** The instants of the calls of a page by cost, for a period with many calls: an index has all
 *  that decides their order. Parameters: account, from, to, whether it is the first page (1 or 0),
 *  cost and instant of the last call before it, row count. */
const instantsByCost = (order: Order): Sql => ({
  name: `ledger: instants of calls by cost ${order}`,
  text: `SELECT DISTINCT i.opened FROM (SELECT c.opened FROM charges c WHERE ${OF_PERIOD}
     AND ${behind([{ text: 'c.amount', type: 'BIGINT' }, CALL_COLUMNS.time], order)}
   ORDER BY c.amount ${order}, c.opened ${order} LIMIT ?) i`,
})
export const INSTANTS_BY_COST = {
  asc: instantsByCost('asc'),
  desc: instantsByCost('desc'),
} as const
/** The calls of such instants. Parameters: those of `CALLS`, with the instants behind the
 *  period. */
const callsAt = (order: Order): Sql => {
  const textIn = (dialect: DialectName): string => {
    const instants = `c.account = ? AND +c.opened >= ? AND +c.opened < ? AND c.opened ${IN_LIST[dialect]}`
    return callsText('cost', order, dialect, instants)
  }
  const name = `ledger: calls of instants by cost ${order}`
  return { name, text: textIn('sqlite'), postgres: textIn('postgres') }
}
export const CALLS_AT = { asc: callsAt('asc'), desc: callsAt('desc') } as const
/** The first two models of an account's calls in a period, from one on. Parameters:
 *  `accountValuesIn`, account, whether it is the first page (1 or 0), the model. */
const modelsFrom = (order: Order): Sql => {
  const textOver = (
    usage: string,
  ): string => `SELECT m.model FROM (SELECT u.model FROM (${usage}) u GROUP BY u.model
     UNION SELECT c.model FROM charges c WHERE c.account = ? AND c.state = 'open') m
   WHERE CAST(? AS BIGINT) = 1 OR m.model ${order === 'asc' ? '>' : '<'}= CAST(? AS TEXT)
   ORDER BY m.model ${order} LIMIT 2`
  return {
    name: `ledger: models ${order}`,
    text: textOver(usageOfAccount.sqlite),
    postgres: textOver(usageOfAccount.postgres),
  }
}
export const MODELS_FROM = { asc: modelsFrom('asc'), desc: modelsFrom('desc') } as const
/** Calls that a page with filters, or by model, looks at: rare or absent ones end it early. */
export const MOST_EXAMINED = 10_000
const searchEnd = (name: string, condition: string, order: Order): Sql => ({
  name: `ledger: end of a search ${name}`,
  text: `SELECT c.opened FROM charges c WHERE ${condition}
   ORDER BY c.opened ${order} LIMIT 1 OFFSET ?`,
})
/** Where so many calls end, in ms since 1970; no row if fewer are left. A page reads no other
 *  calls: PostgreSQL would sort all of the period for any number of rows. Parameters: `all`: the
 *  latest begin; `one`: account, the latest begin; by order: account, from, to; then how many. */
export const SEARCH_END = {
  all: searchEnd('of all accounts', 'c.opened <= ?', 'desc'),
  one: searchEnd('of an account', 'c.account = ? AND c.opened <= ?', 'desc'),
  desc: searchEnd('of a period', OF_PERIOD, 'desc'),
  asc: searchEnd('of a period, earliest first', OF_PERIOD, 'asc'),
} as const
/** Of `day` (days since 1970, UTC), `model`, `key`, `member` and `tag`. Parameters:
 *  `accountValuesIn`, a member (twice, null for all), the end of the last page, row count.
 *  `withNames` adds columns to the rows of a statement. */
export const sumsBy = (
  group: Group,
  withNames: (text: string, order: string) => string = text => text,
): Readonly<Record<string, Sql>> =>
  statementsOf(SUM_SORTS, `sums of each ${group}`, (sort, order, dialect) => {
    const column = { name: 's.name', calls: 's.calls', cost: 's.amount' }[sort]
    const rows = (group === 'tag' ? tagsOfAccount : usageOfAccount)[dialect]
    const usage =
      group === 'member'
        ? `SELECT v.*, ${memberOfCall(madeIn('v'))} AS made_by FROM (${rows}) v`
        : rows
    const text = sumsText(group, sort, order, usage)
    return withNames(text, `${column} ${order}, s.name ${order}`)
  })

/** Sums by model of the calls with one tag, which are read one by one. Parameters: those of
 *  `callsOfTag`, a member (twice, null for all), the end of the last page, row count. */
export const MODELS_OF_TAG = statementsOf(SUM_SORTS, 'models of a tag', (sort, order, dialect) =>
  sumsText('model', sort, order, callsOfTag[dialect]),
)
/** Calls of a period, with the tag or without, that these sums read at most. */
export const MOST_OF_TAG = 50_000
/** Whether a period has more: a row. Parameters: account, from, to. */
export const BEYOND_MOST: Sql = {
  name: 'ledger: more calls than sums of a tag read',
  text: `SELECT 1 AS more FROM charges c WHERE ${OF_PERIOD} LIMIT 1 OFFSET ${MOST_OF_TAG}`,
}

const MOST_COUNTED = 10_000
/** How many calls a list has, at most ten thousand. Parameters: account, from, to, filters (model,
 *  key and the member who made the call, twice each, null for all). */
export const COUNT_CALLS: Sql = {
  name: 'ledger: count of calls',
  text: `SELECT count(*) AS number FROM (SELECT 1 AS one FROM charges c
   WHERE c.account = ? AND c.opened >= ? AND c.opened < ?
     AND (CAST(? AS TEXT) IS NULL OR c.model = ?) AND (CAST(? AS BIGINT) IS NULL OR c.key = ?)
     AND ${ofMember(madeIn('c'))} LIMIT ${MOST_COUNTED}) counted`,
}
