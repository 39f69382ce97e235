/** Processes as the store knows them: alive under a test's eyes, or buried at its word. */

import type { Mourner, Standing } from '../../engine/plugin.ts'
import type { OpenDatabase } from '../../engine/store/database.ts'
import { ALL, burial, createStanding, STANDING_TABLE } from '../../engine/store/standing.ts'
import { Ledger } from '../../plugins/ledger/ledger.ts'
import { giveAllBack } from '../../plugins/ledger/processes.ts'
import { migrations } from '../../plugins/ledger/tables.ts'
import { silent } from './core.ts'

/** One that looks at nobody, so that the dead are buried when the test says so. */
export const standingOn = (database: Pick<OpenDatabase, 'read' | 'write'>): Standing =>
  createStanding({ database, log: silent, looks: false })

export const ledgerOn = (database: Pick<OpenDatabase, 'read' | 'write'>): Ledger =>
  new Ledger(database, silent, standingOn(database))
/** The ledger's tables, and those they stand on. */
export const makeLedger = async (database: OpenDatabase): Promise<void> => {
  await database.migrate('standing', STANDING_TABLE)
  await database.migrate('meter', migrations)
}

const LEDGER: Mourner = { buried: name => giveAllBack(name, Date.now()) }
/** Everybody is taken for dead. Resolves to how many there were. */
export const buryAll = async (
  database: Pick<OpenDatabase, 'read' | 'write'>,
  mourners: readonly Mourner[] = [LEDGER],
): Promise<number> => {
  const all = await database.read(ALL, [])
  const names = new Set(all.map(({ id }) => id))
  for (let left = all; left.length > 0; ) {
    for (const { id, beat } of left)
      await database.write(burial(String(id), Number(beat), mourners)).catch(thrown => {
        // Its beat came between: it is read once more.
        if ((thrown as { code?: string }).code !== 'STILL_ALIVE') throw thrown
      })
    left = (await database.read(ALL, [])).filter(({ id }) => names.has(id))
  }
  return names.size
}
