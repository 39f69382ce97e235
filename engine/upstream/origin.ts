/** One address with its pool of connections, its load and its health. Outlives reloads; see shared.ts. */
import { Pool } from 'undici'
import { Health } from './health.ts'
import { Vigil } from './vigil.ts'

export interface OriginOptions {
  /** ms. */
  readonly connect: number
  readonly connections: number
}

export class Origin {
  /** Scheme, host and port. */
  readonly address: string | undefined
  /** Absent where a plugin answers in the upstream's place. */
  readonly pool: Pool | undefined
  readonly health = new Health()
  readonly vigil = new Vigil()
  /** Requests under way, until their last byte. */
  busy = 0

  constructor(address: string | undefined, options: OriginOptions) {
    this.address = address
    this.pool = address === undefined ? undefined : openPool(address, options)
  }
  async close(): Promise<void> {
    await this.pool?.close()
  }
}

const openPool = (address: string, options: OriginOptions): Pool =>
  new Pool(address, {
    connections: options.connections,
    pipelining: 1,
    // Both deadlines are the attempt's own (transport.ts): undici's have a resolution of half a second.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: options.connect },
  })
