/** Late charges: another gateway ended the call of a process that it took for dead, by the last
 *  count in the store, and the process delivers more. The rest becomes a debit. */
import type { Sql, Statement } from '../../../engine/plugin.ts'
import { lockOf } from '../statements.ts'
import { walletInSql, walletOf } from '../wallet.ts'

const MARK_REAPED: Sql = {
  name: 'ledger: mark reaped',
  text: "UPDATE charges SET reaped = 1 WHERE request = ? AND state = 'open'",
}
/** For the list that settles the open charge of a reaped process. */
export const markReaped = (request: string): Statement => ({ sql: MARK_REAPED, values: [request] })

/** In the column `request` of a late debit, whose own request may have a refund. */
const LATE = 'late '
// At most what the account has left: an overdraft beyond its limit would refuse the list. A plan
// would have paid the rest of what it held.
const paid = (most: string): string => `${most}(c.amount, coalesce(c.plan_held, 0))`
const sqlOf = (least: string, most: string): string => `
  INSERT INTO credits (id, account, kind, amount, request, note, at)
  SELECT (SELECT coalesce(max(id), 0) + 1 FROM credits), c.account, 'debit',
    -${least}(CAST(? AS BIGINT) - ${paid(most)}, ${most}(w.balance - w.reserved + w.overdraft, 0)),
    '${LATE}' || c.request, 'rest of ' || c.request || ', ended early', CAST(? AS BIGINT)
  FROM charges c JOIN wallets w ON w.id = ${walletInSql.account('c.account')}
  WHERE c.request = ? AND c.reaped = 1 AND ${paid(most)} < CAST(? AS BIGINT)
    AND w.balance - w.reserved + w.overdraft > 0
  ON CONFLICT (request) DO NOTHING`
const LATE_DEBIT: Sql = {
  name: 'ledger: late debit',
  text: sqlOf('min', 'max'),
  postgres: sqlOf('least', 'greatest'),
}
/** Charges what the delivered reply costs beyond the charge of a reaped call: nanos in all, and ms
 *  since 1970. Does nothing for other calls, or when it is written again. */
export const lateCharge = (
  request: string,
  account: number,
  nanos: bigint,
  at: number,
): Statement => ({
  sql: LATE_DEBIT,
  values: [nanos, at, request, nanos],
  locks: [lockOf(walletOf.account(account))],
})
