/** SQL statements of counters that several machines share. Pure. */
import type { Migration, Sql, Statement } from '../plugin.ts'
import { PROCESSES_TABLE } from '../store/while-registered.ts'

/** `began` and `ends` by the store's clock. A window row holds its used units; the units of a held
 *  supply are the sum of its slices, and its row only serialises machines. `short`: time of the
 *  last refusal. */
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
/** Prefix of machine names in the table of processes. */
export const MACHINE_PREFIX = 'm_'

const sql = (name: string, text: string): Sql => ({
  name: `allowance: ${name}`,
  text: text.replaceAll('NOW', "CAST(unixepoch('subsec') * 1000 AS INTEGER)"),
  postgres: text.replaceAll('NOW', 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)'),
})
const MACHINES = `(SELECT count(*) FROM ${PROCESSES_TABLE} WHERE id LIKE '${MACHINE_PREFIX}%')`
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
// The requested amount plus half of a fair share of the rest: large slices far from the limit,
// single units near it.
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
const KEEP_SLICE = sql(
  'keep',
  `INSERT INTO tollgate_slices (process, number, amount)
   SELECT ?, id, granted + ? FROM tollgate_numbers WHERE id = ?
   ON CONFLICT (process, number) DO UPDATE SET amount = tollgate_slices.amount + excluded.amount RETURNING amount`,
)
const RETURN = sql(
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
/** Counters for which a machine was refused since a time. */
export const READ_REFUSALS = sql(
  'short',
  'SELECT id, short FROM tollgate_numbers WHERE short > ? ORDER BY short DESC LIMIT 1000',
)
export const MACHINE_GONE = 'MACHINE_GONE'
/** ms for which the row of a held supply outlives its last lease. */
const HELD_ROW_LIFETIME = 3_600_000

export interface LeaseTerms {
  readonly kind: 'window' | 'held'
  readonly machine: string
  readonly number: string
  readonly limit: bigint
  readonly ms: number
  readonly least: bigint
  /** Units granted beyond the lease of the machine: counted as used in any case. */
  readonly debt: bigint
}
/** Statements that lease units. The TAKE statement returns the state of the counter; for a held
 *  supply the last one returns the slice of the machine. Rejects with MACHINE_GONE. */
export const leaseUnits = (terms: LeaseTerms): readonly Statement[] => {
  const { kind, machine, number, limit, ms, least, debt } = terms
  const values = [limit, debt, least, least, limit, debt, least, number]
  const grant = { sql: GRANT, values, rows: 1 }
  const take = { sql: TAKE, values: [debt, least, number], rows: 1 }
  if (kind === 'window') return [{ sql: BEGIN, values: [number, ms] }, grant, take]
  return [
    { sql: BEGIN, values: [number, HELD_ROW_LIFETIME] },
    { sql: COUNT, values: [HELD_ROW_LIFETIME, number, number] },
    grant,
    take,
    {
      sql: KEEP_SLICE,
      values: [machine, debt, number],
      violates: { slices_process: MACHINE_GONE, 'FOREIGN KEY': MACHINE_GONE },
    },
  ]
}
/** Returns units to a window, unless it has ended. */
export const returnToWindow = (number: string, windowStart: string, amount: bigint): Statement => ({
  sql: RETURN,
  values: [amount, number, BigInt(windowStart)],
})
/** Reduces the held slice of the machine to `amount`. */
export const shrinkSlice = (machine: string, number: string, amount: bigint): Statement => ({
  sql: SHRINK,
  values: [amount, machine, number, amount],
})
export const deleteEnded = (): Statement => ({ sql: CLEAN, values: [] })
