/** Retries writes whose result may get lost: writing the same array again is harmless and returns the result. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Row, Statement } from '../../engine/plugin.ts'
import { isCode } from './faults.ts'

const ATTEMPTS = 5
/** ms. */
const PAUSE = 50
const RETRY_INTERVAL = 1_000
/** ms for which a write before the first byte is retried: the client waits. */
export const ADMISSION_TIMEOUT = 500

/** Rejects with STORE_UNKNOWN while the result is unknown, also where the store is unavailable by
 *  then. `within`: ms after which it is not retried. */
export const writeWithRetry = async (
  database: Pick<Database, 'write'>,
  list: readonly Statement[],
  within = Number.POSITIVE_INFINITY,
): Promise<readonly (readonly Row[])[]> => {
  const until = performance.now() + within
  let doubt: unknown
  for (let left = ATTEMPTS; ; left--) {
    try {
      return await database.write(list)
    } catch (thrown) {
      if (isCode(thrown, 'STORE_UNKNOWN')) doubt = thrown
      else if (doubt === undefined || !isCode(thrown, 'STORE_UNAVAILABLE')) throw thrown
      if (left === 0 || performance.now() > until) throw doubt
      await pause(PAUSE)
    }
  }
}
/** The same, retried until the result is known, as long as `isWanted` returns true. */
export const writeUntilKnown = async (
  database: Pick<Database, 'write'>,
  list: readonly Statement[],
  isWanted: () => boolean,
): Promise<readonly (readonly Row[])[]> => {
  for (;;) {
    try {
      return await writeWithRetry(database, list)
    } catch (thrown) {
      if (!isWanted() || !isCode(thrown, 'STORE_UNKNOWN')) throw thrown
    }
    await pause(RETRY_INTERVAL)
  }
}

/** Changes nothing: once it is written, the results of all earlier writes of this process are known. */
export const BARRIER: Statement = {
  sql: { name: 'ledger: barrier', text: 'UPDATE wallets SET granted = granted WHERE id = 0' },
  values: [],
}
