/** Finds a pooler before PostgreSQL that gives each transaction another connection. */
import { fault } from '../faults.ts'
import { isTimeout, Session, type SessionOptions } from './session.ts'

/** Clients that hold a transaction each. */
const OTHERS = 3

/** Throws STORE_POOLER, and STORE_POOL_SIZE if there are too few connections; `onFull` is called
 *  instead if other clients of the database may have the rest of the pool. The first client is
 *  in no transaction, so a pooler in transaction mode may give its server connection to one of the
 *  others, which take those that are idle one by one, in whatever order. Without a pooler no two
 *  clients share one. */
export const refusePooler = async (
  options: SessionOptions,
  onFull?: (reason: Error) => void,
): Promise<void> => {
  const sessions: Session[] = []
  const open = async (): Promise<Session> => {
    const session = await Session.open(options)
    sessions.push(session)
    return session
  }
  try {
    const first = await open()
    const own = await backendOf(first, options)
    for (let count = 0; count < OTHERS; count++) {
      const other = await open().catch(error => {
        // The first one was served: a server that is away lets none wait.
        if (isTimeout(error)) return undefined
        throw error
      })
      if (!other) {
        const reason = fault('STORE_POOL_SIZE', [count + 1, OTHERS + 1])
        if (onFull && (await backendsOf(first, options)) > OTHERS) return onFull(reason)
        throw reason
      }
      await other.script('BEGIN')
      const isShared = (await backendOf(other, options)) === own
      if (isShared || (await backendOf(first, options)) !== own) throw fault('STORE_POOLER')
    }
  } catch (error) {
    // PgBouncer refuses BEGIN in statement mode.
    const isOfPooler = /statement pooling/.test((error as Error).message)
    throw isOfPooler ? fault('STORE_POOLER') : error
  } finally {
    await Promise.all(sessions.map(session => session.end()))
  }
}
const backendOf = (session: Session, options: SessionOptions): Promise<number> =>
  readNumber(session, 'SELECT pg_backend_pid() AS number', options)
/** Connections of all clients to the database. */
const backendsOf = (session: Session, options: SessionOptions): Promise<number> => {
  const text = `SELECT count(*) AS number FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'`
  return readNumber(session, text, options)
}
const readNumber = async (
  session: Session,
  text: string,
  { within }: SessionOptions,
): Promise<number> => {
  const [result] = await session.pipeline([{ text }], within)
  if (!result || 'error' in result) throw result?.error ?? new Error('no result')
  return Number(result.rows[0]?.number)
}
