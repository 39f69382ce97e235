/** One address with its pool, load and health. Outlives reloads. */
import { Pool, type PoolOptions } from '../http-client/pool.ts'
import { Health } from './health.ts'
import { InactivityTimer } from './inactivity-timer.ts'

export class Origin {
  /** Scheme, host and port. */
  readonly address: string | undefined
  /** Undefined where a plugin answers in the upstream's place. */
  readonly pool: Pool | undefined
  readonly health = new Health()
  readonly inactivity = new InactivityTimer()
  /** Requests under way, until their last byte. */
  busy = 0

  constructor(address: string | undefined, options: PoolOptions) {
    this.address = address
    this.pool = address === undefined ? undefined : new Pool(address, options)
  }
  async close(): Promise<void> {
    await this.pool?.close()
  }
}
