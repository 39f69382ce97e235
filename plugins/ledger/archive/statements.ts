/** The statements that move charges from the ledger to archive files. Their sums stay: by account
 *  for the balance, by day, and in `usage_days`. */
import { createHash } from 'node:crypto'
import { DURATIONS } from '../../../engine/kit.ts'
import type { Database, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { plannedInSql } from '../plans/part.ts'

const sql = (name: string, text: string): Sql => ({ name: `archive: ${name}`, text })

/** The columns of a line of a file; `held`, `amount`, `uncollected` and `plan_held` are nanos,
 *  `tokens_held` and `tokens` those of budgets in tokens. */
export const COLUMNS = [
  'request',
  'opened',
  'account',
  'key',
  'process',
  'route',
  'model',
  'version',
  'state',
  'held',
  'amount',
  'uncollected',
  'estimated',
  'usage',
  'lines',
  'closed',
  'task',
  'attributes',
  'key_held',
  'serial',
  'served',
  'budgets',
  'plan',
  'plan_held',
  'plan_tokens',
  'tokens_held',
  'tokens',
  'member',
] as const

// ---------------------------------------------------------------- files

/** Closed charges that were opened and closed before an instant, oldest first. Parameters: the
 *  opening time to start from, the instant twice, the same opening time, the request to start
 *  after, row count. */
export const OLD_CHARGES = sql(
  'old charges',
  `SELECT ${COLUMNS.join(', ')} FROM charges
   WHERE opened >= ? AND opened < ? AND closed < ? AND state <> 'open' AND (opened > ? OR request > ?)
   ORDER BY opened, request LIMIT ?`,
)
/** The file that an earlier run has not finished. */
export const UNFINISHED = sql(
  'unfinished',
  `SELECT id, digest, removed FROM archives
   WHERE digest IS NULL OR removed < charges ORDER BY id LIMIT 1`,
)
export const FILES = sql(
  'files',
  'SELECT id, file, digest, charges, amount, removed, at FROM archives WHERE id > ? ORDER BY id LIMIT ?',
)
export const LAST_ID = sql('last id', 'SELECT coalesce(max(id), 0) AS id FROM archives')
const RESERVE = sql('reserve', 'INSERT INTO archives (id, before, owner, at) VALUES (?, ?, ?, ?)')
const TAKE_OVER = sql(
  'take over',
  'UPDATE archives SET owner = ?, before = ? WHERE id = ? AND digest IS NULL',
)
const CANCEL = sql('cancel', 'DELETE FROM archives WHERE id = ? AND owner = ? AND digest IS NULL')
const RECORD = sql(
  'record',
  `UPDATE archives SET file = ?, digest = ?, charges = ?, amount = ?, at = ?
   WHERE id = ? AND owner = ? AND digest IS NULL`,
)
const ONLY_OWNER = { rows: 1, otherwise: 'ARCHIVE_TAKEN' } as const

/** Rejects with ARCHIVE_TAKEN, as the next ones do, if another run has done it. */
export const reserve = (id: number, before: number, owner: string, at: number): Statement => ({
  sql: RESERVE,
  values: [id, before, owner, at],
  violates: { 'archives.id': 'ARCHIVE_TAKEN', archives_pkey: 'ARCHIVE_TAKEN' },
})
export const takeOver = (id: number, before: number, owner: string): Statement => ({
  sql: TAKE_OVER,
  values: [owner, before, id],
  ...ONLY_OWNER,
})
export const cancel = (id: number, owner: string): Statement => ({
  sql: CANCEL,
  values: [id, owner],
})
export interface WrittenFile {
  readonly file: string
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly digest: string
  readonly charges: number
  /** Nanos. */
  readonly amount: bigint
}
export const record = (
  id: number,
  owner: string,
  { file, digest, charges, amount }: WrittenFile,
  at: number,
): Statement => ({
  sql: RECORD,
  values: [file, digest, charges, amount, at, id, owner],
  ...ONLY_OWNER,
})

// ---------------------------------------------------------------- removal

const LIST = 'SELECT value FROM json_each(?)'
const LIST_ON_POSTGRES = 'SELECT json_array_elements_text(CAST(? AS json))'
const overRequests = (name: string, text: (list: string) => string): Sql => ({
  name: `archive: ${name}`,
  text: text(LIST),
  postgres: text(LIST_ON_POSTGRES),
})
const COUNT_REMOVED = sql(
  'count removed',
  'UPDATE archives SET removed = removed + ? WHERE id = ? AND removed = ?',
)
/** The audit orders charges without `serial` in the same way. */
const ADD_AMOUNTS = overRequests(
  'add amounts',
  list => `INSERT INTO archived_charges (account, serial, amount, planned)
   SELECT c.account, coalesce(c.serial, (SELECT min(o.serial) FROM charges o WHERE o.account = c.account),
     (SELECT coalesce(max(id), 0) FROM credits)), sum(c.amount), sum(${plannedInSql('c')})
   FROM charges c WHERE c.request IN (${list}) AND c.state = 'settled' GROUP BY 1, 2
   ON CONFLICT (account, serial) DO UPDATE SET amount = archived_charges.amount + excluded.amount,
     planned = archived_charges.planned + excluded.planned`,
)
const ADD_DAYS = overRequests(
  'add days',
  list => `INSERT INTO archived_days (day, calls, failed, amount, refunded)
   SELECT c.opened / ${DURATIONS.d}, sum(CASE WHEN c.state = 'settled' THEN 1 ELSE 0 END),
     sum(CASE WHEN c.state = 'released' THEN 1 ELSE 0 END), sum(c.amount), coalesce(sum(r.amount), 0)
   FROM charges c LEFT JOIN credits r ON r.request = c.request WHERE c.request IN (${list}) GROUP BY 1
   ON CONFLICT (day) DO UPDATE SET calls = archived_days.calls + excluded.calls,
     failed = archived_days.failed + excluded.failed, amount = archived_days.amount + excluded.amount,
     refunded = archived_days.refunded + excluded.refunded`,
)
const ADD_IDS: Sql = {
  name: 'archive: add ids',
  text: `INSERT INTO archived_ids (id, account, archive)
   SELECT json_extract(e.value, '$[0]'), json_extract(e.value, '$[1]'), CAST(? AS BIGINT) FROM json_each(?) e
   WHERE true ON CONFLICT (id) DO NOTHING`,
  postgres: `INSERT INTO archived_ids (id, account, archive)
   SELECT CAST(e ->> 0 AS BIGINT), CAST(e ->> 1 AS BIGINT), CAST(? AS BIGINT)
   FROM json_array_elements(CAST(? AS json)) e ON CONFLICT (id) DO NOTHING`,
}
const DELETE = overRequests(
  'delete',
  list => `DELETE FROM charges WHERE request IN (${list}) AND state <> 'open'`,
)
/** How many of these requests the ledger has. Parameter: a JSON array. */
export const PRESENT = overRequests(
  'present',
  list => `SELECT count(*) AS number FROM charges WHERE request IN (${list})`,
)

/** Removes charges that a recorded file has. `removed`: those before them. Rejects with
 *  ARCHIVE_TAKEN, or ARCHIVE_CHANGED if the ledger lacks one of them. */
export const remove = (
  archive: number,
  removed: number,
  charges: readonly Row[],
): readonly Statement[] => {
  const requests = JSON.stringify(charges.map(({ request }) => request))
  return [
    { sql: COUNT_REMOVED, values: [charges.length, archive, removed], ...ONLY_OWNER },
    { sql: ADD_AMOUNTS, values: [requests] },
    { sql: ADD_DAYS, values: [requests] },
    { sql: ADD_IDS, values: [archive, idsOf(charges)] },
    { sql: DELETE, values: [requests], rows: charges.length, otherwise: 'ARCHIVE_CHANGED' },
  ]
}
/** A JSON array of the number and the account of each request and task. JSON.stringify knows no
 *  numbers of 64 bits. */
const idsOf = (charges: readonly Row[]): string => {
  const pairs = charges.flatMap(({ request, task, account }) =>
    [request, task].flatMap(id => (id == null ? [] : [`[${numberOf(String(id))},${account}]`])),
  )
  return `[${pairs.join()}]`
}
/** 64 bits of its digest: a tenth of the space of the id. */
const numberOf = (id: string): bigint => createHash('sha256').update(id).digest().readBigInt64BE()

// ---------------------------------------------------------------- lookup

const FIND = sql(
  'find',
  `SELECT i.account, a.file, a.at FROM archived_ids i JOIN archives a ON a.id = i.archive
   WHERE i.id = ?`,
)
/** `at`: ms since 1970. */
export interface ArchivedCharge {
  readonly account: number
  readonly file: string
  readonly at: number
}
/** `id`: of a request or a task. */
export const findArchived = async (
  database: Pick<Database, 'read'>,
  id: string,
): Promise<ArchivedCharge | undefined> => {
  const [row] = await database.read(FIND, [numberOf(id)])
  return row && { account: Number(row.account), file: String(row.file), at: Number(row.at) }
}
