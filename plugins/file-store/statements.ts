/** Statements over stored files. A change of rows also changes what the account stores, if there is
 *  one. Pure. */
import type { Sql, Statement } from '../../engine/plugin.ts'
import { type CallerSql, makerValues, overMade } from '../credentials/members.ts'
import { NO_ACCOUNT, type StoredFile, UPLOAD_PART } from './stored-file.ts'

const sql = (name: string, text: string): Sql => ({ name: `files: ${name}`, text })

const COLUMNS = 'id, account, key, member, purpose, filename, type, bytes, sha256, created, expires'
const OPEN_USAGE = sql(
  'open usage',
  'INSERT INTO file_usage (account, files, bytes) VALUES (?, 0, 0) ON CONFLICT (account) DO NOTHING',
)
const TAKE = sql(
  'take',
  `UPDATE file_usage SET files = files + 1, bytes = bytes + ?
   WHERE account = ? AND files < ? AND bytes <= ?`,
)
const RETURN = sql(
  'return',
  'UPDATE file_usage SET files = files - 1, bytes = bytes - ? WHERE account = ?',
)
const ADD = sql(
  'add',
  `INSERT INTO stored_files (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
)
const REMOVE = sql('remove', 'DELETE FROM stored_files WHERE id = ? AND account = ?')

/** Most that an account may store. */
export interface Quota {
  readonly files: number
  readonly bytes: number
}
export const NO_QUOTA: Quota = { files: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER }
/** Adds a file. Rejects with FILE_QUOTA if the account may not store it. */
export const addFile = (file: StoredFile, quota: Quota): readonly Statement[] => [
  { sql: OPEN_USAGE, values: [file.account] },
  {
    sql: TAKE,
    values: [file.bytes, file.account, quota.files, quota.bytes - file.bytes],
    rows: 1,
    otherwise: 'FILE_QUOTA',
  },
  addOwnFile(file),
]
/** Adds a file of no account. */
export const addOwnFile = (file: StoredFile): Statement => ({
  sql: ADD,
  values: [
    file.id,
    file.account,
    ...makerValues(file.maker),
    file.purpose,
    file.filename,
    file.type,
    file.bytes,
    file.sha256,
    file.created,
    file.expires ?? null,
  ],
  rows: 1,
})
/** Rejects with FILE_UNKNOWN if it was removed before. */
export const removeFile = ({
  id,
  account,
  bytes,
}: Pick<StoredFile, 'id' | 'account' | 'bytes'>): readonly Statement[] => [
  { sql: REMOVE, values: [id, account], rows: 1, otherwise: 'FILE_UNKNOWN' },
  ...(account === NO_ACCOUNT ? [] : [{ sql: RETURN, values: [bytes, account], rows: 1 }]),
]

const RETURN_EXISTING = sql(
  'return existing',
  `UPDATE file_usage SET files = files - 1, bytes = bytes - ?
   WHERE account = ? AND EXISTS (SELECT 1 FROM stored_files WHERE id = ?)`,
)
/** Removes the file of a request whose client was told that it failed, if it is there. */
export const withdrawFile = ({
  id,
  account,
  bytes,
}: Pick<StoredFile, 'id' | 'account' | 'bytes'>): readonly Statement[] => [
  { sql: RETURN_EXISTING, values: [bytes, account, id] },
  { sql: REMOVE, values: [id, account] },
]

const BY_ID = 'id = ? AND (expires IS NULL OR expires > ?)'
/** A file of any account by its id, unless it has expired (id, now). */
export const FIND_ANY = sql('find any', `SELECT ${COLUMNS} FROM stored_files WHERE ${BY_ID}`)
/** Files that a caller sees; the parameters of the caller come first. */
const ofCaller = (make: (condition: string) => Sql): CallerSql => overMade('stored_files', make)
/** A file by its id, unless it has expired (id, now). */
export const FIND = ofCaller(caller =>
  sql('find', `SELECT ${COLUMNS} FROM stored_files WHERE ${caller} AND ${BY_ID}`),
)
/** Files by their ids, unless they have expired (now, JSON list). */
export const FIND_NAMED = ofCaller(caller => {
  const named = (list: string): string =>
    `SELECT ${COLUMNS} FROM stored_files
     WHERE ${caller} AND (expires IS NULL OR expires > ?) AND id IN (SELECT ${list})`
  return {
    name: 'files: find named',
    text: named('value FROM json_each(?)'),
    postgres: named('json_array_elements_text(CAST(? AS JSON))'),
  }
})
/** The stored bytes of an account (account). */
export const USAGE_OF = sql('usage', 'SELECT files, bytes FROM file_usage WHERE account = ?')
/** Files that have expired (now, row count). */
export const EXPIRED = sql(
  'expired',
  `SELECT ${COLUMNS} FROM stored_files WHERE expires <= ? ORDER BY expires LIMIT ?`,
)

const page = (caller: string, order: 'ASC' | 'DESC'): string =>
  `SELECT ${COLUMNS} FROM stored_files
   WHERE ${caller} AND (? = '' OR purpose = ?) AND (expires IS NULL OR expires > ?)
     AND purpose <> '${UPLOAD_PART}'
     AND (created, id) ${order === 'ASC' ? '>' : '<'} (?, ?)
   ORDER BY created ${order}, id ${order} LIMIT ?`
/** Files behind a position (purpose or empty, the same, now, created, id, row count). */
export const PAGES = {
  asc: ofCaller(caller => sql('oldest first', page(caller, 'ASC'))),
  desc: ofCaller(caller => sql('newest first', page(caller, 'DESC'))),
} as const

/** For operators: the newest files of one account, or of all (twice 0) (account, the same, row
 *  count). */
export const LIST_ANY = sql(
  'list any',
  `SELECT ${COLUMNS} FROM stored_files WHERE CAST(? AS BIGINT) = 0 OR account = ?
   ORDER BY created DESC, id DESC LIMIT ?`,
)
/** All files, in pages (id to start after, row count). */
export const ALL = sql(
  'all',
  `SELECT ${COLUMNS} FROM stored_files WHERE id > ? ORDER BY id LIMIT ?`,
)
/** The number of all files. */
export const COUNT = sql('count', 'SELECT count(*) AS files FROM stored_files')
/** Which of these ids belong to files (JSON list). */
export const KNOWN: Sql = {
  name: 'files: known',
  text: 'SELECT id FROM stored_files WHERE id IN (SELECT value FROM json_each(?))',
  postgres:
    'SELECT id FROM stored_files WHERE id IN (SELECT json_array_elements_text(CAST(? AS JSON)))',
}
