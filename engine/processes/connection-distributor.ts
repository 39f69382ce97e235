/** The listening socket: accepts every connection and hands it to a worker. What a dead worker never took goes to another. */
import { createServer, type Socket } from 'node:net'
import { refuseSocket } from '../response/lingering-close.ts'

// node:cluster hands out connections too, but forgets those on their way to a worker that dies: their clients wait for
// ever. Here a worker says that it took one before it reads from it, and until then the primary holds on to it. The
// port also stays open while there is no worker at all.

/** A worker, as far as the door is concerned. */
export interface Taker {
  /** Whether it may be offered more. */
  readonly open: boolean
  offer(id: number, socket: Socket): void
}
/** Offers a worker may have open: it takes all of them in one turn of its loop. Who waits here goes to whoever is free. */
const OFFERS = 32
/** When the first of those who wait has done so for this long (ms), whoever comes is turned away at once. */
const PATIENCE = 1_000
const OVERLOADED = {
  status: 503,
  body: Buffer.from(
    '{"error":{"code":"OVERLOADED","message":"The gateway is overloaded. Retry in a moment."}}',
  ),
}

interface Waiting {
  readonly socket: Socket
  readonly since: number
}

export class Door {
  readonly #now: () => number
  readonly #takers = new Map<Taker, Map<number, Waiting>>()
  readonly #waiting: Waiting[] = []
  readonly #server = createServer({ pauseOnConnect: true, noDelay: true }, socket =>
    this.#arrive(socket),
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
  enter(taker: Taker): void {
    this.#takers.set(taker, new Map())
    this.stir()
  }
  /** It read nothing of this one before it said so. */
  taken(taker: Taker, id: number): void {
    const offers = this.#takers.get(taker)
    // Closes this process's copy of it; the connection lives on in the worker.
    offers?.get(id)?.socket.destroy()
    offers?.delete(id)
    this.stir()
  }
  /** It is gone. */
  lost(taker: Taker): void {
    this.#waiting.unshift(...(this.#takers.get(taker)?.values() ?? []))
    this.#takers.delete(taker)
    this.stir()
  }
  /** Somebody may be open again. */
  stir(): void {
    for (let taker = this.#free(); taker; taker = this.#free()) {
      const next = this.#waiting.shift()
      if (!next) return
      const offers = this.#takers.get(taker) ?? new Map<number, Waiting>()
      this.#takers.delete(taker)
      this.#takers.set(taker, offers.set(++this.#serial, next))
      taker.offer(this.#serial, next.socket)
    }
  }
  close(): void {
    this.#server.close(() => {})
  }

  #arrive(socket: Socket): void {
    // Its client may leave while it waits; the worker will notice.
    socket.on('error', () => {})
    const since = this.#now()
    const first = this.#waiting[0]?.since ?? since
    if (since - first > PATIENCE) return refuseSocket(socket, OVERLOADED)
    this.#waiting.push({ socket, since })
    this.stir()
  }
  /** Whoever has the fewest offers open; in turn, since the last one served goes to the end. */
  #free(): Taker | undefined {
    let found: Taker | undefined
    let least = OFFERS
    for (const [taker, offers] of this.#takers) {
      if (!taker.open || offers.size >= least) continue
      found = taker
      least = offers.size
    }
    return found
  }
}
