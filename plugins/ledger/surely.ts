/** Writes whose answer may get lost on its way: the same array again is harmless, and finds out. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Row, Statement } from '../../engine/plugin.ts'
import { isCode } from './faults.ts'

const TRIES = 5
/** ms. */
const PAUSE = 50

export const writeSurely = async (
  database: Pick<Database, 'write'>,
  list: readonly Statement[],
): Promise<readonly (readonly Row[])[]> => {
  for (let left = TRIES; ; left--) {
    try {
      return await database.write(list)
    } catch (thrown) {
      if (left === 0 || !isCode(thrown, 'STORE_UNKNOWN')) throw thrown
      await pause(PAUSE)
    }
  }
}
