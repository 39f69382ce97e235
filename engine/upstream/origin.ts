/** One address with its pool, load and health. Outlives reloads. */
import type { Connector } from '../egress/connector.ts'
import type { ResponseHandler } from '../http-client/connection.ts'
import { Pool, type PoolOptions } from '../http-client/pool.ts'
import type { Request } from '../http-client/request-head.ts'
import { Health, type HealthListener } from './health.ts'
import { InactivityTimer } from './inactivity-timer.ts'
import type { KeyHealth } from './keys.ts'
import { PrefixMemory } from './prefix-memory.ts'
import type { RecentTimes } from './recent-times.ts'
import type { WarmTargets } from './warm-targets.ts'

/** The connections to one address. */
export interface UpstreamPool {
  /** Throws UnsendableRequest; later errors go to the handler. */
  send(request: Request, handler: ResponseHandler): void
  /** Opens connections for WebSockets; undefined if that needs nothing special. */
  readonly connector?: Promise<Connector>
  /** Resolves when every request under way or queued has ended. */
  close(): Promise<void>
}
export class Origin {
  /** Scheme, host and port. */
  readonly address: string | undefined
  /** Undefined where a plugin answers in the upstream's place. */
  readonly pool: UpstreamPool | undefined
  readonly health: Health
  readonly inactivity = new InactivityTimer()
  isClosed = false
  /** Requests under way, until their last byte. */
  busy = 0
  /** Calls of conversations that belong here, and of those that had to move here. */
  readonly conversations = { own: 0, moved: 0 }
  /** Recent times of targets with `balance: fastest`, by upstream and name of the target. */
  readonly times = new Map<string, RecentTimes>()
  /** Beginnings of requests that were sent here with `balance: prefix`. */
  readonly prefixes = new PrefixMemory()
  /** Targets with `warm_up`, by name. */
  readonly warmTargets: WarmTargets = new Map()
  /** Keys that are used at this address, by name. */
  readonly keys = new Map<string, KeyHealth>()

  /** `pool`: in place of that of the hot path. */
  constructor(
    address: string | undefined,
    options: PoolOptions,
    listener?: HealthListener,
    pool?: UpstreamPool,
  ) {
    this.address = address
    this.health = new Health(listener)
    this.pool = address === undefined ? undefined : (pool ?? new Pool(address, options))
  }
  async close(): Promise<void> {
    this.isClosed = true
    await this.pool?.close()
  }
}
