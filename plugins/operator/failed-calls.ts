/** Failed calls of all accounts, for commands and admin endpoints. */
import type { Database } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { attemptsOf, FIND_FAILED_CALL, failedCallsOfAll } from '../calls/statements.ts'
import { ACCOUNT_BY_ID, withAccountNames } from '../credentials/statements.ts'
import { nanosOf } from '../ledger/statements.ts'
import { FAILED_CALL_COLUMNS, type FailedCallView } from '../rows/calls.ts'
import { rowReader } from './rows.ts'

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

const viewOf = rowReader(FAILED_CALL_COLUMNS, row => ({
  account: Number(row.account) || null,
  cost: printMoney(nanosOf(row.amount)),
  attempts: attemptsOf(row),
}))
