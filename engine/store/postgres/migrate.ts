/** Numbered migrations per owner, forward only, each in a transaction under one lock for the whole
 *  installation. */
import { createHash } from 'node:crypto'
import type { Migration } from '../../plugin.ts'
import { fault } from '../faults.ts'
import { migrationReport, type OnMigration } from '../sqlite/migration-log.ts'
import { translateMigration } from './dialect.ts'
import { refusePooler } from './pooler.ts'
import { Session, type SessionOptions } from './session.ts'

// Number of the advisory lock; arbitrary, but every release must use the same one.
const LOCK = '7164390215508164975'
const OWNER = 'tollgate'
const MIGRATIONS_TABLE = `CREATE TABLE IF NOT EXISTS tollgate_migrations (owner TEXT NOT NULL, number BIGINT NOT NULL,
  digest TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (owner, number))`
/** The store's own tables. A client is one process, by its key; `number` and `outcomes` belong to
 *  its last commit. */
const OWN_MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    text: `CREATE TABLE tollgate_clients (client BIGINT PRIMARY KEY, number BIGINT NOT NULL, outcomes TEXT, gone BIGINT);
      CREATE TABLE tollgate_wills (client BIGINT NOT NULL, name TEXT NOT NULL, statements TEXT NOT NULL,
        PRIMARY KEY (client, name))`,
  },
]

/** Clients without their lock have ended, or are about to connect. Ten minutes after the end of a
 *  client no list can be repeated, and its row is deleted. */
const LOCKED = `SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory'
  AND objsubid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
const CLEAN = `UPDATE tollgate_clients SET gone = ${NOW} WHERE client IN (
    SELECT client FROM tollgate_clients WHERE gone IS NULL AND client NOT IN (${LOCKED}) FOR UPDATE SKIP LOCKED);
  DELETE FROM tollgate_clients WHERE client IN (
    SELECT client FROM tollgate_clients WHERE gone < ${NOW} - 600000 AND client NOT IN (${LOCKED}) FOR UPDATE SKIP LOCKED)`

/** Creates or migrates the store's own tables. Throws STORE_NEWER for a store of a newer program.
 *  */
export const prepareStore = async (
  options: SessionOptions,
  isMoveTarget = false,
): Promise<void> => {
  await refusePooler(options)
  const session = await Session.open(options)
  try {
    if (!isMoveTarget) await refuseUnfinishedMove(session)
    await session.script(
      `BEGIN; SELECT pg_advisory_xact_lock(${LOCK}); ${MIGRATIONS_TABLE}; COMMIT`,
    )
    const digests = await appliedOf(session, OWNER)
    const newest = Math.max(0, ...digests.keys())
    if (newest > OWN_MIGRATIONS.length) throw fault('STORE_NEWER', [newest, OWN_MIGRATIONS.length])
    await run(session, OWNER, OWN_MIGRATIONS)
    await session.script(CLEAN)
  } finally {
    await session.end()
  }
}

/** A gateway must not serve a store that holds a part of the accounts. */
const refuseUnfinishedMove = async (session: Session): Promise<void> => {
  const rows = async (text: string) => {
    const [result] = await session.pipeline([{ text }], Number.POSITIVE_INFINITY)
    return result && 'rows' in result ? result.rows : []
  }
  const [known] = await rows("SELECT to_regclass('tollgate_move') AS name")
  if (known?.name === null) return
  const open = await rows("SELECT 1 AS n FROM tollgate_move WHERE name = '' AND finished IS NULL")
  if (open.length > 0) throw fault('STORE_MOVING')
}

/** Applies the new migrations of an owner. Throws STORE_MIGRATION with the number of the failed
 *  one; those before it stay applied. */
export const migrate = async (
  options: SessionOptions,
  owner: string,
  migrations: readonly Migration[],
  onMigration?: OnMigration,
): Promise<void> => {
  const session = await Session.open(options)
  try {
    await run(session, owner, migrations, onMigration)
  } finally {
    await session.end()
  }
}

const run = async (
  session: Session,
  owner: string,
  migrations: readonly Migration[],
  onMigration?: OnMigration,
): Promise<void> => {
  const digests = await appliedOf(session, owner)
  const report = migrationReport(owner, migrations, digests, onMigration)
  for (const [index, migration] of migrations.entries()) {
    const { number } = migration
    try {
      if (number !== index + 1) throw new Error(`expected number ${index + 1}`)
      if (isApplied(digests.get(number), migration)) continue
      report(migration, false)
      await apply(session, owner, migration).finally(() => report(migration, true))
    } catch (error) {
      const why = (error as Error).message
      throw fault('STORE_MIGRATION', [`Migration ${number} of "${owner}" failed: ${why}`])
    }
  }
}
const appliedOf = async (session: Session, owner: string): Promise<Map<number, string>> => {
  const text = 'SELECT number, digest FROM tollgate_migrations WHERE owner = $1'
  const [result] = await session.pipeline([{ text, values: [owner] }], Number.POSITIVE_INFINITY)
  if (!result || 'error' in result) throw result?.error ?? new Error('no result')
  return new Map(result.rows.map(row => [Number(row.number), String(row.digest)]))
}
const isApplied = (before: string | undefined, migration: Migration): boolean => {
  if (before === undefined || before === digestOf(migration)) return before !== undefined
  throw new Error('its text changed after it was applied; add a migration with a new number')
}
const apply = async (session: Session, owner: string, migration: Migration): Promise<void> => {
  const { number, text, postgres } = migration
  try {
    await session.script(`BEGIN; SELECT pg_advisory_xact_lock(${LOCK})`)
    // Another process may have applied it while this one waited for the lock.
    if (isApplied((await appliedOf(session, owner)).get(number), migration)) return
    await session.script(postgres ?? translateMigration(text))
    if (!session.isInTransaction) throw new Error('a migration must not end its transaction')
    const record =
      'INSERT INTO tollgate_migrations (owner, number, digest, at) VALUES ($1, $2, $3, $4)'
    const values = [owner, number, digestOf(migration), Date.now()]
    const results = await session.pipeline(
      [{ text: record, values }, { text: 'COMMIT' }],
      Number.POSITIVE_INFINITY,
    )
    for (const each of results) if ('error' in each) throw each.error
  } finally {
    if (!session.isLost) await session.script('ROLLBACK').catch(() => {})
  }
}
// White space does not count: a formatter may indent the text differently.
const digestOf = ({ text, postgres = text }: Migration): string =>
  createHash('sha256').update(postgres.replace(/\s+/g, ' ').trim()).digest('hex')
