/** Pages of the usage of an account, by call or summed by day, model, key, member or tag, in any
 *  order. */
import type { Database, Json, Row, Sql, Value } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { TOKEN_COLUMNS, tokenColumns, tokensIn } from '../billing/tokens.ts'
import { FAILED_CALLS_OF, failureOf, memberIn } from '../calls/statements.ts'
import { latenciesBy, NO_LATENCIES } from '../calls/sum-reads.ts'
import { nanosOf } from '../ledger/statements.ts'
import { servedFacts } from '../ledger/views/served-by.ts'
import { accountValuesIn } from '../ledger/views/usage-days.ts'
import {
  BEYOND_MOST,
  CALL_SORTS,
  CALLS,
  MODELS_OF_TAG,
  MOST_OF_TAG,
  type Order,
  SUM_SORTS,
  sumsBy,
} from '../ledger/views/usage-lists.ts'
import { maskKey } from '../operator/own-keys.ts'
import { restFrom, type Search, searchOf } from './call-search.ts'
import { fault } from './faults.ts'
import { cursorOf, markOf, type Period } from './input.ts'
import { isoTime } from './response.ts'
import { BY_KEY, BY_MEMBER, presentName } from './statements.ts'

type Fields = { readonly [name: string]: Json }
export interface Grouping {
  /** By sort and order, such as `time desc`. */
  readonly statements: Readonly<Record<string, Sql>>
  /** The orders that a query may ask for; the first one is the default. */
  readonly sorts: readonly string[]
  readonly order: Order
  /** The values of a row that its place in each order depends on. */
  place(row: Row): Readonly<Record<string, Value | undefined>>
  /** Those that decide among equal rows. */
  readonly last: readonly string[]
  /** The members of `place` that are texts; the others are whole numbers. */
  readonly texts: readonly string[]
  name(row: Row): Fields
}

const sumGrouping = (
  statements: Readonly<Record<string, Sql>>,
  name: (row: Row) => Fields,
  texts: readonly string[] = [],
): Grouping => ({
  texts,
  statements,
  sorts: SUM_SORTS,
  order: 'asc',
  place: ({ name, calls, amount }) => ({ name, calls, cost: amount }),
  last: ['name'],
  name: row => ({ ...name(row), ...tokenColumns(row) }),
})
export const GROUPINGS = {
  call: {
    statements: CALLS,
    sorts: CALL_SORTS,
    order: 'desc',
    place: ({ opened, amount, model, request }) => ({
      time: opened,
      cost: amount ?? 0,
      model,
      request,
    }),
    last: ['time', 'request'],
    texts: ['model', 'request'],
    name: row => ({
      request_id: String(row.request),
      at: isoTime(row.opened),
      route: String(row.route),
      model: String(row.model),
      key: keyOf(row),
      member: memberIn(row),
      state: String(row.state),
      estimated: row.estimated === 1,
      ...servedFacts(row),
      ...tokensOf(row),
    }),
  },
  failed: {
    statements: FAILED_CALLS_OF,
    sorts: ['time'],
    order: 'desc',
    place: ({ at, request }) => ({ time: at, request }),
    last: ['request'],
    texts: ['request'],
    name: row => ({
      request_id: String(row.request),
      at: isoTime(row.at),
      route: String(row.route),
      model: String(row.model),
      key: keyOf(row),
      member: memberIn(row),
      state: 'failed',
      ...failureOf(row),
      ms: Number(row.ms),
      omitted: Number(row.omitted),
    }),
  },
  day: sumGrouping(sumsBy('day'), ({ name }) => ({
    day: isoTime(Number(name) * 86_400_000).slice(0, 10),
  })),
  model: sumGrouping(sumsBy('model'), ({ name }) => ({ model: String(name) }), ['name']),
  key: sumGrouping(BY_KEY, row =>
    row.name === 0
      ? { key: null }
      : {
          key: Number(row.name),
          name: row.key_name === null ? null : String(row.key_name),
          masked: row.prefix === null ? null : maskKey(row),
        },
  ),
  member: sumGrouping(BY_MEMBER, row =>
    row.member_name === null
      ? { member: null, name: null, role: null, removed: false }
      : {
          member: Number(row.name),
          name: presentName(String(row.member_name)),
          role: String(row.member_role),
          removed: row.member_removed !== null,
        },
  ),
  tag: sumGrouping(sumsBy('tag'), ({ name }) => ({ tag: String(name) }), ['name']),
} satisfies Readonly<Record<string, Grouping>>
const MODELS_IN_TAG = sumGrouping(MODELS_OF_TAG, ({ name }) => ({ model: String(name) }), ['name'])
/** Columns of sums in CSV. */
export const SUM_COLUMNS: readonly string[] = [
  'calls',
  ...TOKEN_COLUMNS,
  ...Object.keys(NO_LATENCIES),
  'cost',
  'refunded',
]
export type By = keyof typeof GROUPINGS
/** Failed calls are asked for by their status. */
const CHOICES = (Object.keys(GROUPINGS) as By[]).filter(each => each !== 'failed')

