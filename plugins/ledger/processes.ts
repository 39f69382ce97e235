/** Statements that release what a crashed process held, for the list that reaps it. */
import type { Sql, Statement } from '../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

const RELEASE_ALL = sql(
  'release all',
  "UPDATE charges SET state = 'released', closed = ? WHERE process = ? AND state = 'open'",
)
/** A stream with a checkpoint is charged before its process is reaped: reaping would release it. */
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

/** Releases open charges and returns leases. Rejects with CHARGES_NOTED: see `settleCheckpoints`. */
export const giveAllBack = (process: string, now: number): readonly Statement[] => [
  { sql: NONE_NOTED, values: [process], rows: 0, otherwise: 'CHARGES_NOTED' },
  { sql: RELEASE_ALL, values: [now, process] },
  { sql: UNRESERVE_ALL, values: [process, process] },
  { sql: DROP_SHARES, values: [process] },
]
