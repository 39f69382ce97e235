/** Processes as the store knows them: members that a test reaps when it says so, or that reap each
 *  other swiftly. */
import type { Test } from 'tap'
import type { Membership, PeerListener } from '../../engine/plugin.ts'
import type { OpenDatabase } from '../../engine/store/database.ts'
import {
  createMembership,
  MEMBERSHIP_TABLES,
  type OwnMembership,
} from '../../engine/store/membership.ts'
import { readPeers, reap } from '../../engine/store/reaper.ts'
import { Ledger } from '../../plugins/ledger/ledger.ts'
import { releaseProcess } from '../../plugins/ledger/processes.ts'
import { migrations } from '../../plugins/ledger/tables.ts'
import { silent } from './core.ts'
import { timeoutsAt } from './timeouts.ts'

type Store = Pick<OpenDatabase, 'read' | 'write' | 'process'>

/** One that does not look at its peers, so that the dead are reaped when the test says so. */
export const membershipOn = (database: Store): Membership =>
  createMembership({ database, log: silent })
/** One that looks at its peers, until the test ends. */
export const reaperOn = (t: Test, database: Store, heartbeat: number): OwnMembership => {
  const timeouts = timeoutsAt(heartbeat)
  const membership = createMembership({ database, log: silent, timeouts })
  t.teardown(() => membership.close().catch(() => {}))
  membership.start()
  return membership
}

export const ledgerOn = (database: Store): Ledger =>
  new Ledger(database, silent, membershipOn(database))
/** The ledger's tables, and those they stand on. */
export const makeLedger = async (database: OpenDatabase): Promise<void> => {
  await database.migrate('standing', MEMBERSHIP_TABLES)
  await database.migrate('meter', migrations)
}

const LEDGER: PeerListener = { reapStatements: name => releaseProcess(name, Date.now()) }
/** Every process is taken for dead. Resolves to how many there were. */
export const reapAll = async (
  database: Store,
  listeners: readonly PeerListener[] = [LEDGER],
): Promise<number> => {
  const all = await readPeers(database)
  const names = new Set(all.map(({ name }) => name))
  for (let left = all; left.length > 0; ) {
    for (const peer of left)
      await reap({ database, log: silent, listeners }, peer, true).catch(thrown => {
        // Its heartbeat came between: it is read once more.
        if ((thrown as { code?: string }).code !== 'STILL_ALIVE') throw thrown
      })
    left = (await readPeers(database)).filter(({ name }) => names.has(name))
  }
  return names.size
}
