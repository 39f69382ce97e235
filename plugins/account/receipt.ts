/** The receipt of one call: its price lines, and what was held and charged. */
import type { Database, Exchange, Host, Json, Row } from '../../engine/plugin.ts'
import { printFormula } from '../billing/formula.ts'
import { isIncluded, isToolMeter } from '../billing/meters.ts'
import type { Line } from '../billing/sum.ts'
import { findArchived } from '../ledger/archive/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { RECEIPT, TASK_RECEIPT } from '../ledger/views/usage.ts'
import { ACCOUNT, type Meter, type Meters } from '../slots.ts'
import type { Receipt } from '../views.ts'
import { fault } from './faults.ts'
import { answerSuccess, isoTime, moneyNumber, type ViewFactory } from './response.ts'
import { amountsOf, GROUPINGS } from './usage-pages.ts'

/** The id of a request or a task. Some databases reject other characters. */
const CHARGE_ID = /^[\w.:-]{1,128}$/

export const receipt: ViewFactory<Host> =
  ({ database }) =>
  async exchange => {
    const id = Object.values(exchange.params)[0] ?? ''
    const charge = CHARGE_ID.test(id) ? await ownCharge(database, exchange, id) : undefined
    if (!charge) throw await noReceipt(database, exchange, id)
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

/** RECEIPT_ARCHIVED for an archived charge of the account, otherwise RECEIPT_UNKNOWN. */
const noReceipt = async (
  database: Pick<Database, 'read'>,
  { slots }: Exchange,
  id: string,
): Promise<Error> => {
  const archived = CHARGE_ID.test(id) ? await findArchived(database, id) : undefined
  return archived?.account === slots.need(ACCOUNT).id
    ? fault('RECEIPT_ARCHIVED', [id, isoTime(archived.at).slice(0, 10)])
    : fault('RECEIPT_UNKNOWN', [id.slice(0, 64)])
}

/** Tools that were called and that no line prices. */
const unpricedToolsOf = (meters: Meters, lines: readonly Line[]): readonly string[] => {
  const pricedMeters = new Set(lines.map(({ meter }) => meter))
  return (Object.keys(meters) as Meter[]).filter(
    meter =>
      isToolMeter(meter) &&
      (meters[meter] ?? 0) > 0 &&
      !pricedMeters.has(meter) &&
      !isIncluded(meter, pricedMeters),
  )
}

const receiptOf = (row: Row): Receipt => {
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
    usage: parseOr<Meters | null>(row.usage, null),
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
