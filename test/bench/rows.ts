/** What a proxy does that keeps books and nothing else: a row a request, many in one fsynced commit, behind the reply. */
import { DatabaseSync } from 'node:sqlite'

/** ms that rows gather. */
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
  let gathered: Row[] = []
  const flush = (): void => {
    const rows = gathered
    gathered = []
    database.exec('BEGIN')
    for (const row of rows) insert.run(...row)
    database.exec('COMMIT')
  }
  return {
    add(id: string, input: number, output: number): void {
      if (gathered.length === 0) setTimeout(flush, GATHER)
      const cost = input * 0.15e-6 + output * 0.6e-6
      const who = ['k_0123456789abcdef', 'bench-plain', 'openai'] as const
      gathered.push([Date.now(), ...who, 200, input, output, cost, 1_000, id])
    },
  }
}
