/** Describes the store for `tollgate doctor`: whether it can be reached, its version and its
 *  clock. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { isPostgres, locate, withoutPassword } from '../../store/address.ts'
import { type MoveMark, readMoveMark } from '../../store/move/mark.ts'

export interface StoreDescription {
  readonly kind: 'SQLite' | 'PostgreSQL'
  /** Without a password. */
  readonly name: string
  readonly version?: string
  /** Why it cannot be used. */
  readonly error?: string
  /** False: it is created at the first start. */
  readonly exists: boolean
  /** Where a move has put its rows. */
  readonly moved?: MoveMark | undefined
  /** ms that its clock is ahead of this machine's. */
  readonly ahead: number
}

export const describeStore = async (url: string, data: string): Promise<StoreDescription> =>
  isPostgres(url) ? describePostgres(url) : describeSqlite(url, data)

const describeSqlite = (url: string, data: string): StoreDescription => {
  try {
    const { file } = locate(url, data)
    const base = { kind: 'SQLite', name: file, ahead: 0 } as const
    if (!existsSync(file)) return { ...base, exists: false, version: versionOf(':memory:') }
    return { ...base, exists: true, version: versionOf(file), moved: readMoveMark(file) }
  } catch (error) {
    const { message } = error as Error
    return { kind: 'SQLite', name: url, exists: true, ahead: 0, error: message }
  }
}
/** Throws if the file is not a database, or damaged. */
const versionOf = (file: string): string => {
  const store = new DatabaseSync(file, { readOnly: file !== ':memory:', timeout: 1_000 })
  try {
    const { integrity } =
      store.prepare('SELECT quick_check AS integrity FROM pragma_quick_check').get() ?? {}
    if (integrity !== 'ok') throw new Error(`the file is damaged: ${integrity}`)
    return String(store.prepare('SELECT sqlite_version() AS version').get()?.version)
  } finally {
    store.close()
  }
}

const describePostgres = async (url: string): Promise<StoreDescription> => {
  const base = {
    kind: 'PostgreSQL',
    name: withoutPassword(url),
    exists: true,
  } as const
  const { Session } = await import('../../store/postgres/session.ts')
  const { refusePooler } = await import('../../store/postgres/pooler.ts')
  try {
    await refusePooler({ url, within: 5_000 })
    const session = await Session.open({ url, within: 5_000 })
    const sentAt = Date.now()
    const text =
      "SELECT current_setting('server_version') AS version, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now"
    const [result] = await session.pipeline([{ text }], 5_000)
    const middle = (sentAt + Date.now()) / 2
    await session.end()
    if (result && 'error' in result) throw result.error
    const row = result && 'rows' in result ? result.rows[0] : undefined
    return { ...base, version: String(row?.version), ahead: Math.round(Number(row?.now) - middle) }
  } catch (error) {
    const { message, code } = error as Error & { readonly code?: string }
    return { ...base, ahead: 0, error: message || String(code) }
  }
}
