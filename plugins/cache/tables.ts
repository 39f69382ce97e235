/** Answers in the store, and a number that changes when some are removed. Times in ms since
 *  1970. */
import type { Migration, Row, Sql, Statement } from '../../engine/plugin.ts'
import type { Entry } from './entry.ts'
import { LEADERS } from './leader-tables.ts'

const TABLES = `
  CREATE TABLE cached_answers (
    id TEXT PRIMARY KEY,
    account BIGINT NOT NULL,
    model TEXT NOT NULL,
    request TEXT NOT NULL,
    at BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    answer TEXT NOT NULL);
  CREATE INDEX cached_answers_at ON cached_answers (at);
  CREATE TABLE cache_purges (id BIGINT PRIMARY KEY, purges BIGINT NOT NULL);
  INSERT INTO cache_purges (id, purges) VALUES (1, 0)`
export const migrations: readonly Migration[] = [{ number: 1, text: TABLES }, LEADERS]

export const FIND: Sql = {
  name: 'cache: find',
  text: 'SELECT request, at, answer FROM cached_answers WHERE id = ? AND expires > ?',
}
export const entryOf = ({ request, at, answer }: Row): Entry => ({
  request: String(request),
  at: Number(at),
  text: String(answer),
})

export interface StoredEntry extends Entry {
  readonly id: string
  readonly account: number
  readonly model: string
  readonly expires: number
}
const ADD: Sql = {
  name: 'cache: add',
  text: `INSERT INTO cached_answers (id, account, model, request, at, expires, bytes, answer)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET request = excluded.request, at = excluded.at,
      expires = excluded.expires, bytes = excluded.bytes, answer = excluded.answer`,
}
export const addEntry = (entry: StoredEntry): Statement => ({
  sql: ADD,
  values: [
    entry.id,
    entry.account,
    entry.model,
    entry.request,
    entry.at,
    entry.expires,
    Buffer.byteLength(entry.text),
    entry.text,
  ],
})

const EXPIRE: Sql = {
  name: 'cache: remove expired',
  text: `DELETE FROM cached_answers WHERE id IN
    (SELECT id FROM cached_answers WHERE expires <= ? ORDER BY id LIMIT ?)`,
}
export const removeExpired = (now: number, page: number): Statement => ({
  sql: EXPIRE,
  values: [now, page],
})
export const SIZE: Sql = {
  name: 'cache: size',
  text: 'SELECT coalesce(SUM(bytes), 0) AS bytes, COUNT(*) AS answers FROM cached_answers',
}
export const OLDEST: Sql = {
  name: 'cache: oldest',
  text: 'SELECT at, bytes FROM cached_answers ORDER BY at LIMIT ?',
}
const REMOVE_UNTIL: Sql = {
  name: 'cache: remove until',
  text: 'DELETE FROM cached_answers WHERE at <= ?',
}
export const removeUntil = (at: number): Statement => ({ sql: REMOVE_UNTIL, values: [at] })

export const PURGES: Sql = { name: 'cache: purges', text: 'SELECT purges FROM cache_purges' }
const PURGE: Sql = {
  name: 'cache: purge',
  text: `DELETE FROM cached_answers WHERE account = coalesce(CAST(? AS BIGINT), account)
    AND model = coalesce(CAST(? AS TEXT), model) RETURNING id`,
}
const COUNT_PURGE: Sql = {
  name: 'cache: count purge',
  text: 'UPDATE cache_purges SET purges = purges + 1',
}
/** The first returns the removed answers. */
export const purge = (account: number | null, model: string | null): readonly Statement[] => [
  { sql: PURGE, values: [account, model] },
  { sql: COUNT_PURGE, values: [] },
]
