/** One request as an operator sees it: its log line on this machine, its charge in the ledger. */
import type { Database, Json, RequestLog, RequestRecord, Row } from '../../engine/plugin.ts'
import { printFormula } from '../billing/formula.ts'
import { printMoney } from '../billing/money.ts'
import type { Line } from '../billing/sum.ts'
import { memberIn } from '../calls/statements.ts'
import { fault as accountFault } from '../credentials/faults.ts'
import { ACCOUNT_BY_ID } from '../credentials/statements.ts'
import { findArchived } from '../ledger/archive/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { servedView } from '../ledger/views/served-by.ts'
import { CHARGES_OF } from '../ledger/views/usage.ts'
import type { Meters } from '../slots.ts'
import type { ChargeView, FailedCallView } from '../views.ts'
import { findFailedCall } from './failed-calls.ts'
import { isoTime, jsonOf } from './rows.ts'

export interface RequestDetails {
  /** Undefined if this machine has no line of it. */
  readonly record: RequestRecord | undefined
  /** Undefined where it did not fail, or its row is removed. */
  readonly failed: FailedCallView | undefined
  /** Latest first: a late charge of a task is one more. */
  readonly charges: readonly ChargeView[]
}
/** Some databases reject other characters. */
const ID = /^[\x20-\x7e]{1,128}$/

/** `id`: of a request, of a task, or the client's id. Throws REQUEST_UNKNOWN. */
export const requestDetails = async (
  { database, requests }: { database: Pick<Database, 'read'>; requests: RequestLog },
  id: string,
): Promise<RequestDetails> => {
  if (!ID.test(id)) throw accountFault('REQUEST_UNKNOWN', [id.slice(0, 128)])
  const record = await requests.find(id)
  const rows = await database.read(CHARGES_OF, [id, id, record?.id ?? id])
  const failed = await findFailedCall(database, record?.id ?? id)
  if (!record && !failed && rows.length === 0)
    throw (await archivedFault(database, id)) ?? accountFault('REQUEST_UNKNOWN', [id])
  // A task has the id of its request in its charge.
  const request = rows.at(-1)?.request
  return {
    failed,
    record: record ?? (request === undefined ? undefined : await requests.find(String(request))),
    charges: await Promise.all(rows.map(row => chargeOf(database, row))),
  }
}

/** Undefined: the charge of this request or task is not archived. */
export const archivedFault = async (
  database: Pick<Database, 'read'>,
  id: string,
): Promise<Error | undefined> => {
  const archived = await findArchived(database, id)
  return archived && accountFault('CHARGE_ARCHIVED', [id, archived.file])
}

const chargeOf = async (database: Pick<Database, 'read'>, row: Row): Promise<ChargeView> => {
  const [account] = await database.read(ACCOUNT_BY_ID, [Number(row.account)])
  const lines = jsonOf<readonly Line[]>(row.lines) ?? []
  return {
    request: String(row.request),
    account: Number(row.account),
    account_name: account ? String(account.name) : null,
    key: row.key === null ? null : Number(row.key),
    member: memberIn(row),
    route: String(row.route),
    model: String(row.model),
    version: Number(row.version),
    state: String(row.state),
    opened: isoTime(row.opened),
    closed: row.closed === null ? null : isoTime(row.closed),
    hold: printMoney(nanosOf(row.held)),
    cost: printMoney(nanosOf(row.amount)),
    uncollected: printMoney(nanosOf(row.uncollected)),
    planned: printMoney(nanosOf(row.planned)),
    planned_tokens: row.planned_tokens == null ? null : Number(row.planned_tokens),
    refunded: printMoney(nanosOf(row.refunded)),
    estimated: Number(row.estimated) === 1,
    usage: jsonOf<Meters>(row.usage),
    lines,
    formula: lines.length > 0 ? printFormula(lines) : null,
    task: row.task === null ? null : String(row.task),
    settings: jsonOf<Json>(row.attributes),
    ...servedView(row),
  }
}
