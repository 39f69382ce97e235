/** Numbered migrations per owner, forward only. The writer runs one request at a time, so two that arrive at once meet in order. */
import { createHash } from 'node:crypto'
import type { Migration } from '../../plugin.ts'
import type { Sqlite } from './sqlite.ts'

const OWN = `
  CREATE TABLE IF NOT EXISTS tollgate_migrations (owner TEXT NOT NULL, number BIGINT NOT NULL, digest TEXT NOT NULL,
    at BIGINT NOT NULL, PRIMARY KEY (owner, number));
  CREATE TABLE IF NOT EXISTS tollgate_lists (client TEXT NOT NULL, number BIGINT NOT NULL, rows TEXT,
    PRIMARY KEY (client, number)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tollgate_wills (client TEXT NOT NULL, name TEXT NOT NULL, statements TEXT NOT NULL,
    PRIMARY KEY (client, name)) WITHOUT ROWID;`
const APPLIED = 'SELECT number, digest FROM tollgate_migrations WHERE owner = ?'
const NOTE = 'INSERT INTO tollgate_migrations (owner, number, digest, at) VALUES (?, ?, ?, ?)'

/** The store's own tables. */
export const prepareStore = (store: Sqlite): void => store.connection.exec(OWN)

/** Runs what is new of an owner's. Throws a sentence that names the one that failed; those before it stay. */
export const migrate = (
  store: Sqlite,
  owner: string,
  migrations: readonly Migration[],
  now: number,
): void => {
  const { rows } = store.run(APPLIED, [owner])
  const applied = new Map(rows.map(row => [Number(row.number), String(row.digest)]))
  for (const [index, migration] of migrations.entries()) {
    const { number } = migration
    try {
      if (number !== index + 1) throw new Error(`number ${index + 1} was expected here`)
      if (!isApplied(applied.get(number), migration)) apply(store, owner, migration, now)
    } catch (error) {
      throw new Error(`Migration ${number} of "${owner}" failed: ${(error as Error).message}`)
    }
  }
}

const isApplied = (before: string | undefined, { text }: Migration): boolean => {
  if (before === undefined || before === digest(text)) return before !== undefined
  throw new Error('it was changed after it had been applied; add a new number')
}
const apply = (store: Sqlite, owner: string, { number, text }: Migration, now: number): void => {
  const { connection } = store
  connection.exec('BEGIN IMMEDIATE')
  try {
    connection.exec(text)
    if (!connection.isTransaction) throw new Error('it must not end its transaction')
    store.run(NOTE, [owner, number, digest(text), now])
    connection.exec('COMMIT')
  } finally {
    if (connection.isTransaction) connection.exec('ROLLBACK')
  }
}
// A formatter may indent it anew; that changes nothing.
const digest = (text: string): string =>
  createHash('sha256').update(text.replace(/\s+/g, ' ').trim()).digest('hex')
