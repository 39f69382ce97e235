/** Writes whose answer may get lost on its way: the same array again is harmless, and finds out. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Row, Statement } from '../../engine/plugin.ts'
import { isCode } from './faults.ts'

const TRIES = 5
/** ms. */
const PAUSE = 50
const AGAIN = 1_000
/** ms; a store that is silent for its whole patience is not asked again before a client is told. */
export const ADMISSION = 500

/** Rejects with STORE_UNKNOWN as long as nobody knows whether it was written: also where the store is away by then. `within`:
 *  ms after which it is not tried again, for whoever has a client waiting. */
export const writeSurely = async (
  database: Pick<Database, 'write'>,
  list: readonly Statement[],
  within = Number.POSITIVE_INFINITY,
): Promise<readonly (readonly Row[])[]> => {
  const until = performance.now() + within
  let doubt: unknown
  for (let left = TRIES; ; left--) {
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
/** The same, and asked about for as long as nobody knows, while `open` says that somebody wants to. */
export const writeDecided = async (
  database: Pick<Database, 'write'>,
  list: readonly Statement[],
  open: () => boolean,
): Promise<readonly (readonly Row[])[]> => {
  for (;;) {
    try {
      return await writeSurely(database, list)
    } catch (thrown) {
      if (!open() || !isCode(thrown, 'STORE_UNKNOWN')) throw thrown
    }
    await pause(AGAIN)
  }
}

/** Changes nothing: what this process wrote before it is decided when this is. */
export const BARRIER: Statement = {
  sql: { name: 'ledger: barrier', text: 'UPDATE wallets SET granted = granted WHERE id = 0' },
  values: [],
}
