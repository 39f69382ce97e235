/** Pure statements over processes: who is there, and what goes back when one is not. */
import type { Sql, Statement } from '../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `ledger: ${name}`, text })

const HELLO = sql('hello', 'INSERT INTO ledger_processes (id, seen) VALUES (?, ?)')
const ALIVE = sql('alive', 'UPDATE ledger_processes SET seen = ? WHERE id = ?')
const BURY = sql('bury', 'DELETE FROM ledger_processes WHERE id = ? AND seen = ?')
const RELEASE_ALL = sql(
  'release all',
  "UPDATE charges SET state = 'released', closed = ? WHERE process = ? AND state = 'open'",
)
const UNRESERVE_ALL = sql(
  'unreserve all',
  `UPDATE wallets SET reserved = reserved -
     (SELECT amount FROM shares WHERE shares.wallet = wallets.id AND shares.process = ?)
   WHERE id IN (SELECT wallet FROM shares WHERE process = ?)`,
)
const DROP_SHARES = sql('drop shares', 'DELETE FROM shares WHERE process = ?')

export const sayHello = (process: string, now: number): Statement => ({
  sql: HELLO,
  values: [process, now],
})
/** Rejects with SHARE_GONE when the process was taken for dead. */
export const sayAlive = (process: string, now: number): Statement => ({
  sql: ALIVE,
  values: [now, process],
  rows: 1,
  otherwise: 'SHARE_GONE',
})
/** A process that has not been heard of since `seen` is over: what it held of anyone's money goes back. Rejects with
 *  STILL_ALIVE when it was heard of meanwhile, or another buried it. */
export const bury = (process: string, seen: number, now: number): readonly Statement[] => [
  { sql: BURY, values: [process, seen], rows: 1, otherwise: 'STILL_ALIVE' },
  { sql: RELEASE_ALL, values: [now, process] },
  { sql: UNRESERVE_ALL, values: [process, process] },
  { sql: DROP_SHARES, values: [process] },
]
