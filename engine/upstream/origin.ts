/** One address with its pool, load and health. Outlives reloads. */
import { Pool, type PoolOptions } from '../http-client/pool.ts'
import { Health, type HealthListener } from './health.ts'
import { InactivityTimer } from './inactivity-timer.ts'
import type { KeyHealth } from './keys.ts'

export class Origin {
  /** Scheme, host and port. */
  readonly address: string | undefined
  /** Undefined where a plugin answers in the upstream's place. */
  readonly pool: Pool | undefined
  readonly health: Health
  readonly inactivity = new InactivityTimer()
  /** Requests under way, until their last byte. */
  busy = 0
  /** Keys that are used at this address, by name. */
  readonly keys = new Map<string, KeyHealth>()

  constructor(address: string | undefined, options: PoolOptions, listener?: HealthListener) {
    this.address = address
    this.health = new Health(listener)
    this.pool = address === undefined ? undefined : new Pool(address, options)
  }
  async close(): Promise<void> {
    await this.pool?.close()
  }
}
