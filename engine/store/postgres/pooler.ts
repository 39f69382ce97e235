/** Finds a pooler before PostgreSQL that gives each transaction another connection. */
import { fault } from '../faults.ts'
import { Session, type SessionOptions } from './session.ts'

/** Throws STORE_POOLER. Two clients hold a server connection each and give it back, in both orders:
 *  a pooler in transaction mode that hands out the latest or the oldest one gives the first client
 *  that of the second. */
export const refusePooler = async (options: SessionOptions): Promise<void> => {
  const [first, second] = await Promise.all([Session.open(options), Session.open(options)])
  try {
    const own = await backendOf(first, options)
    for (const order of [
      [first, second],
      [second, first],
    ]) {
      for (const session of [first, second]) {
        await session.script('BEGIN')
        await backendOf(session, options)
      }
      for (const session of order) await session.script('COMMIT')
      if ((await backendOf(first, options)) !== own) throw fault('STORE_POOLER')
    }
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
