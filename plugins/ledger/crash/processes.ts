/** Statements that release the holds and leases of a crashed process, for the list that reaps
 *  it. */
import type { Sql, Statement } from '../../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

const RELEASE_ALL = sql(
  'release all',
  "UPDATE charges SET state = 'released', closed = ?, reaped = 1 WHERE process = ? AND state = 'open'",
)
/** Fails while the process has a stream with a checkpoint: that is charged first, since reaping
 *  would release it. */
const NO_CHECKPOINTS = sql(
  'no checkpoints',
  "UPDATE charges SET noted = noted WHERE process = ? AND state = 'open' AND noted IS NOT NULL",
)
const UNRESERVE_ALL = sql(
  'unreserve all',
  `UPDATE wallets SET reserved = reserved -
     (SELECT amount FROM shares WHERE shares.wallet = wallets.id AND shares.process = ?)
   WHERE id IN (SELECT wallet FROM shares WHERE process = ?)`,
)
const DROP_LEASES = sql('drop leases', 'DELETE FROM shares WHERE process = ?')

/** Releases open charges and returns leases. Rejects with CHARGES_NOTED while a charge has a
 *  checkpoint: `settleCheckpoints` charges it. */
export const releaseProcess = (process: string, now: number): readonly Statement[] => [
  { sql: NO_CHECKPOINTS, values: [process], rows: 0, otherwise: 'CHARGES_NOTED' },
  { sql: RELEASE_ALL, values: [now, process] },
  { sql: UNRESERVE_ALL, values: [process, process] },
  { sql: DROP_LEASES, values: [process] },
]
