/** Retries writes whose result may get lost. Writing the same array again is harmless and returns
 *  its result. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Row, Statement } from '../../engine/plugin.ts'
import { isCode } from './faults.ts'

const ATTEMPTS = 5
/** ms. */
const PAUSE = 50
const RETRY_INTERVAL = 1_000
/** ms for which a write before the first byte is retried, since the client waits. */
export const ADMISSION_TIMEOUT = 500

/** Rejects with STORE_UNKNOWN if the result stays unknown, also where the store is unavailable by
 *  then. `timeout`: ms after which it does not retry. */
export const writeWithRetry = async (
  database: Pick<Database, 'write'>,
  list: readonly Statement[],
  timeout = Number.POSITIVE_INFINITY,
): Promise<readonly (readonly Row[])[]> => {
  const deadline = performance.now() + timeout
  let unknownResult: unknown
  for (let remainingAttempts = ATTEMPTS; ; remainingAttempts--) {
    try {
      return await database.write(list)
    } catch (error) {
      if (isCode(error, 'STORE_UNKNOWN')) unknownResult = error
      else if (unknownResult === undefined || !isCode(error, 'STORE_UNAVAILABLE')) throw error
      if (remainingAttempts === 0 || performance.now() > deadline) throw unknownResult
      await pause(PAUSE)
    }
  }
}
/** Repeats a list of statements until the last one returns fewer than `size` rows, so that no
 *  transaction changes more rows than that. */
export const writePages = async (
  database: Pick<Database, 'write'>,
  list: () => readonly Statement[],
  size: number,
  signal?: AbortSignal,
): Promise<void> => {
  for (let hasMore = true; hasMore && !signal?.aborted; ) {
    const results = await writeWithRetry(database, list())
    hasMore = results.at(-1)?.length === size
  }
}
type Write = (
  database: Pick<Database, 'write'>,
  list: readonly Statement[],
  isWanted: () => boolean,
) => Promise<readonly (readonly Row[])[]>

/** `isUnknown`: an earlier attempt may have been applied. */
const createWrite =
  (isUnknown: boolean): Write =>
  async (database, list, isWanted) => {
    for (let mayBeApplied = isUnknown; ; ) {
      try {
        return await writeWithRetry(database, list)
      } catch (error) {
        mayBeApplied ||= isCode(error, 'STORE_UNKNOWN')
        const isOutage = isCode(error, 'STORE_UNKNOWN', 'STORE_UNAVAILABLE')
        if (!isWanted() || !isOutage || !mayBeApplied) throw error
      }
      await pause(RETRY_INTERVAL)
    }
  }
/** Retries until the store has told the result, as long as `isWanted` returns true. Rejects at once
 *  where the first attempt finds no store: then nothing was applied. */
export const writeUntilKnown = createWrite(false)
/** Retries until the store has told the result, as long as `isWanted` returns true; also where the
 *  first attempt finds no store. */
export const writeWhileAway = createWrite(true)

/** Changes nothing. After this write, the results of all earlier writes of this process are
 *  known. */
export const BARRIER: Statement = {
  sql: { name: 'ledger: barrier', text: 'UPDATE wallets SET granted = granted WHERE id = 0' },
  values: [],
}
