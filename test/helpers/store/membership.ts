/** Process membership for tests: members that a test reaps on demand, or that reap each other
 *  soon. */
import type { Test } from 'tap'
import type { Membership, PeerListener } from '../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import {
  createMembership,
  MEMBERSHIP_TABLES,
  type OwnMembership,
} from '../../../engine/store/membership.ts'
import { readPeers, reap } from '../../../engine/store/reaper.ts'
import { migrations as actionTables } from '../../../plugins/action-log/tables.ts'
import { migrations as callMigrations } from '../../../plugins/calls/tables.ts'
import { migrations as credentials } from '../../../plugins/credentials/tables.ts'
import { releaseProcess } from '../../../plugins/ledger/crash/processes.ts'
import { Ledger } from '../../../plugins/ledger/ledger.ts'
import { migrations } from '../../../plugins/ledger/tables.ts'
import { timeoutsAt } from '../clocks.ts'
import { SILENT_LOG } from '../gateway/test-server.ts'

type Store = Pick<OpenDatabase, 'read' | 'write' | 'process'>

/** A member that does not check its peers: the test reaps dead processes itself. */
export const membershipOn = (database: Store): Membership =>
  createMembership({ database, log: SILENT_LOG })
/** A member that checks its peers until the test ends. */
export const reaperOn = (t: Test, database: Store, heartbeat: number): OwnMembership => {
  const timeouts = timeoutsAt(heartbeat)
  const membership = createMembership({ database, log: SILENT_LOG, timeouts })
  t.teardown(() => membership.close().catch(() => {}))
  membership.start()
  return membership
}

export const ledgerOn = (database: Store): Ledger =>
  new Ledger(database, SILENT_LOG, membershipOn(database))
/** Creates the tables of charges and of failed calls, and those they reference. */
export const makeLedger = async (database: OpenDatabase): Promise<void> => {
  await database.migrate('standing', MEMBERSHIP_TABLES)
  await database.migrate('actions', actionTables)
  await database.migrate('auth', credentials)
  await database.migrate('meter', migrations)
  await database.migrate('observe', callMigrations)
}

const LEDGER: PeerListener = { reapStatements: name => releaseProcess(name, Date.now()) }
/** Reaps every process as dead. Resolves to their number. */
export const reapAll = async (
  database: Store,
  listeners: readonly PeerListener[] = [LEDGER],
): Promise<number> => {
  const all = await readPeers(database)
  const names = new Set(all.map(({ name }) => name))
  for (let remaining = all; remaining.length > 0; ) {
    for (const peer of remaining)
      await reap({ database, log: SILENT_LOG, listeners }, peer, true).catch(error => {
        // A heartbeat came in between: the peer is read again.
        if ((error as { code?: string }).code !== 'STILL_ALIVE') throw error
      })
    remaining = (await readPeers(database)).filter(({ name }) => names.has(name))
  }
  return names.size
}
