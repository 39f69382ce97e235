/** Late charges: another gateway ended the call of a process that it took for dead, by the last
 *  count in the store, and the process delivers more. The rest becomes a debit. */
import type { Sql, Statement } from '../../../engine/plugin.ts'
import { type Hold, lockOf, memberColumn } from '../statements.ts'
import { walletInSql, walletOf } from '../wallet.ts'

const MARK_REAPED: Sql = {
  name: 'ledger: mark reaped',
  text: "UPDATE charges SET reaped = 1 WHERE request = ? AND state = 'open'",
}
/** For the list that settles the open charge of a reaped process. */
export const markReaped = (request: string): Statement => ({ sql: MARK_REAPED, values: [request] })

// Open, then released: triggers count a released call.
const ADD_OPEN: Sql = {
  name: 'ledger: add reaped',
  text: `INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held, opened, key_held, member)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'open', 0, ?, 0, CAST(? AS BIGINT)) ON CONFLICT (request) DO NOTHING`,
}
const RELEASE_REAPED: Sql = {
  name: 'ledger: release reaped',
  text: "UPDATE charges SET state = 'released', closed = ?, reaped = 1 WHERE request = ? AND process = ? AND state = 'open'",
}
/** The row of a reaped call that had none. `at`: ms since 1970. */
export const addReaped = (hold: Hold, at: number): readonly Statement[] => [
  {
    sql: ADD_OPEN,
    values: [
      hold.request,
      hold.account,
      hold.key ?? null,
      hold.process,
      hold.route,
      hold.model,
      hold.version,
      hold.rule,
      hold.openedAt,
      memberColumn(hold),
    ],
  },
  { sql: RELEASE_REAPED, values: [at, hold.request, hold.process] },
]

/** In the column `request` of a late debit, whose own request may have a refund. */
const LATE = 'late '
// At most what the account has left: an overdraft beyond its limit would refuse the list.
const sqlOf = (least: string, most: string): string => `
  INSERT INTO credits (id, account, kind, amount, request, note, at)
  SELECT (SELECT coalesce(max(id), 0) + 1 FROM credits), c.account, 'debit',
    -${least}(CAST(? AS BIGINT) - c.amount, ${most}(w.balance - w.reserved + w.overdraft, 0)),
    '${LATE}' || c.request, 'rest of ' || c.request || ', ended early', CAST(? AS BIGINT)
  FROM charges c JOIN wallets w ON w.id = ${walletInSql.account('c.account')}
  WHERE c.request = ? AND c.reaped = 1 AND c.amount < CAST(? AS BIGINT)
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
