/** Finds a pooler before PostgreSQL that gives each transaction another connection. */
import { fault } from '../faults.ts'
import { Session, type SessionOptions } from './session.ts'

/** Throws STORE_POOLER. A transaction of a second client holds a server connection: a pooler in
 *  transaction mode gives it the one that the first client has used, or the first client another
 *  one afterwards. */
export const refusePooler = async (options: SessionOptions): Promise<void> => {
  const [first, second] = await Promise.all([Session.open(options), Session.open(options)])
  try {
    const before = await backendOf(first, options)
    await second.script('BEGIN')
    const others = await backendOf(second, options)
    const after = await backendOf(first, options)
    await second.script('ROLLBACK')
    if (before === others || before !== after) throw fault('STORE_POOLER')
  } catch (error) {
    // PgBouncer refuses BEGIN in statement mode.
    const isOfPooler = /statement pooling/.test((error as Error).message)
    throw isOfPooler ? fault('STORE_POOLER') : error
  } finally {
    await Promise.all([first.end(), second.end()])
  }
}
const backendOf = async (session: Session, { within }: SessionOptions): Promise<number> => {
  const [result] = await session.pipeline([{ text: 'SELECT pg_backend_pid() AS pid' }], within)
  if (!result || 'error' in result) throw result?.error ?? new Error('no result')
  return Number(result.rows[0]?.pid)
}
