/** What of anyone's money goes back with a process that is dead, in the list that buries it. */
import type { Sql, Statement } from '../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

const RELEASE_ALL = sql(
  'release all',
  "UPDATE charges SET state = 'released', closed = ? WHERE process = ? AND state = 'open'",
)
/** A stream that was noted is charged before its process is buried: with it gone nothing would be left to be charged. */
const NONE_NOTED = sql(
  'none noted',
  "UPDATE charges SET noted = noted WHERE process = ? AND state = 'open' AND noted IS NOT NULL",
)
const UNRESERVE_ALL = sql(
  'unreserve all',
  `UPDATE wallets SET reserved = reserved -
     (SELECT amount FROM shares WHERE shares.wallet = wallets.id AND shares.process = ?)
   WHERE id IN (SELECT wallet FROM shares WHERE process = ?)`,
)
const DROP_SHARES = sql('drop shares', 'DELETE FROM shares WHERE process = ?')

/** Its open charges are released, its shares are everybody's again. Rejects with CHARGES_NOTED: see `settleNoted`. */
export const giveAllBack = (process: string, now: number): readonly Statement[] => [
  { sql: NONE_NOTED, values: [process], rows: 0, otherwise: 'CHARGES_NOTED' },
  { sql: RELEASE_ALL, values: [now, process] },
  { sql: UNRESERVE_ALL, values: [process, process] },
  { sql: DROP_SHARES, values: [process] },
]
