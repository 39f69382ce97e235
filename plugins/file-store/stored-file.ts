/** A stored file of an account, as its row has it. Pure but for new ids. */
import { randomBytes } from 'node:crypto'
import type { Row } from '../../engine/plugin.ts'
import { type Maker, makerIn } from '../credentials/members.ts'

export interface StoredFile {
  /** `file-…`; also the name of its bytes. */
  readonly id: string
  readonly account: number
  readonly maker: Maker
  readonly purpose: string
  readonly filename: string
  /** Media type, such as image/png. */
  readonly type: string
  readonly bytes: number
  readonly sha256: string
  /** ms since 1970. */
  readonly created: number
  /** ms since 1970; undefined if the file stays until it is deleted. */
  readonly expires: number | undefined
}

/** The account of files that the gateway stores itself; no customer has it. */
export const NO_ACCOUNT = 0

/** The purpose of parts of a file, which lists leave out. */
export const UPLOAD_PART = 'upload_part'

const ID = /^file-[0-9a-f]{24,64}$/
export const makeFileId = (): string => `file-${randomBytes(16).toString('hex')}`
export const isFileId = (text: string): boolean => ID.test(text)

export const fileOf = (row: Row): StoredFile => ({
  id: String(row.id),
  account: Number(row.account),
  maker: makerIn(row),
  purpose: String(row.purpose),
  filename: String(row.filename),
  type: String(row.type),
  bytes: Number(row.bytes),
  sha256: String(row.sha256),
  created: Number(row.created),
  expires: row.expires === null ? undefined : Number(row.expires),
})
