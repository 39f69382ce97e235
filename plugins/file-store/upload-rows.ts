/** Rows of files that arrive in parts. A move names the state that it leaves. Pure but for new
 *  ids. */
import { randomBytes } from 'node:crypto'
import type { Row, Sql, Statement } from '../../engine/plugin.ts'
import { type Maker, makerIn, makerValues, overMade } from '../credentials/members.ts'

export interface UploadRow {
  readonly id: string
  readonly account: number
  readonly maker: Maker
  readonly purpose: string
  readonly filename: string
  /** Of the whole file. */
  readonly bytes: number
  /** ms that the file is kept; undefined: as usual. */
  readonly lifetime: number | undefined
  readonly state: 'pending' | 'completed' | 'cancelled'
  readonly file: string | undefined
  /** ms since 1970. */
  readonly created: number
  readonly expires: number
}
const sql = (name: string, text: string): Sql => ({ name: `files: ${name}`, text })

export const makeUploadId = (): string => `upload_${randomBytes(16).toString('hex')}`
export const uploadOf = (row: Row): UploadRow => ({
  id: String(row.id),
  account: Number(row.account),
  maker: makerIn(row),
  purpose: String(row.purpose),
  filename: String(row.filename),
  bytes: Number(row.bytes),
  lifetime: row.lifetime === null ? undefined : Number(row.lifetime),
  state: String(row.state) as UploadRow['state'],
  file: row.file === null ? undefined : String(row.file),
  created: Number(row.created),
  expires: Number(row.expires),
})

/** An upload that a caller sees (parameters of the caller, id). */
export const FIND_UPLOAD = overMade('uploads', caller =>
  sql('find upload', `SELECT * FROM uploads WHERE ${caller} AND id = ?`),
)
const ADD = sql(
  'add upload',
  `INSERT INTO uploads (id, account, key, member, purpose, filename, bytes, lifetime, state, created,
     expires)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`,
)
export const addUpload = (upload: UploadRow): Statement => ({
  sql: ADD,
  values: [
    upload.id,
    upload.account,
    ...makerValues(upload.maker),
    upload.purpose,
    upload.filename,
    upload.bytes,
    upload.lifetime ?? null,
    upload.created,
    upload.expires,
  ],
  rows: 1,
})
const WITHDRAW = sql('withdraw upload', 'DELETE FROM uploads WHERE id = ?')
/** For a client that was told that its upload was not created. */
export const withdrawUpload = (id: string): Statement => ({ sql: WITHDRAW, values: [id] })
const END = sql(
  'end upload',
  "UPDATE uploads SET state = ?, file = ? WHERE id = ? AND state = 'pending'",
)
/** Rejects with UPLOAD_MOVED: the upload has ended meanwhile. */
export const endUpload = (
  id: string,
  state: 'completed' | 'cancelled',
  file?: string,
): Statement => ({
  sql: END,
  values: [state, file ?? null, id],
  rows: 1,
  otherwise: 'UPLOAD_MOVED',
})
const REOPEN = sql(
  'reopen upload',
  "UPDATE uploads SET state = 'pending', file = NULL WHERE id = ? AND state = 'completed'",
)
/** For a client that was told that its upload could not be completed. */
export const reopenUpload = (id: string): Statement => ({ sql: REOPEN, values: [id] })
const DELETE_OLD = sql('delete old uploads', 'DELETE FROM uploads WHERE created < ?')
export const deleteOldUploads = (before: number): Statement => ({
  sql: DELETE_OLD,
  values: [before],
})
