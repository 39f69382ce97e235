/** What a plugin is lent: the contract's Host over what one process has. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ProcessLog } from '../observe/log.ts'
import type { GatewayMetrics } from '../observe/metrics.ts'
import type {
  Database,
  Document,
  Host,
  Lent,
  Log,
  Membership,
  Route,
  UpstreamView,
} from '../plugin.ts'
import type { Allowances } from '../quota/allowance.ts'
import type { Turns } from '../request/background-calls.ts'
import type { Store } from '../request/writes.ts'
import type { Jobs } from '../store/jobs.ts'
import type { Shared } from './shared-resources.ts'
import { shownPath } from './shown-path.ts'

/** What one process lends to every snapshot it compiles. */
export interface Resources {
  readonly role: 'worker' | 'builder' | 'command' | 'test'
  readonly log: Log & Pick<ProcessLog, 'request'>
  readonly metrics: GatewayMetrics
  readonly database: Database & Store
  readonly shared: Shared
  readonly allowances: Allowances
  readonly jobs: Jobs
  readonly turns: Turns
  readonly membership: Membership
}

/** What a snapshot adds to it. */
export interface Ground {
  readonly version: number
  readonly hash: string
  readonly root: string
  readonly document: Document
  readonly files?: Readonly<Record<string, string>> | undefined
  readonly upstreams: Readonly<Record<string, UpstreamView>>
  readonly match: Lent['match']
  readonly run: Lent['run']
  readonly send: Lent['send']
  readonly judge: Lent['judge']
  /** Released when the snapshot retires. */
  readonly held: (() => void)[]
}

export const lend = (resources: Resources, ground: Ground): Lent => ({
  log: resources.log,
  metrics: resources.metrics,
  database: resources.database,
  config: { version: ground.version, hash: ground.hash },
  upstreams: ground.upstreams,
  section: <T>(name: string) => (ground.document[name] ?? {}) as T,
  file: path => {
    const full = resolve(ground.root, path)
    // The text that was checked and hashed, so that every worker compiles the same.
    return ground.files?.[shownPath(ground.root, full)] ?? readFileSync(full, 'utf8')
  },
  share: (key, version, create) => {
    const { value, release } = resources.shared.acquire(key, version, create)
    ground.held.push(release)
    return value
  },
  match: ground.match,
  run: ground.run,
  send: ground.send,
  judge: ground.judge,
  job: (name, every, run) => {
    ground.held.push(resources.jobs.start(name, every, run))
  },
  membership: resources.membership,
  allowance: (name, supply) => resources.allowances.open(name, supply),
})

export const hostFor = (lent: Lent, route: Route): Host => ({ ...lent, route })
