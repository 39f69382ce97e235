/** One address with its pool, load and health. Outlives reloads. */
import { Pool, type PoolOptions } from '../http-client/pool.ts'
import type { UpstreamEvents } from './events.ts'
import { Health } from './health.ts'
import { InactivityTimer } from './inactivity-timer.ts'
import { KeyHealth } from './keys.ts'

export class Origin {
  /** Scheme, host and port. */
  readonly address: string | undefined
  /** Undefined where a plugin answers in the upstream's place. */
  readonly pool: Pool | undefined
  readonly health: Health
  readonly inactivity = new InactivityTimer()
  /** Requests under way, until their last byte. */
  busy = 0
  /** By the name of the key. */
  readonly #keys = new Map<string, KeyHealth>()

  constructor(address: string | undefined, options: PoolOptions, events?: UpstreamEvents) {
    this.address = address
    this.health = new Health({
      onEject: ms => events?.onEject(address ?? '', ms),
      onReadmit: () => events?.onReadmit(address ?? ''),
    })
    this.pool = address === undefined ? undefined : new Pool(address, options)
  }
  keyHealth(name: string): KeyHealth {
    const health = this.#keys.get(name) ?? new KeyHealth()
    this.#keys.set(name, health)
    return health
  }
  async close(): Promise<void> {
    await this.pool?.close()
  }
}
