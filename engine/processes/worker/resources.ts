/** The resources of a worker, opened with its first version: the store, the membership of the
 *  process, its background jobs and the shared counters. */
import { readSettings } from '../../config/settings.ts'
import { SharedResources } from '../../config/shared-resources.ts'
import type { BackgroundCalls } from '../../egress/background-calls.ts'
import type { ProcessLog } from '../../observe/log.ts'
import type { GatewayMetrics } from '../../observe/metrics.ts'
import type { Document } from '../../plugin.ts'
import { createAllowances } from '../../quota/allowance.ts'
import type { Channel } from '../../quota/channel.ts'
import { createLender, type Lender } from '../../quota/lender.ts'
import type { Resources } from '../../snapshot/resources.ts'
import { isPostgres, type OpenDatabase, openDatabase } from '../../store/database.ts'
import { createJobs } from '../../store/jobs.ts'
import { Leases } from '../../store/leases.ts'
import { createMembership, type OwnMembership } from '../../store/membership.ts'
import { probeStore } from './store-probe.ts'

export interface WorkerParts {
  readonly log: ProcessLog
  readonly metrics: GatewayMetrics
  readonly backgroundCalls: BackgroundCalls
  /** To the counter owner in the primary. */
  readonly channel: Channel
  readonly gateway: NonNullable<Resources['gateway']>
  readonly localUrl: string | undefined
}
/** The resources as snapshots use them, closed in two steps by the worker. */
export interface WorkerResources extends Resources {
  readonly membership: OwnMembership
  /** ms since the store last answered; 0 while it answers. */
  readonly storeSilence: number
  /** Closes everything but the jobs, which the worker has closed before. */
  close(): Promise<void>
}

/** `document`: the configuration of the first version, for `settings.database` and `data`. */
export const openResources = async (
  document: Document,
  { log, metrics, backgroundCalls, channel, gateway, localUrl }: WorkerParts,
): Promise<WorkerResources> => {
  const { database: url, data } = readSettings(document.settings as object)
  const database = await openDatabase({
    url,
    data,
    report: message => log.warn({ message }, 'the store warns'),
  })
  const membership = createMembership({ database, log })
  // Commands compare this key with the locks of a database, to tell whether it is this store.
  if (isPostgres(url) && database.process)
    void database.process.folder?.enter(String(database.process.key))
  // Only a PostgreSQL store is shared with other machines.
  const lender = isPostgres(url) ? createLender({ database, log, channel }) : undefined
  const probe = isPostgres(url) ? probeStore(database) : undefined
  return {
    role: 'worker',
    get storeSilence() {
      return probe?.silence ?? 0
    },
    log,
    metrics,
    database,
    shared: new SharedResources(),
    allowances: createAllowances(channel),
    jobs: createJobs({ leases: new Leases({ database, membership }), log }),
    backgroundCalls,
    membership,
    gateway,
    localUrl,
    close() {
      probe?.close()
      return close(database, membership, lender)
    },
  }
}

const close = async (
  database: OpenDatabase,
  membership: OwnMembership,
  lender: Lender | undefined,
): Promise<void> => {
  lender?.close()
  try {
    await membership.close()
  } catch {
    // A process that cannot leave keeps its on-crash statements, which closing the database would
    // clear: its peers apply them.
    return
  }
  await database.close()
}
