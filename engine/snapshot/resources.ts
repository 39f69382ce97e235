/** The resources of one process that its snapshots use: log, metrics, store, quotas. */
import type { Duplex } from 'node:stream'
import type { SharedResources } from '../config/shared-resources.ts'
import type { BackgroundCalls } from '../egress/background-calls.ts'
import type { ProcessLog } from '../observe/log.ts'
import type { GatewayMetrics } from '../observe/metrics.ts'
import type { Database, Gateway, Log, Membership } from '../plugin.ts'
import type { Allowances } from '../quota/allowance.ts'
import type { Store } from '../request/writes.ts'
import type { Jobs } from '../store/jobs.ts'

export interface Resources {
  readonly role: 'worker' | 'builder' | 'command' | 'test'
  readonly log: Log & Pick<ProcessLog, 'request'>
  readonly metrics: GatewayMetrics
  readonly database: Database & Store
  readonly shared: SharedResources
  readonly allowances: Allowances
  readonly jobs: Jobs
  readonly backgroundCalls: BackgroundCalls
  readonly membership: Membership
  readonly gateway?: Omit<Gateway, 'routes'> // only in a worker and a command
  /** Of the gateway, for clients on this machine; undefined if it does not listen. */
  readonly localUrl?: string | undefined
  /** Serves a connection from inside; set once the process listens. */
  acceptInside?: (connection: Duplex) => void
}
