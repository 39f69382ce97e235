/** A call in one row: of an answer that is known whole before its first byte leaves, nobody needs to see the hold. */
import type { Sql, Statement } from '../../engine/plugin.ts'
import { PROCESSES_TABLE, whileRegistered } from '../../engine/store/registered.ts'
import { type Hold, lockOf, SERIAL_NOW, type Settlement } from './statements.ts'
import { walletOf } from './wallet.ts'

const COLUMNS = `request, account, key, route, model, version, rule, state, held, opened,
     amount, uncollected, estimated, usage, lines, closed, key_held, serial, process`
// No rule: its prices stand in the lines, and nobody will have to price this call once more.
const VALUES = `?, ?, ?, ?, ?, ?, '', 'settled', ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS BIGINT), ${SERIAL_NOW}`
const OF_THE_LIVING = `INSERT INTO charges (${COLUMNS}) SELECT ${VALUES}, id FROM ${PROCESSES_TABLE} WHERE id = ?`
/** Nothing was taken from a share, so that only the process itself can say that it lives. */
const FOR_NOTHING = whileRegistered('ledger: at once for nothing', OF_THE_LIVING)
/** A burial takes the shares of its process away: that one is left is asked once for all that one commit charges (`SPENT`).
 *  Where many write at once, the process is locked as well. */
const AT_ONCE: Sql = {
  name: 'ledger: at once',
  text: `INSERT INTO charges (${COLUMNS}) VALUES (${VALUES}, ?)`,
}

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
    {
      sql: SPENT,
      values: [amount, hold.process, account, held],
      ...(hold.held > 0n && { rows: 'some' as const, otherwise: 'SHARE_GONE' }),
    },
    { sql: PAID, values: [amount, amount, amount, account, held, account, key] },
  ]
}
const rowOf = (hold: Hold, settlement: Omit<Settlement, 'request'>): Statement => ({
  sql: hold.held > 0n ? AT_ONCE : FOR_NOTHING,
  values: [
    hold.request,
    hold.account,
    hold.key ?? null,
    hold.route,
    hold.model,
    hold.version,
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
