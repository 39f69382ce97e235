/** Numbered migrations per owner, forward only. The writer runs one request at a time, so two that arrive at once meet in order. */
import { createHash } from 'node:crypto'
import type { Migration } from '../plugin.ts'
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

export class MigrationError extends Error {
  readonly number: number
  constructor(number: number, message: string) {
    super(message)
    this.number = number
  }
}

/** The store's own tables. */
export const prepareStore = (store: Sqlite): void => store.connection.exec(OWN)

/** What is still to be run. Numbers count 1, 2, 3 …; what was applied once must not change. */
export const pending = (
  applied: ReadonlyMap<number, string>,
  migrations: readonly Migration[],
): readonly Migration[] =>
  migrations.filter(({ number, text }, index) => {
    if (number !== index + 1)
      throw new MigrationError(number, `number ${index + 1} was expected here`)
    const before = applied.get(number)
    if (before === undefined) return true
    if (before === digest(text)) return false
    throw new MigrationError(number, 'it was changed after it had been applied; add a new number')
  })

export const migrate = (
  store: Sqlite,
  owner: string,
  migrations: readonly Migration[],
  now: number,
): void => {
  const { rows } = store.run(APPLIED, [owner])
  const applied = new Map(rows.map(row => [Number(row.number), String(row.digest)]))
  for (const migration of pending(applied, migrations)) apply(store, owner, migration, now)
}

const apply = (store: Sqlite, owner: string, { number, text }: Migration, now: number): void => {
  const { connection } = store
  connection.exec('BEGIN IMMEDIATE')
  try {
    connection.exec(text)
    if (!connection.isTransaction) throw new Error('it must not end its transaction')
    store.run(NOTE, [owner, number, digest(text), now])
    connection.exec('COMMIT')
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK')
    throw new MigrationError(number, (error as Error).message)
  }
}
// A formatter may indent it anew; that changes nothing.
const digest = (text: string): string =>
  createHash('sha256').update(text.replace(/\s+/g, ' ').trim()).digest('hex')
