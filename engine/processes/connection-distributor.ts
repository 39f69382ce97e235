/** The listening socket: accepts every connection and offers it to a worker. Offers that a crashed
 *  worker did not accept go to another worker. */
import { createServer, type Socket } from 'node:net'
import { refuseSocket } from '../response/lingering-close.ts'
import { patient } from '../store/timeouts.ts'

// node:cluster loses connections in transit to a worker that crashes, and their clients wait for
// ever. Here a worker acknowledges a connection before it reads from it, and until then the primary
// keeps a copy of the socket. The port also stays open while there is no worker at all.

/** The part of a worker handle that the distributor uses. */
export interface ConnectionReceiver {
  /** Whether the worker accepts further offers. */
  readonly open: boolean
  offer(id: number, socket: Socket): void
}
/** Unacknowledged offers per worker; a worker accepts all of them in one turn of its event loop.
 *  Further connections queue here for the next free worker. */
const MAX_OFFERS = 32
/** When the oldest queued connection has waited this long (ms), new connections get 503 at once. */
const MAX_WAIT = patient(1_000)
const OVERLOADED = {
  status: 503,
  body: Buffer.from(
    '{"error":{"code":"OVERLOADED","message":"The gateway is overloaded. Retry in a moment."}}',
  ),
}

interface QueuedConnection {
  readonly socket: Socket
  readonly since: number
}

export class ConnectionDistributor {
  readonly #now: () => number
  readonly #receivers = new Map<ConnectionReceiver, Map<number, QueuedConnection>>()
  readonly #queue: QueuedConnection[] = []
  readonly #server = createServer({ pauseOnConnect: true, noDelay: true }, socket =>
    this.#accept(socket),
  )
  #serial = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }
  /** Resolves to the port. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port, backlog: 1_024 }, () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' && address ? address.port : port)
      })
    })
  }
  addWorker(receiver: ConnectionReceiver): void {
    this.#receivers.set(receiver, new Map())
    this.distribute()
  }
  /** Acknowledges an offer. The worker has not read from the connection before. */
  acknowledge(receiver: ConnectionReceiver, id: number): void {
    const offers = this.#receivers.get(receiver)
    // Closes the copy of the primary; the connection stays open in the worker.
    offers?.get(id)?.socket.destroy()
    offers?.delete(id)
    this.distribute()
  }
  /** Removes a worker that has exited and queues its unacknowledged connections again. */
  removeWorker(receiver: ConnectionReceiver): void {
    this.#queue.unshift(...(this.#receivers.get(receiver)?.values() ?? []))
    this.#receivers.delete(receiver)
    this.distribute()
  }
  /** Offers queued connections to workers that are free. */
  distribute(): void {
    for (let receiver = this.#leastLoaded(); receiver; receiver = this.#leastLoaded()) {
      const next = this.#queue.shift()
      if (!next) return
      const offers = this.#receivers.get(receiver) ?? new Map<number, QueuedConnection>()
      this.#receivers.delete(receiver)
      this.#receivers.set(receiver, offers.set(++this.#serial, next))
      receiver.offer(this.#serial, next.socket)
    }
  }
  close(): void {
    this.#server.close(() => {})
  }

  #accept(socket: Socket): void {
    // A client may disconnect while it is queued; the worker notices.
    socket.on('error', () => {})
    const since = this.#now()
    const first = this.#queue[0]?.since ?? since
    if (since - first > MAX_WAIT) return refuseSocket(socket, OVERLOADED)
    this.#queue.push({ socket, since })
    this.distribute()
  }
  /** The open worker with the fewest offers; round robin among equals. */
  #leastLoaded(): ConnectionReceiver | undefined {
    let receiver: ConnectionReceiver | undefined
    let least = MAX_OFFERS
    for (const [candidate, offers] of this.#receivers) {
      if (!candidate.open || offers.size >= least) continue
      receiver = candidate
      least = offers.size
    }
    return receiver
  }
}
