/** Random secrets of an installation, made at first use: every process reads the same. */
import { randomBytes } from 'node:crypto'
import type { Bytes, Database, Migration, Sql } from '../plugin.ts'

export const SECRETS_TABLE: readonly Migration[] = [
  {
    number: 1,
    text: 'CREATE TABLE tollgate_secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL)',
  },
]
const READ: Sql = {
  name: 'secrets: read',
  text: 'SELECT value FROM tollgate_secrets WHERE name = ?',
}
const MAKE: Sql = {
  name: 'secrets: make',
  text: 'INSERT INTO tollgate_secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING',
}
const BYTES = 32

/** Of two processes that make one at once, the first wins, and both read it. */
export const readSecret = async (
  database: Pick<Database, 'read' | 'write'>,
  name: string,
): Promise<Bytes> => {
  const read = async (): Promise<string | undefined> => {
    const [row] = await database.read(READ, [name])
    return row && String(row.value)
  }
  const stored = await read()
  if (stored !== undefined) return Buffer.from(stored, 'base64')
  const secret = randomBytes(BYTES)
  await database.write([{ sql: MAKE, values: [name, secret.toString('base64')] }])
  // The store of a trial discards writes.
  return Buffer.from((await read()) ?? secret.toString('base64'), 'base64')
}
