/** A call in one row: of an answer that is known whole before its first byte leaves, nobody needs to see the hold. */
import type { Sql, Statement } from '../../engine/plugin.ts'
import { type Hold, lockOf, ofTheLiving, type Settlement } from './statements.ts'
import { walletOf } from './wallet.ts'

const AT_ONCE = ofTheLiving(
  'at once',
  `INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held, opened,
     amount, uncollected, estimated, usage, lines, closed, key_held)
   SELECT ?, ?, ?, id, ?, ?, ?, ?, 'settled', ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS BIGINT) FROM tollgate_processes WHERE id = ?`,
)

/** What a trigger does for a hold that is settled, said for all that one commit charges: see `Sql.sums`. */
const SPENT: Sql = {
  name: 'ledger: spent',
  text: 'UPDATE shares SET amount = amount - ? WHERE process = ? AND wallet IN (?, ?)',
  sums: [0],
}
const PAID: Sql = {
  name: 'ledger: paid',
  text: `UPDATE wallets SET balance = balance - ?, used = used + ?,
     reserved = reserved - CAST(? AS BIGINT) * CASE WHEN id IN (?, ?) THEN 1 ELSE 0 END
   WHERE id IN (?, ?)`,
  sums: [0, 1, 2],
}
const VIOLATES = { 'charges.request': 'CHARGE_EXISTS', charges_pkey: 'CHARGE_EXISTS' }

/** Held and settled in one. Rejects with CHARGE_EXISTS, or SHARE_GONE when the process was taken for dead: what it took
 *  in memory has gone back. */
export const chargeAtOnce = (
  hold: Hold,
  settlement: Omit<Settlement, 'request'>,
): readonly Statement[] => {
  const { amount } = settlement
  const account = walletOf.account(hold.account)
  const key = hold.key === undefined ? account : walletOf.key(hold.key)
  // A key without a quota of its own only counts.
  const held = hold.keyHeld ? key : account
  return [
    rowOf(hold, settlement),
    { sql: SPENT, values: [amount, hold.process, account, held] },
    { sql: PAID, values: [amount, amount, amount, account, held, account, key] },
  ]
}
const rowOf = (hold: Hold, settlement: Omit<Settlement, 'request'>): Statement => ({
  sql: AT_ONCE,
  values: [
    hold.request,
    hold.account,
    hold.key ?? null,
    hold.route,
    hold.model,
    hold.version,
    hold.rule,
    hold.held,
    hold.opened,
    settlement.amount,
    settlement.uncollected,
    settlement.estimated ? 1 : 0,
    settlement.usage,
    settlement.lines,
    settlement.closed,
    hold.keyHeld ? 1 : 0,
    hold.process,
  ],
  rows: 1,
  otherwise: 'SHARE_GONE',
  violates: VIOLATES,
  locks: settlement.wallets.map(lockOf),
  once: true,
})