/** Throws USAGE_BY. */
export const byOf = (text: string | undefined, fallback: By): By => {
  const by = text === undefined ? fallback : CHOICES.find(each => each === text)
  if (by === undefined) throw fault('USAGE_BY', [CHOICES.join(', ')])
  return by
}

export interface UsageQuery extends Period {
  readonly account: number
  /** Only calls of this member of the team. */
  readonly member?: number | undefined
  readonly by: By
  readonly limit: number
  readonly cursor?: string | undefined
  /** Of lists of calls. */
  readonly filters?: CallFilters
  /** By its name or its time without it. */
  readonly sort?: Sort
  /** A page of calls with filters looks at so many calls only, and may end before it is full. */
  readonly isBounded?: true
}
export interface Sort {
  readonly by: string
  readonly order: Order
}
export interface CallFilters {
  readonly model: string | null
  readonly key: number | null
  /** The state of a charge, or the code of a failed call. */
  readonly state: string | null
  /** Set for charges, and for their sums by model. */
  readonly tag?: { readonly name: string; readonly value: string } | undefined
  /** The rule of the model. Set for charges only. */
  readonly rule?: string | undefined
}
const NO_FILTERS: CallFilters = { model: null, key: null, state: null }
interface UsagePage {
  readonly rows: readonly Fields[]
  readonly next: string | null
}

export const usagePage = async (
  database: Pick<Database, 'read'>,
  query: UsageQuery,
): Promise<UsagePage> => {
  const { by, limit, cursor, filters = NO_FILTERS } = query
  const isOfTag = hasTag(query)
  if (isOfTag) await refuseMany(database, query)
  const grouping: Grouping = isOfTag ? MODELS_IN_TAG : GROUPINGS[by]
  const sort = query.sort ?? defaultSort(grouping)
  const list = `${by} ${sort.by} ${sort.order}`
  const columns = columnsOf(grouping, sort)
  const mark = cursor === undefined ? undefined : markIn(list, columns, cursor, grouping)
  const search = await searched(database, query, sort, mark)
  const statement = search.instants?.statement ?? grouping.statements[`${sort.by} ${sort.order}`]
  if (!statement) throw fault('USAGE_SORT', [grouping.sorts.join(', ')])
  const ofMember = [query.member ?? null, query.member ?? null]
  const isOfCalls = by === 'call' || by === 'failed'
  const { model = filters.model } = search
  const rows = await database.read(statement, [
    ...periodValues(query, search),
    ...(isOfCalls ? [] : ofMember),
    mark ? 0 : 1,
    ...(mark ?? columns.map(() => '0')),
    ...(isOfCalls ? [...valuesOf({ ...filters, model }, by), ...ofMember] : []),
    limit + 1,
  ])
  const page = rows.slice(0, limit)
  const lastRow = page.at(-1)
  const place = lastRow && grouping.place(lastRow)
  const latencies = await latenciesIn(database, query)
  const next = rows.length > limit && place ? columns.map(name => String(place[name])) : search.end
  return {
    rows: page.map(row => ({
      ...grouping.name(row),
      ...latencies?.(row),
      ...amountsOf(row),
    })),
    next: next ? cursorOf(list, next) : null,
  }
}
/** Whether it asks for the sums of one tag. */
const hasTag = ({ by, filters }: UsageQuery): boolean =>
  by === 'model' && filters?.tag !== undefined
