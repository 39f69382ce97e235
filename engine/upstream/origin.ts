/** One address with its pool of connections, its load and its health. Outlives reloads; see shared.ts. */
import { type buildConnector, Client, type Dispatcher, Pool } from 'undici'
import { Health } from './health.ts'
import { Vigil } from './vigil.ts'

export interface OriginOptions {
  /** ms. */
  readonly connect: number
  readonly connections: number
  /** Connects in its own way: to judged addresses only. */
  readonly connector?: buildConnector.connector
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
    connect: options.connector ?? { timeout: options.connect },
    factory: openClient,
  })

/** What answers for a request may say that it could not be sent at all. */
export interface Refusable {
  readonly refused: boolean
}
/** A pool takes a client that refused a request (a header no message can carry) for a busy one, and waits for ever for
 *  it to be free. So such a client says that it took the request. */
const openClient = (address: URL, options: object): Dispatcher => {
  const client = new Client(address, options)
  const dispatch = client.dispatch.bind(client)
  client.dispatch = (request, handler) =>
    dispatch(request, handler) || (handler as Dispatcher.DispatchHandler & Refusable).refused
  return client
}
