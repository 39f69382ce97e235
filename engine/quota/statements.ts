/** Numbers that several machines share, as rows of a store: a window's allowance, or what may be held at once, in slices. Pure. */
import type { Migration, Sql, Statement } from '../plugin.ts'
import { PROCESSES_TABLE } from '../store/registered.ts'

/** `began` and `ends` by the store's clock. A window lives as long as it says; what is held is the sum of its slices, and its
 *  row is only where machines meet. `short`: when a machine was last refused. */
export const LEASE_TABLES: readonly Migration[] = [
  {
    number: 1,
    text: `CREATE TABLE tollgate_numbers (id TEXT PRIMARY KEY, began BIGINT NOT NULL, ends BIGINT NOT NULL,
      taken BIGINT NOT NULL DEFAULT 0, granted BIGINT NOT NULL DEFAULT 0, short BIGINT NOT NULL DEFAULT 0);
    CREATE INDEX tollgate_numbers_short ON tollgate_numbers (short) WHERE short > 0;
    CREATE INDEX tollgate_numbers_ends ON tollgate_numbers (ends);
    CREATE TABLE tollgate_slices (
      process TEXT NOT NULL CONSTRAINT slices_process REFERENCES ${PROCESSES_TABLE} (id) ON DELETE CASCADE,
      number TEXT NOT NULL, amount BIGINT NOT NULL CHECK (amount >= 0), PRIMARY KEY (process, number));
    CREATE INDEX tollgate_slices_number ON tollgate_slices (number)`,
  },
]
/** Machines stand among the processes under names of their own. */
export const MACHINE = 'm_'

const sql = (name: string, text: string): Sql => ({
  name: `allowance: ${name}`,
  text: text.replaceAll('NOW', "CAST(unixepoch('subsec') * 1000 AS INTEGER)"),
  postgres: text.replaceAll('NOW', 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)'),
})
const MACHINES = `(SELECT count(*) FROM ${PROCESSES_TABLE} WHERE id LIKE '${MACHINE}%')`
const BEGIN = sql(
  'begin',
  `INSERT INTO tollgate_numbers (id, began, ends) VALUES (?, NOW, NOW + ?)
   ON CONFLICT (id) DO UPDATE SET began = excluded.began, ends = excluded.ends, taken = 0
   WHERE tollgate_numbers.ends <= excluded.began`,
)
const COUNT = sql(
  'count',
  `UPDATE tollgate_numbers SET ends = NOW + ?,
     taken = (SELECT coalesce(sum(amount), 0) FROM tollgate_slices WHERE number = ?) WHERE id = ?`,
)
// What is asked for, and half of a fair share of the rest: large slices far from the limit, single units near it.
const GRANT = sql(
  'grant',
  `UPDATE tollgate_numbers SET granted = CASE WHEN ? - taken - ? >= ?
     THEN ? + (? - taken - ? - ?) / (2 * max(1, ${MACHINES})) ELSE 0 END WHERE id = ?`,
)
const TAKE = sql(
  'take',
  `UPDATE tollgate_numbers SET taken = taken + granted + ?, short = CASE WHEN granted < ? THEN NOW ELSE short END
   WHERE id = ? RETURNING granted, taken, began, ends - NOW AS ms, ${MACHINES} AS machines`,
)
const KEEP = sql(
  'keep',
  `INSERT INTO tollgate_slices (process, number, amount)
   SELECT ?, id, granted + ? FROM tollgate_numbers WHERE id = ?
   ON CONFLICT (process, number) DO UPDATE SET amount = tollgate_slices.amount + excluded.amount RETURNING amount`,
)
const UNTAKE = sql(
  'untake',
  'UPDATE tollgate_numbers SET taken = taken - ? WHERE id = ? AND began = ?',
)
const SHRINK = sql(
  'shrink',
  'UPDATE tollgate_slices SET amount = ? WHERE process = ? AND number = ? AND amount > ?',
)
const CLEAN = sql(
  'clean',
  `DELETE FROM tollgate_numbers WHERE ends < NOW - 60000 AND id IN (SELECT id FROM tollgate_numbers
   WHERE ends < NOW - 60000 AND NOT EXISTS (SELECT 1 FROM tollgate_slices s WHERE s.number = tollgate_numbers.id AND s.amount > 0)
   ORDER BY ends LIMIT 500)`,
)
/** Numbers of which somebody was refused since. */
export const SHORT = sql(
  'short',
  'SELECT id, short FROM tollgate_numbers WHERE short > ? ORDER BY short DESC LIMIT 1000',
)
export const MACHINE_GONE = 'MACHINE_GONE'
/** ms for which the row of what is held outlives its last lease. */
const MEETING = 3_600_000

export interface Wanted {
  readonly kind: 'window' | 'held'
  readonly machine: string
  readonly number: string
  readonly limit: bigint
  readonly ms: number
  readonly least: bigint
  /** What the machine has given out beyond its slices: taken whatever is left. */
  readonly debt: bigint
}
/** The last statement but, of what is held, one returns what the number is now; the very last what the machine's slice is. Rejects
 *  with MACHINE_GONE. */
export const lease = (wanted: Wanted): readonly Statement[] => {
  const { kind, machine, number, limit, ms, least, debt } = wanted
  const values = [limit, debt, least, least, limit, debt, least, number]
  const grant = { sql: GRANT, values, rows: 1 }
  const take = { sql: TAKE, values: [debt, least, number], rows: 1 }
  if (kind === 'window') return [{ sql: BEGIN, values: [number, ms] }, grant, take]
  return [
    { sql: BEGIN, values: [number, MEETING] },
    { sql: COUNT, values: [MEETING, number, number] },
    grant,
    take,
    {
      sql: KEEP,
      values: [machine, debt, number],
      violates: { slices_process: MACHINE_GONE, 'FOREIGN KEY': MACHINE_GONE },
    },
  ]
}
/** Of a window, as long as it is that one. */
export const giveBack = (number: string, began: string, amount: bigint): Statement => ({
  sql: UNTAKE,
  values: [amount, number, BigInt(began)],
})
/** The machine holds so much of it at most. */
export const keepOnly = (machine: string, number: string, amount: bigint): Statement => ({
  sql: SHRINK,
  values: [amount, machine, number, amount],
})
export const clean = (): Statement => ({ sql: CLEAN, values: [] })
