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
/** Of answers that similar texts may get: the hash of everything beside the text, and the text as
 *  a vector. */
const QUESTIONS: Migration = {
  number: 3,
  text: `
    ALTER TABLE cached_answers ADD COLUMN rest TEXT;
    ALTER TABLE cached_answers ADD COLUMN vector BLOB;
    CREATE INDEX cached_answers_rest ON cached_answers (rest, at) WHERE rest IS NOT NULL`,
}
export const migrations: readonly Migration[] = [{ number: 1, text: TABLES }, LEADERS, QUESTIONS]

export const FIND: Sql = {
  name: 'cache: find',
  text: 'SELECT request, at, answer FROM cached_answers WHERE id = ? AND expires > ?',
}
export const entryOf = ({ request, at, answer }: Row): Entry => ({
  request: String(request),
  at: Number(at),
  text: String(answer),
})

/** The newest answers to texts of requests that are equal in all else. The hash contains the
 *  account, too. */
export const CANDIDATES: Sql = {
  name: 'cache: candidates',
  text: `SELECT id, vector FROM cached_answers
    WHERE rest = ? AND account = ? AND expires > ? AND at >= ? ORDER BY at DESC LIMIT ?`,
}

export interface StoredQuestion {
  readonly rest: string
  readonly vector: Uint8Array
}
export interface StoredEntry extends Entry {
  readonly id: string
  readonly account: number
  readonly model: string
  readonly expires: number
  /** Undefined: similar texts do not get it. */
  readonly question?: StoredQuestion | undefined
}
const ADD: Sql = {
  name: 'cache: add',
  text: `INSERT INTO cached_answers
      (id, account, model, request, at, expires, bytes, answer, rest, vector)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET request = excluded.request, at = excluded.at,
      expires = excluded.expires, bytes = excluded.bytes, answer = excluded.answer,
      rest = excluded.rest, vector = excluded.vector`,
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
    Buffer.byteLength(entry.text) + (entry.question?.vector.byteLength ?? 0),
    entry.text,
    entry.question?.rest ?? null,
    entry.question?.vector ?? null,
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
