/** Minimal accounting of a proxy: one row per request, written behind the reply, many rows in one
 *  fsynced commit. */
import { DatabaseSync } from 'node:sqlite'

/** ms that rows wait for one commit. */
const GATHER = 5
type Row = readonly (string | number)[]

export const openRows = (file: string) => {
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE log (
    id INTEGER PRIMARY KEY, ts INTEGER, key_hash TEXT, model TEXT, provider TEXT, status INTEGER, pt INTEGER, ct INTEGER,
    cost REAL, dur_us INTEGER, rid TEXT)`)
  const insert = database.prepare(
    `INSERT INTO log (ts, key_hash, model, provider, status, pt, ct, cost, dur_us, rid)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  let pendingRows: Row[] = []
  const flush = (): void => {
    const rows = pendingRows
    pendingRows = []
    database.exec('BEGIN')
    for (const row of rows) insert.run(...row)
    database.exec('COMMIT')
  }
  return {
    add(id: string, input: number, output: number): void {
      if (pendingRows.length === 0) setTimeout(flush, GATHER)
      const cost = input * 0.15e-6 + output * 0.6e-6
      const origin = ['k_0123456789abcdef', 'bench-plain', 'openai'] as const
      pendingRows.push([Date.now(), ...origin, 200, input, output, cost, 1_000, id])
    },
  }
}
