/** Pages of the usage of an account, by call or summed by day, model or key; and the receipt of one
 *  call. */
import type { Database, Exchange, Host, Json, Row, Sql } from '../../engine/plugin.ts'
import { printFormula } from '../billing/formula.ts'
import { isToolMeter } from '../billing/meters.ts'
import type { Line } from '../billing/sum.ts'
import { nanosOf } from '../ledger/statements.ts'
import { BY_DAY, BY_MODEL, CALLS, RECEIPT, TASK_RECEIPT } from '../ledger/views/usage.ts'
import { ACCOUNT, type Meter, type Meters } from '../slots.ts'
import { fault } from './faults.ts'
import { maskKey } from './funds.ts'
import {
  type CursorMark,
  cursorOf,
  limitOf,
  markOf,
  type Period,
  periodOf,
  singleParameter,
} from './input.ts'
import { answerSuccess, isoTime, moneyNumber, type ViewFactory } from './response.ts'
import { BY_KEY } from './statements.ts'

type Fields = { readonly [name: string]: Json }
interface Grouping {
  readonly sql: Sql
  /** The mark before the first row. */
  readonly first: CursorMark
  mark(row: Row): CursorMark
  /** The mark as parameters of the statement. */
  values(mark: CursorMark): CursorMark
  name(row: Row): Fields
}

const sumGrouping = (
  sql: Sql,
  first: string | number,
  name: (row: Row) => Fields,
): Pick<Grouping, 'sql' | 'first' | 'mark' | 'values' | 'name'> => ({
  sql,
  first: [first],
  name,
  mark: row => [row.name as string | number],
  values: mark => mark,
})
const GROUPINGS = {
  call: {
    sql: CALLS,
    first: [Number.MAX_SAFE_INTEGER, ''],
    mark: row => [Number(row.opened), String(row.request)],
    values: ([openedAt = 0, request = '']) => [openedAt, openedAt, request],
    name: row => ({
      request_id: String(row.request),
      at: isoTime(row.opened),
      route: String(row.route),
      model: String(row.model),
      key: keyOf(row),
      state: String(row.state),
      estimated: row.estimated === 1,
    }),
  },
  day: sumGrouping(BY_DAY, -1, ({ name }) => ({
    day: isoTime(Number(name) * 86_400_000).slice(0, 10),
  })),
  model: sumGrouping(BY_MODEL, '', ({ name }) => ({ model: String(name) })),
  key: sumGrouping(BY_KEY, -1, row =>
    row.name === 0
      ? { key: null }
      : {
          key: Number(row.name),
          name: row.key_name === null ? null : String(row.key_name),
          masked: row.prefix === null ? null : maskKey(row),
        },
  ),
} satisfies Readonly<Record<string, Grouping>>
export type By = keyof typeof GROUPINGS

/** Throws USAGE_BY. */
export const byOf = (text: string | undefined, fallback: By): By => {
  if (text === undefined) return fallback
  if (Object.hasOwn(GROUPINGS, text)) return text as By
  throw fault('USAGE_BY', [Object.keys(GROUPINGS).join(', ')])
}

export interface UsageQuery extends Period {
  readonly account: number
  readonly by: By
  readonly limit: number
  readonly cursor?: string | undefined
}
interface UsagePage {
  readonly rows: readonly Fields[]
  readonly next: string | null
}

export const usagePage = async (
  database: Pick<Database, 'read'>,
  { account, by, from, to, limit, cursor }: UsageQuery,
): Promise<UsagePage> => {
  const grouping: Grouping = GROUPINGS[by]
  const mark = markOf(by, grouping.first, cursor)
  const values = [account, from, to, ...grouping.values(mark), limit + 1]
  const rows = await database.read(grouping.sql, values)
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    rows: page.map(row => ({ ...grouping.name(row), ...amountsOf(row) })),
    next: rows.length > limit && last ? cursorOf(by, grouping.mark(last)) : null,
  }
}
const amountsOf = (row: Row): Fields => ({
  ...(row.calls !== undefined && { calls: Number(row.calls) }),
  cost: moneyNumber(nanosOf(row.amount)),
  refunded: moneyNumber(nanosOf(row.refunded ?? 0)),
})
const keyOf = ({ key }: Row): number | null => (key === null ? null : Number(key))

export const usage: ViewFactory<Host> =
  ({ database }) =>
  async exchange => {
    const { query } = exchange.request
    const { id } = exchange.slots.need(ACCOUNT)
    const by = byOf(singleParameter(query, 'by'), 'call')
    const range = { from: singleParameter(query, 'from'), to: singleParameter(query, 'to') }
    const period = periodOf(range, Date.now())
    const limit = limitOf(singleParameter(query, 'limit'))
    const cursor = singleParameter(query, 'cursor')
    const { rows, next } = await usagePage(database, { account: id, by, limit, cursor, ...period })
    const bounds = { from: isoTime(period.from), to: isoTime(period.to) }
    answerSuccess(exchange, { data: [...rows], ...bounds, next })
  }

// ---------------------------------------------------------------- one call

/** The id of a request or a task. Some databases reject other characters. */
const CHARGE_ID = /^[\w.:-]{1,128}$/

export const receipt: ViewFactory<Host> =
  ({ database }) =>
  async exchange => {
    const id = Object.values(exchange.params)[0] ?? ''
    const charge = CHARGE_ID.test(id) ? await ownCharge(database, exchange, id) : undefined
    if (!charge) throw fault('RECEIPT_UNKNOWN', [id.slice(0, 64)])
    answerSuccess(exchange, { data: receiptOf(charge) })
  }

/** A charge of the calling account; with an API key, only charges of that key. */
const ownCharge = async (
  database: Pick<Database, 'read'>,
  { slots }: Exchange,
  id: string,
): Promise<Row | undefined> => {
  const { id: account, key } = slots.need(ACCOUNT)
  const [ofRequest] = await database.read(RECEIPT, [id, account])
  const row = ofRequest ?? (await database.read(TASK_RECEIPT, [id, account]))[0]
  return row && (key === undefined || row.key === key.id) ? row : undefined
}

/** Tools that were called and that no line prices. */
const unpricedToolsOf = (meters: Meters, lines: readonly Line[]): readonly string[] => {
  const pricedMeters = new Set<string>(lines.map(({ meter }) => meter))
  return Object.keys(meters).filter(
    meter =>
      isToolMeter(meter as Meter) && (meters[meter as Meter] ?? 0) > 0 && !pricedMeters.has(meter),
  )
}

const receiptOf = (row: Row): Fields => {
  const lines = parseOr<readonly Line[]>(row.lines, [])
  return {
    ...GROUPINGS.call.name(row),
    ...(row.task != null && {
      task_id: String(row.task),
      settings: parseOr<Json>(row.attributes, {}),
    }),
    closed: row.closed === null ? null : isoTime(row.closed),
    ...amountsOf(row),
    held: moneyNumber(nanosOf(row.held)),
    uncollected: moneyNumber(nanosOf(row.uncollected)),
    usage: parseOr<Json>(row.usage, null),
    lines: lines.map(({ nanos: each, ...line }) => ({
      ...line,
      amount: moneyNumber(BigInt(each)),
    })),
    unpriced: unpricedToolsOf(parseOr<Meters>(row.usage, {}), lines),
    formula: lines.length > 0 ? printFormula(lines) : null,
  }
}
const parseOr = <T>(text: unknown, otherwise: T): T =>
  typeof text === 'string' ? (JSON.parse(text) as T) : otherwise
