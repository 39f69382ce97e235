/** Statements on the log of actions. */
import type { Database, Row, Sql, Statement } from '../../engine/plugin.ts'
import type { ActionRow, Head } from './action.ts'

const sql = (name: string, text: string): Sql => ({ name: `actions: ${name}`, text })

// ---------------------------------------------------------------- reading

const HEAD = sql(
  'head',
  'SELECT seq, mac, deleted_seq, deleted_mac, deleted_key, proof FROM action_head WHERE id = 1',
)
export interface StoredHead extends Head {
  /** The last row that was deleted by age. */
  readonly deleted: Head & { readonly key: string; readonly proof: string }
}
/** Undefined: the row was removed. */
export const readHead = async (
  database: Pick<Database, 'read'>,
): Promise<StoredHead | undefined> => {
  const [row] = await database.read(HEAD, [])
  return (
    row && {
      seq: Number(row.seq),
      mac: String(row.mac),
      deleted: {
        seq: Number(row.deleted_seq),
        mac: String(row.deleted_mac),
        key: String(row.deleted_key),
        proof: String(row.proof),
      },
    }
  )
}

const COLUMNS = 'seq, at, operation, actor, object, entry, key, prev, mac'
/** For `Database.pages`. */
export const ALL = sql('all', `SELECT ${COLUMNS} FROM actions WHERE seq > ? ORDER BY seq LIMIT ?`)
/** Operation thrice, object and actor twice, from, to, before this number, size: latest first. The
 *  plus keeps SQLite from the index of times, after which it would sort all rows. */
export const LATEST = sql(
  'latest',
  `SELECT ${COLUMNS} FROM actions
    WHERE (CAST(? AS TEXT) IS NULL OR operation = ? OR operation LIKE ? ESCAPE '!')
      AND (CAST(? AS TEXT) IS NULL OR object = ?)
      AND (CAST(? AS TEXT) IS NULL OR actor = ?)
      AND +at >= ? AND +at < ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
)
/** After this number, from and to a time, size. */
export const SPAN = sql(
  'span',
  `SELECT ${COLUMNS} FROM actions WHERE seq > ? AND at >= ? AND at < ? ORDER BY seq LIMIT ?`,
)
/** The last row that is older than a time. */
export const LAST_BEFORE = sql(
  'last before',
  `SELECT seq, mac FROM actions WHERE at < ? AND seq < (SELECT seq FROM action_head WHERE id = 1)
    ORDER BY seq DESC LIMIT 1`,
)
export const rowOf = (row: Row): ActionRow => ({
  seq: Number(row.seq),
  at: Number(row.at),
  operation: String(row.operation),
  actor: String(row.actor),
  object: String(row.object),
  entry: String(row.entry),
  key: String(row.key),
  prev: String(row.prev),
  mac: String(row.mac),
})

// ---------------------------------------------------------------- writing

/** The row of the head is locked last, so that two gateways never wait for each other: the WHERE
 *  does not begin with its number, by which the store locks rows ahead. */
const ADVANCE = sql(
  'advance',
  'UPDATE action_head SET seq = ?, mac = ? WHERE seq = ? AND mac = ? AND id = 1',
)
const ADD = sql('add', `INSERT INTO actions (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)

/** Adds a row, in one transaction with others. Refused with ACTION_MOVED if `head` is no longer the
 *  last row. */
export const addAction = (head: Head, row: ActionRow): readonly Statement[] => {
  const { seq, at, operation, actor, object, entry, key, prev, mac } = row
  return [
    {
      sql: ADVANCE,
      values: [seq, mac, head.seq, head.mac],
      rows: 1,
      otherwise: 'ACTION_MOVED',
    },
    { sql: ADD, values: [seq, at, operation, actor, object, entry, key, prev, mac] },
  ]
}

const DELETE = sql('delete', 'DELETE FROM actions WHERE seq <= ?')
const NOTE_DELETED = sql(
  'note deleted',
  `UPDATE action_head SET deleted_seq = ?, deleted_mac = ?, deleted_key = ?, proof = ?
    WHERE deleted_seq < ? AND id = 1`,
)
/** Deletes all rows up to one. Refused with ACTION_DELETED if they are deleted. */
export const deleteActions = (
  { seq, mac }: Head,
  key: string,
  proof: string,
): readonly Statement[] => [
  {
    sql: NOTE_DELETED,
    values: [seq, mac, key, proof, seq],
    rows: 1,
    otherwise: 'ACTION_DELETED',
  },
  { sql: DELETE, values: [seq] },
]

const VERSION = sql('version', 'SELECT version FROM action_versions WHERE folder = ?')
/** The last configuration of a data folder that is in the log. */
export const lastVersion = async (
  database: Pick<Database, 'read'>,
  folder: string,
): Promise<number | undefined> => {
  const [row] = await database.read(VERSION, [folder])
  return row && Number(row.version)
}
const NOTE_VERSION = sql(
  'note version',
  `INSERT INTO action_versions (folder, version) VALUES (?, ?)
    ON CONFLICT (folder) DO UPDATE SET version = excluded.version
    WHERE action_versions.version < excluded.version`,
)
/** Refused with ACTION_KNOWN if this version, or a later one, is in the log. */
export const noteVersion = (folder: string, version: number): Statement => ({
  sql: NOTE_VERSION,
  values: [folder, version],
  rows: 1,
  otherwise: 'ACTION_KNOWN',
})
