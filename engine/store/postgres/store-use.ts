/** A look at a PostgreSQL store that changes nothing: whether it has tables, and whether the
 *  processes of a data folder use it now. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Query, Session } from './session.ts'

export interface StoreUse {
  readonly hasTables: boolean
  /** The schema in which it makes tables. */
  readonly schema: string
  /** Whether processes of the data folder use it; undefined if they use no store of its database,
   *  or if that cannot be determined. */
  readonly isInUse: boolean | undefined
}
/** ms. */
const WITHIN = 5_000

const TABLES = "SELECT to_regclass('tollgate_clients') AS name, current_schema() AS schema"
/** A process has an advisory lock on its key while it lives. A copy of the database has its row
 *  without the lock, and another schema of the database its lock without the row. */
const USERS = `SELECT count(*) AS locks, count(c.client) AS clients FROM pg_locks l
  LEFT JOIN tollgate_clients c ON c.client = (l.classid::bigint << 32) | l.objid::bigint
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32) | l.objid::bigint = ANY($1::bigint[])`

/** `data`: the data folder. Rejects if the database cannot be read. */
export const lookAtStore = async (url: string, data: string): Promise<StoreUse> => {
  const session = await Session.open({ url, within: WITHIN })
  try {
    const row = async (query: Query) => {
      const [result] = await session.pipeline([query], WITHIN)
      if (!result || 'error' in result) throw result?.error ?? new Error('no result')
      return result.rows[0]
    }
    const { name, schema } = (await row({ text: TABLES })) ?? {}
    const look = { hasTables: name !== null, schema: String(schema) }
    if (!look.hasTables) return { ...look, isInUse: undefined }
    const users = await row({ text: USERS, values: [processKeys(data)] })
    const isOfDatabase = Number(users?.locks) > 0
    return { ...look, isInUse: isOfDatabase ? Number(users?.clients) > 0 : undefined }
  } finally {
    await session.end()
  }
}
/** Keys of the processes that have a socket in a data folder; those that crashed have no lock. */
const processKeys = (data: string): readonly string[] => {
  try {
    const names = readdirSync(join(data, 'processes'))
    return names.flatMap(name => /^(-?\d+)\.socket$/.exec(name)?.[1] ?? [])
  } catch {
    return []
  }
}
