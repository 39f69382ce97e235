/** Numbered migrations per owner, forward only. The writer runs one request at a time, so
 *  concurrent migrations run in order. */
import { createHash } from 'node:crypto'
import type { Migration } from '../../plugin.ts'
import { migrationReport, type OnMigration } from './migration-log.ts'
import type { Sqlite } from './sqlite.ts'

const OWN_TABLES = `
  CREATE TABLE IF NOT EXISTS tollgate_migrations (owner TEXT NOT NULL, number BIGINT NOT NULL, digest TEXT NOT NULL,
    at BIGINT NOT NULL, PRIMARY KEY (owner, number));
  CREATE TABLE IF NOT EXISTS tollgate_lists (client TEXT NOT NULL, number BIGINT NOT NULL, rows TEXT,
    PRIMARY KEY (client, number)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tollgate_wills (client TEXT NOT NULL, name TEXT NOT NULL, statements TEXT NOT NULL,
    PRIMARY KEY (client, name)) WITHOUT ROWID;`
const APPLIED = 'SELECT number, digest FROM tollgate_migrations WHERE owner = ?'
const RECORD = 'INSERT INTO tollgate_migrations (owner, number, digest, at) VALUES (?, ?, ?, ?)'

/** Creates the store's own tables. */
export const prepareStore = (store: Sqlite): void => store.connection.exec(OWN_TABLES)

/** Applies the new migrations of an owner. Throws an error that names the failed one; those before
 *  it stay applied. */
export const migrate = (
  store: Sqlite,
  owner: string,
  migrations: readonly Migration[],
  now: number,
  onMigration?: OnMigration,
): void => {
  const { rows } = store.run(APPLIED, [owner])
  const digests = new Map(rows.map(row => [Number(row.number), String(row.digest)]))
  const report = migrationReport(owner, migrations, digests, onMigration)
  for (const [index, migration] of migrations.entries()) {
    const { number } = migration
    try {
      if (number !== index + 1) throw new Error(`expected number ${index + 1}`)
      if (isApplied(digests.get(number), migration)) continue
      report(migration, false)
      try {
        apply(store, owner, migration, now)
      } finally {
        report(migration, true)
      }
    } catch (error) {
      throw new Error(`Migration ${number} of "${owner}" failed: ${(error as Error).message}`)
    }
  }
}

const isApplied = (before: string | undefined, { text }: Migration): boolean => {
  if (before === undefined || before === digest(text)) return before !== undefined
  throw new Error('its text changed after it was applied; add a migration with a new number')
}
const apply = (store: Sqlite, owner: string, { number, text }: Migration, now: number): void => {
  const { connection } = store
  connection.exec('BEGIN IMMEDIATE')
  try {
    connection.exec(text)
    if (!connection.isTransaction) throw new Error('a migration must not end its transaction')
    store.run(RECORD, [owner, number, digest(text), now])
    connection.exec('COMMIT')
  } finally {
    if (connection.isTransaction) connection.exec('ROLLBACK')
  }
}
// White space does not count: a formatter may indent the text differently.
const digest = (text: string): string =>
  createHash('sha256').update(text.replace(/\s+/g, ' ').trim()).digest('hex')
