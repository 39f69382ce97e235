/** The usage of an account: by call, or summed by day, model or key, in pages; and the receipt of one call. */
import type { Database, Exchange, Host, Json, Row, Sql } from '../../engine/plugin.ts'
import { printFormula } from '../billing/formula.ts'
import type { Line } from '../billing/sum.ts'
import { nanosOf } from '../ledger/statements.ts'
import { BY_DAY, BY_MODEL, CALLS, RECEIPT } from '../ledger/views/usage.ts'
import { ACCOUNT } from '../slots.ts'
import { fault } from './faults.ts'
import { masked } from './funds.ts'
import {
  type CursorMark,
  cursorOf,
  limitOf,
  markOf,
  type Period,
  periodOf,
  singleParameter,
} from './input.ts'
import { instant, money, succeed, type ViewFactory } from './response.ts'
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
    values: ([opened = 0, request = '']) => [opened, opened, request],
    name: row => ({
      request_id: String(row.request),
      at: instant(row.opened),
      route: String(row.route),
      model: String(row.model),
      key: keyOf(row),
      state: String(row.state),
      estimated: row.estimated === 1,
    }),
  },
  day: sumGrouping(BY_DAY, -1, ({ name }) => ({
    day: instant(Number(name) * 86_400_000).slice(0, 10),
  })),
  model: sumGrouping(BY_MODEL, '', ({ name }) => ({ model: String(name) })),
  key: sumGrouping(BY_KEY, -1, row =>
    row.name === 0
      ? { key: null }
      : {
          key: Number(row.name),
          name: row.key_name === null ? null : String(row.key_name),
          masked: row.prefix === null ? null : masked(row),
        },
  ),
} satisfies Readonly<Record<string, Grouping>>
export type By = keyof typeof GROUPINGS

/** Throws USAGE_BY. */
export const byOf = (text: string | undefined, usual: By): By => {
  if (text === undefined) return usual
  if (Object.hasOwn(GROUPINGS, text)) return text as By
  throw fault('USAGE_BY', [Object.keys(GROUPINGS).join(', ')])
}

export interface Question extends Period {
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
  { account, by, from, to, limit, cursor }: Question,
): Promise<UsagePage> => {
  const grouping: Grouping = GROUPINGS[by]
  const mark = markOf(by, grouping.first, cursor)
  const values = [account, from, to, ...grouping.values(mark), limit + 1]
  const rows = await database.read(grouping.sql, values)
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    rows: shown.map(row => ({ ...grouping.name(row), ...amountsOf(row) })),
    next: rows.length > limit && last ? cursorOf(by, grouping.mark(last)) : null,
  }
}
const amountsOf = (row: Row): Fields => ({
  ...(row.calls !== undefined && { calls: Number(row.calls) }),
  cost: money(nanosOf(row.amount)),
  refunded: money(nanosOf(row.refunded ?? 0)),
})
const keyOf = ({ key }: Row): number | null => (key === null ? null : Number(key))

export const usage: ViewFactory<Host> =
  ({ database }) =>
  async exchange => {
    const { query } = exchange.request
    const { id } = exchange.slots.need(ACCOUNT)
    const by = byOf(singleParameter(query, 'by'), 'call')
    const given = { from: singleParameter(query, 'from'), to: singleParameter(query, 'to') }
    const period = periodOf(given, Date.now())
    const limit = limitOf(singleParameter(query, 'limit'))
    const cursor = singleParameter(query, 'cursor')
    const { rows, next } = await usagePage(database, { account: id, by, limit, cursor, ...period })
    const bounds = { from: instant(period.from), to: instant(period.to) }
    succeed(exchange, { data: [...rows], ...bounds, next })
  }

// ---------------------------------------------------------------- one call

/** Other texts are no request ids, and some databases reject them. */
const REQUEST = /^[\w.:-]{1,128}$/

export const receipt: ViewFactory<Host> =
  ({ database }) =>
  async exchange => {
    const asked = Object.values(exchange.params)[0] ?? ''
    const found = REQUEST.test(asked) ? await ownCharge(database, exchange, asked) : undefined
    if (!found) throw fault('RECEIPT_UNKNOWN', [asked.slice(0, 64)])
    succeed(exchange, { data: receiptOf(found) })
  }

/** A charge of the calling account; with an API key, only charges of that key. */
const ownCharge = async (
  database: Pick<Database, 'read'>,
  { slots }: Exchange,
  request: string,
): Promise<Row | undefined> => {
  const { id, key } = slots.need(ACCOUNT)
  const [row] = await database.read(RECEIPT, [request, id])
  return row && (key === undefined || row.key === key.id) ? row : undefined
}

const receiptOf = (row: Row): Fields => {
  const lines = parseOr<readonly Line[]>(row.lines, [])
  return {
    ...GROUPINGS.call.name(row),
    closed: row.closed === null ? null : instant(row.closed),
    ...amountsOf(row),
    held: money(nanosOf(row.held)),
    uncollected: money(nanosOf(row.uncollected)),
    usage: parseOr<Json>(row.usage, null),
    lines: lines.map(({ nanos: each, ...line }) => ({ ...line, amount: money(BigInt(each)) })),
    formula: lines.length > 0 ? printFormula(lines) : null,
  }
}
const parseOr = <T>(text: unknown, otherwise: T): T =>
  typeof text === 'string' ? (JSON.parse(text) as T) : otherwise
