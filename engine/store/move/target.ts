/** A PostgreSQL database as the target of a move. The table `tollgate_move` keeps the position of
 *  each table in the transaction of its rows, so that an interrupted move goes on where it was. */
import { fault } from '../faults.ts'
import { refusePooler } from '../postgres/pooler.ts'
import { type Query, type QueryResult, Session } from '../postgres/session.ts'
import { type Batch, quote, type SourceTable } from './source.ts'

export interface TargetTable {
  readonly name: string
  /** Column -> type, without generated columns. */
  readonly columns: ReadonlyMap<string, string>
  /** Tables that its foreign keys refer to. */
  readonly parents: readonly string[]
}
export interface Target {
  /** Rows of `tollgate_move`: table -> position. */
  positions(): Promise<ReadonlyMap<string, bigint>>
  tables(): Promise<ReadonlyMap<string, TargetTable>>
  migrations(): Promise<ReadonlySet<string>>
  /** Removes rows that migrations inserted, before the first batch. */
  begin(table: TargetTable): Promise<void>
  append(table: TargetTable, source: SourceTable, batch: Batch): Promise<void>
  query(text: string): Promise<Record<string, unknown>>
  finish(): Promise<void>
  close(): Promise<void>
}

/** Arbitrary, and the same in every release. */
const LOCK = '7164390215508164976'
const WHOLE = ''
const CREATE = `CREATE TABLE IF NOT EXISTS tollgate_move
  (name TEXT PRIMARY KEY, position BIGINT NOT NULL, source TEXT, finished BIGINT)`
const OTHER_TABLES = `SELECT count(*) AS number FROM pg_catalog.pg_tables
  WHERE schemaname = current_schema() AND tablename <> 'tollgate_move'`
const COLUMNS = `SELECT c.relname AS name, a.attname AS column, format_type(a.atttypid, a.atttypmod) AS type
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
    AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY c.relname, a.attnum`
const PARENTS = `SELECT c.relname AS name, p.relname AS parent FROM pg_constraint k
  JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class p ON p.oid = k.confrelid
  WHERE k.contype = 'f' AND c.relnamespace = current_schema()::regnamespace AND p.oid <> c.oid`

/** Connects, and refuses a database that holds anything but an unfinished move of `source`. */
export const openTarget = async (url: string, source: string): Promise<Target> => {
  const options = { url, within: 10_000 }
  await refusePooler(options)
  const session = await Session.open(options)
  try {
    await reserve(session, source)
  } catch (error) {
    await session.end()
    throw error
  }
  return targetOver(session)
}

const reserve = async (session: Session, source: string): Promise<void> => {
  const [lock] = await rowsOf(session, `SELECT pg_try_advisory_lock(${LOCK}) AS free`)
  if (!isTrue(lock?.free)) throw fault('MOVE_RUNNING')
  const [known] = await rowsOf(session, "SELECT to_regclass('tollgate_move') AS name")
  if (known?.name === null) {
    const [others] = await rowsOf(session, OTHER_TABLES)
    if (Number(others?.number) > 0) throw fault('MOVE_TARGET', [Number(others?.number)])
  }
  await session.script(CREATE)
  const begin = 'INSERT INTO tollgate_move VALUES ($1, 0, $2, NULL) ON CONFLICT DO NOTHING'
  await run(session, [{ text: begin, values: [WHOLE, source] }])
  const [whole] = await rowsOf(
    session,
    "SELECT source, finished FROM tollgate_move WHERE name = ''",
  )
  if (whole?.source !== source) throw fault('MOVE_SOURCE', [whole?.source])
  if (whole.finished !== null)
    throw fault('MOVE_FINISHED', [new Date(Number(whole.finished)).toISOString()])
}
const isTrue = (value: unknown): boolean => value === true || value === 1 || value === 't'

const targetOver = (session: Session): Target => ({
  async positions() {
    const rows = await rowsOf(session, "SELECT name, position FROM tollgate_move WHERE name <> ''")
    return new Map(rows.map(({ name, position }) => [String(name), BigInt(String(position))]))
  },
  async tables() {
    const [columns, parents] = [await rowsOf(session, COLUMNS), await rowsOf(session, PARENTS)]
    const byName = Map.groupBy(columns, ({ name }) => String(name))
    return new Map(
      [...byName].map(([name, list]) => [
        name,
        {
          name,
          columns: new Map(list.map(({ column, type }) => [String(column), String(type)])),
          parents: parents.filter(each => each.name === name).map(({ parent }) => String(parent)),
        },
      ]),
    )
  },
  async migrations() {
    const rows = await rowsOf(session, 'SELECT owner, number FROM tollgate_migrations')
    return new Set(rows.map(({ owner, number }) => `${owner} ${number}`))
  },
  async begin({ name }) {
    const start = 'INSERT INTO tollgate_move VALUES ($1, 0, NULL, NULL)'
    const steps = [{ text: `DELETE FROM ${quote(name)}` }, { text: start, values: [name] }]
    await transaction(session, steps)
  },
  append: (table, source, batch) => appendBatch(session, table, source, batch),
  query: async text => (await rowsOf(session, text))[0] ?? {},
  async finish() {
    const end = "UPDATE tollgate_move SET finished = $1 WHERE name = ''"
    await run(session, [{ text: end, values: [Date.now()] }, { text: 'ANALYZE' }])
  },
  close: () => session.end(),
})

/** Triggers keep sums while a gateway runs; rows that are copied have been counted already. */
const appendBatch = async (
  session: Session,
  { name, columns }: TargetTable,
  source: SourceTable,
  batch: Batch,
): Promise<void> => {
  const arrays = source.columns.map((column, index) => `$${index + 1}::${columns.get(column)}[]`)
  const insert = `INSERT INTO ${quote(name)} (${source.columns.map(quote).join(', ')})
    SELECT * FROM unnest(${arrays.join(', ')})`
  const advance = 'UPDATE tollgate_move SET position = $2 WHERE name = $1'
  await transaction(session, [
    { text: `ALTER TABLE ${quote(name)} DISABLE TRIGGER USER` },
    { text: insert, values: batch.columns },
    { text: `ALTER TABLE ${quote(name)} ENABLE TRIGGER USER` },
    { text: advance, values: [name, batch.position] },
  ])
}

const transaction = async (session: Session, steps: readonly Query[]): Promise<void> => {
  await run(session, [{ text: 'BEGIN' }])
  try {
    await run(session, steps)
    await run(session, [{ text: 'COMMIT' }])
  } finally {
    if (!session.isLost && session.isInTransaction) await session.script('ROLLBACK')
  }
}
const run = async (session: Session, steps: readonly Query[]): Promise<readonly QueryResult[]> => {
  const results = await session.pipeline(steps, Number.POSITIVE_INFINITY)
  for (const result of results) if ('error' in result) throw result.error
  return results
}
const rowsOf = async (session: Session, text: string) => {
  const [result] = await run(session, [{ text }])
  return result && 'rows' in result ? result.rows : []
}
