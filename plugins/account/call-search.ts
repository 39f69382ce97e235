/** Decides which calls a page of an account's list reads: the first ones in its order, or those
 *  that a search looks at, so that a page costs the same however many calls the period has. */
import type { Database, Sql, Value } from '../../engine/plugin.ts'
import { accountValuesIn } from '../ledger/views/usage-days.ts'
import {
  CALLS_AT,
  INSTANTS_BY_COST,
  MODELS_FROM,
  MOST_EXAMINED,
  type Order,
  SEARCH_END,
} from '../ledger/views/usage-lists.ts'
import type { Period } from './input.ts'

type Reader = Pick<Database, 'read'>
export interface CallQuery extends Period {
  readonly account: number
  readonly limit: number
  readonly sort: { readonly by: string; readonly order: Order }
  /** Whether calls are left out by a filter, or by their member. */
  readonly isFiltered: boolean
  /** A page may end before it is full, and the next one continues. */
  readonly isBounded: boolean
  readonly model: string | null
  /** The end of the page before, in the order of the list; undefined for the first one. */
  readonly mark: readonly string[] | undefined
}
/** The calls that a page reads. `end`: where the next page begins if this one is not full, as
 *  values in the order of the list. */
export interface Search extends Period {
  readonly end?: readonly string[]
  /** In place of the filter. */
  readonly model?: string
  /** In place of the statement of the list, with a value behind the period. */
  readonly instants?: { readonly statement: Sql; readonly value: Value }
}

export const searchOf = async (database: Reader, query: CallQuery): Promise<Search> => {
  const { account, from, to, sort, isFiltered, isBounded } = query
  if (sort.by === 'time') return byTime(database, query)
  const isUsual = sort.by === 'cost' ? isFiltered : !isBounded
  if (isUsual) return { from, to }
  const [many] = await database.read(SEARCH_END.asc, [account, from, to, MOST_EXAMINED])
  if (!many) return { from, to }
  return sort.by === 'cost' ? byCost(database, query) : byModel(database, query)
}

const byTime = async (database: Reader, query: CallQuery): Promise<Search> => {
  const { from, to, limit, isFiltered, isBounded, mark } = query
  const [at] = mark ?? []
  const rest = at === undefined ? { from, to } : restFrom(query, query.sort.order, Number(at))
  if (isFiltered && !isBounded) return rest
  const count = isFiltered ? MOST_EXAMINED : limit + 1
  const { end, ...part } = await partOf(database, query, rest, count)
  return end === undefined ? part : { ...part, end: [String(end), ''] }
}
/** The part of the period that a list in order of time has not shown yet: the index then finds its
 *  rows. */
export const restFrom = ({ from, to }: Period, order: Order, at: number): Period =>
  order === 'desc' ? { from, to: Math.min(to, at + 1) } : { from: Math.max(from, at), to }
/** So many calls of a period; `end`: where the others begin. */
const partOf = async (
  database: Reader,
  { account, sort }: CallQuery,
  { from, to }: Period,
  count: number,
): Promise<Period & { readonly end?: number }> => {
  const [row] = await database.read(SEARCH_END[sort.order], [account, from, to, count])
  if (!row) return { from, to }
  const end = Number(row.opened)
  return sort.order === 'desc' ? { from: end, to, end } : { from, to: end + 1, end: end + 1 }
}

const byCost = async (database: Reader, query: CallQuery): Promise<Search> => {
  const { account, from, to, limit, sort, mark } = query
  const [cost = '0', at = '0'] = mark ?? []
  const values = [account, from, to, mark ? 0 : 1, cost, at, limit + 1]
  const rows = await database.read(INSTANTS_BY_COST[sort.order], values)
  // Other calls of the same instant and cost may be behind the last one.
  const instants = [...rows.map(({ opened }) => Number(opened)), ...(mark ? [Number(at)] : [])]
  const value = JSON.stringify(instants)
  return { from, to, instants: { statement: CALLS_AT[sort.order], value } }
}

/** A page by model reads calls of one model, in order of time. */
const byModel = async (database: Reader, query: CallQuery): Promise<Search> => {
  const { from, to, sort, mark } = query
  const [model, next] = await modelsOf(database, query)
  if (model === undefined) return { from, to }
  const [known, at] = mark ?? []
  const rest = known === model ? restFrom(query, sort.order, Number(at)) : { from, to }
  const { end, ...part } = await partOf(database, query, rest, MOST_EXAMINED)
  if (end !== undefined) return { ...part, model, end: [model, String(end), ''] }
  if (next === undefined) return { ...part, model }
  return { ...part, model, end: [next, sort.order === 'asc' ? '-1' : String(to), ''] }
}
/** The model of the page, and the one after it. */
const modelsOf = async (
  database: Reader,
  { account, from, to, sort, model, mark }: CallQuery,
): Promise<readonly string[]> => {
  if (model !== null) return [model]
  const period = accountValuesIn(account, { from, to }, Date.now())
  const values = [...period, account, mark ? 0 : 1, mark?.[0] ?? '']
  const rows = await database.read(MODELS_FROM[sort.order], values)
  return rows.map(row => String(row.model))
}
