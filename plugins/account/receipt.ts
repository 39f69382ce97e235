/** The receipt of one call: its price lines, and what was held and charged. */
import type { Database, Exchange, Host, Json, Row } from '../../engine/plugin.ts'
import { printFormula } from '../billing/formula.ts'
import { isIncluded, isToolMeter } from '../billing/meters.ts'
import { printMoney } from '../billing/money.ts'
import type { Line } from '../billing/sum.ts'
import { FIND_FAILED_CALL, failureOf, memberIn } from '../calls/statements.ts'
import { onlyMember } from '../credentials/members.ts'
import { checkPathId } from '../dialects/path-id.ts'
import { findArchived } from '../ledger/archive/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { RECEIPT, TASK_RECEIPT } from '../ledger/views/usage.ts'
import { ACCOUNT, type Account, type Meter, type Meters } from '../slots.ts'
import type { Receipt } from '../views.ts'
import { fault } from './faults.ts'
import { answerSuccess, isoTime, type ViewFactory } from './response.ts'
import { amountsOf, GROUPINGS } from './usage-pages.ts'

/** The id of a request or a task. Some databases reject other characters. */
const CHARGE_ID = /^[\w.:-]{1,128}$/

export const receipt: ViewFactory<Host> =
  ({ database }) =>
  async exchange => {
    const id = checkPathId(Object.values(exchange.params)[0] ?? '')
    const isId = CHARGE_ID.test(id)
    const charge = isId ? await ownCharge(database, exchange, id) : undefined
    const failed = isId ? await ownFailure(database, exchange, id) : undefined
    if (charge) {
      const failure = failed && { failure: failureOf(failed) }
      answerSuccess(exchange, { data: { ...receiptOf(charge), ...failure } })
    } else if (failed) answerSuccess(exchange, { data: failedReceiptOf(failed) })
    else throw await noReceipt(database, exchange, id)
  }

/** A failed call of the calling account that the caller may see. */
const ownFailure = async (
  database: Pick<Database, 'read'>,
  { slots }: Exchange,
  id: string,
): Promise<Row | undefined> => {
  const caller = slots.need(ACCOUNT)
  const [row] = await database.read(FIND_FAILED_CALL, [id])
  return row?.account === caller.id && isVisible(caller, row) ? row : undefined
}

/** A charge of the calling account that the caller may see. */
const ownCharge = async (
  database: Pick<Database, 'read'>,
  { slots }: Exchange,
  id: string,
): Promise<Row | undefined> => {
  const caller = slots.need(ACCOUNT)
  const [ofRequest] = await database.read(RECEIPT, [id, caller.id])
  const row = ofRequest ?? (await database.read(TASK_RECEIPT, [id, caller.id]))[0]
  return row && isVisible(caller, row) ? row : undefined
}
/** An API key sees the calls with it, a member with the role `member` those that he made. */
const isVisible = ({ key, member }: Account, row: Row): boolean => {
  const only = onlyMember(member)
  return (!key || row.key === key.id) && (only === undefined || row.member === only)
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
    held: printMoney(nanosOf(row.held)),
    uncollected: printMoney(nanosOf(row.uncollected)),
    planned: printMoney(nanosOf(row.planned)),
    planned_tokens: row.planned_tokens == null ? null : Number(row.planned_tokens),
    usage: parseOr<Meters | null>(row.usage, null),
    lines: lines.map(({ nanos: each, ...line }) => ({
      ...line,
      amount: printMoney(BigInt(each)),
    })),
    unpriced: unpricedToolsOf(parseOr<Meters>(row.usage, {}), lines),
    formula: lines.length > 0 ? printFormula(lines) : null,
  }
}
/** Of a failed call without a charge: it costs nothing. */
const failedReceiptOf = (row: Row): Receipt => ({
  request_id: String(row.request),
  at: isoTime(Number(row.at) - Number(row.ms)),
  route: String(row.route),
  model: String(row.model),
  key: row.key === null ? null : Number(row.key),
  member: memberIn(row),
  state: 'failed',
  estimated: false,
  tier: null,
  speed: null,
  geography: null,
  zone: null,
  tags: null,
  rule: null,
  guard: null,
  first_content_ms: null,
  ms: Number(row.ms),
  closed: isoTime(row.at),
  cost: '0',
  refunded: '0',
  held: '0',
  uncollected: '0',
  planned: '0',
  planned_tokens: null,
  usage: null,
  lines: [],
  unpriced: [],
  formula: null,
  failure: failureOf(row),
})
const parseOr = <T>(text: unknown, otherwise: T): T =>
  typeof text === 'string' ? (JSON.parse(text) as T) : otherwise
