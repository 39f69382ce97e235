/** Failed calls of all accounts, for commands and admin endpoints. */
import type { Database, Row } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { attemptsOf, FIND_FAILED_CALL, failedCallsOfAll, failureOf } from '../calls/statements.ts'
import { ACCOUNT_BY_ID, withAccountNames } from '../credentials/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import type { FailedCallView } from '../views.ts'
import { isoTime } from './rows.ts'

const ALL = failedCallsOfAll(
  text => `${withAccountNames(text, 'account')} ORDER BY r.at DESC, r.request DESC`,
)

export interface FailedCallQuery {
  /** ms since 1970; `to` is exclusive. */
  readonly from: number
  readonly to: number
  readonly account: number | null
  /** Only calls of this member; absent: of all. */
  readonly member?: number | null
  readonly key: number | null
  readonly model: string | null
  readonly code: string | null
  readonly limit: number
  /** The last row of the page before. */
  readonly after?: FailedCallMark | undefined
}
export interface FailedCallMark {
  readonly at: number
  readonly request: string
}
/** Latest first. */
export const failedCalls = async (
  database: Pick<Database, 'read'>,
  { from, to, after, limit, ...filters }: FailedCallQuery,
): Promise<{ readonly rows: readonly FailedCallView[]; readonly next: FailedCallMark | null }> => {
  const { account, member = null, model, key, code } = filters
  const end = after ? Math.min(to, after.at + 1) : to
  const rows = await database.read(ALL, [
    from,
    end,
    account,
    account,
    after ? 0 : 1,
    String(after?.at ?? 0),
    after?.request ?? '',
    model,
    model,
    key,
    key,
    code,
    code,
    member,
    member,
    limit + 1,
  ])
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    rows: page.map(viewOf),
    next:
      rows.length > limit && last ? { at: Number(last.at), request: String(last.request) } : null,
  }
}

/** Undefined: no failed call with this id is kept. */
export const findFailedCall = async (
  database: Pick<Database, 'read'>,
  id: string,
): Promise<FailedCallView | undefined> => {
  const [row] = await database.read(FIND_FAILED_CALL, [id])
  if (!row) return undefined
  const [account] = await database.read(ACCOUNT_BY_ID, [Number(row.account)])
  return viewOf({ ...row, account_name: account?.name ?? null })
}

const viewOf = (row: Row): FailedCallView => ({
  request: String(row.request),
  at: isoTime(row.at),
  account: Number(row.account) || null,
  account_name: row.account_name == null ? null : String(row.account_name),
  key: row.key === null ? null : Number(row.key),
  route: String(row.route),
  model: String(row.model),
  ...failureOf(row),
  ms: Number(row.ms),
  cost: printMoney(nanosOf(row.amount)),
  omitted: Number(row.omitted),
  attempts: attemptsOf(row),
})