/** Sums of a tag are read from calls. Throws USAGE_FILTER. */
const refuseMany = async (
  database: Pick<Database, 'read'>,
  { account, from, to }: UsageQuery,
): Promise<void> => {
  const [more] = await database.read(BEYOND_MOST, [account, from, to])
  if (more)
    throw fault('USAGE_FILTER', [
      `\`tag\` with \`by=model\` reads single calls, and this period has more than ${MOST_OF_TAG}; choose a shorter one`,
    ])
}
const periodValues = (
  { account, by, filters }: UsageQuery,
  { from, to, instants }: Search,
): readonly Value[] => {
  if (by === 'call' || by === 'failed')
    return [account, from, to, ...(instants ? [instants.value] : [])]
  const tag = by === 'model' ? filters?.tag : undefined
  if (tag) return [account, from, to, tag.name, tag.value]
  return accountValuesIn(account, { from, to }, Date.now())
}
/** The calls that the page reads: see `searchOf`. */
const searched = async (
  database: Pick<Database, 'read'>,
  { member, filters = NO_FILTERS, isBounded, ...query }: UsageQuery,
  sort: Sort,
  mark: readonly string[] | undefined,
): Promise<Search> => {
  const { by, from, to } = query
  if (by === 'failed' && mark) return restFrom({ from, to }, sort.order, Number(mark[0]))
  if (by !== 'call') return { from, to }
  const isFiltered = [member, ...Object.values(filters)].some(each => each != null)
  const { model } = filters
  return searchOf(database, {
    ...query,
    sort,
    isFiltered,
    isBounded: isBounded === true,
    model,
    mark,
  })
}
const valuesOf = (filters: CallFilters, by: By): readonly Value[] => {
  const { model, key, state, tag, rule = null } = filters
  const { name = null, value = null } = tag ?? {}
  const ofCharges = by === 'call' ? [name, name, value, rule, rule] : []
  return [model, model, key, key, state, state, ...ofCharges]
}
/** Of the rows of sums; undefined for lists of calls. Sums of the models of a tag have none. */
const latenciesIn = async (database: Pick<Database, 'read'>, query: UsageQuery) => {
  const { by } = query
  if (by === 'call' || by === 'failed') return undefined
  if (hasTag(query)) return () => NO_LATENCIES
  const latencies = await latenciesBy(database, Date.now(), { ...query, by })
  return ({ name }: Row) => latencies.get(String(name)) ?? NO_LATENCIES
}
export const defaultSort = ({ sorts, order }: Grouping): Sort => ({ by: sorts[0] ?? '', order })
/** The values that the place of a row depends on. */
const columnsOf = ({ last }: Grouping, { by }: Sort): readonly string[] =>
  by === 'time' && last.includes(by) ? last : [by, ...last]
/** The values at the end of the page before. Throws USAGE_CURSOR. */
const markIn = (
  list: string,
  columns: readonly string[],
  cursor: string,
  { texts }: Grouping,
): readonly string[] => {
  const first = columns.map(() => '')
  const mark = markOf(list, first, cursor).map(String)
  const isValid = ({ at, name }: { readonly at: number; readonly name: string }): boolean =>
    texts.includes(name) || /^-?\d{1,18}$/.test(mark[at] ?? '')
  if (!columns.every((name, at) => isValid({ at, name }))) throw fault('USAGE_CURSOR')
  return mark
}
export const amountsOf = (row: Row) => ({
  ...(row.calls !== undefined && { calls: Number(row.calls) }),
  cost: printMoney(nanosOf(row.amount)),
  refunded: printMoney(nanosOf(row.refunded ?? 0)),
  ...(row.planned !== undefined && { planned: printMoney(nanosOf(row.planned)) }),
})
const keyOf = ({ key }: Row): number | null => (key === null ? null : Number(key))
/** Null while a call is open, and for calls without tokens. */
const tokensOf = ({ usage }: Row) => {
  const meters =
    usage == null ? {} : (JSON.parse(String(usage)) as Readonly<Record<string, number>>)
  const { input, cached, output } = tokensIn(meters)
  const isCounted = input + output > 0
  return {
    input_tokens: isCounted ? input : null,
    cached_tokens: isCounted ? cached : null,
    output_tokens: isCounted ? output : null,
  }
}
