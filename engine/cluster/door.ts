/** The listening socket: accepts every connection and hands it to a worker. What a dead worker never took goes to another. */
import { createServer, type Socket } from 'node:net'
import { refuseSocket } from '../parting.ts'

// node:cluster hands out connections too, but forgets those on their way to a worker that dies: their clients wait for
// ever. Here a worker says that it took one before it reads from it, and until then the primary holds on to it. The
// port also stays open while there is no worker at all.

/** A worker, as far as the door is concerned. */
export interface Taker {
  /** Whether it may be offered more. */
  readonly open: boolean
  offer(id: number, socket: Socket): void
}
export interface Door {
  /** Resolves to the port. */
  listen(host: string, port: number): Promise<number>
  enter(taker: Taker): void
  /** It read nothing of this one before it said so. */
  taken(taker: Taker, id: number): void
  /** It is gone. */
  lost(taker: Taker): void
  /** Somebody may be open again. */
  stir(): void
  close(): void
}
/** Offers a worker may have open. Node sends one handle at a time anyway, and who waits here goes to whoever is free. */
const OFFERS = 2
/** When the first of those who wait has done so for this long (ms), whoever comes is turned away at once. */
const PATIENCE = 1_000
const OVERLOADED = {
  status: 503,
  body: Buffer.from(
    '{"error":{"code":"OVERLOADED","message":"The gateway is overloaded; try again in a moment."}}',
  ),
}

interface Waiting {
  readonly socket: Socket
  readonly since: number
}

export const openDoor = (now: () => number = () => performance.now()): Door => {
  const takers = new Map<Taker, Map<number, Waiting>>()
  const waiting: Waiting[] = []
  let serial = 0

  /** Whoever has the fewest offers open; in turn, since the last one served goes to the end. */
  const free = (): Taker | undefined => {
    let found: Taker | undefined
    let least = OFFERS
    for (const [taker, offers] of takers) {
      if (!taker.open || offers.size >= least) continue
      found = taker
      least = offers.size
    }
    return found
  }
  const handOut = (): void => {
    for (let taker = free(); taker; taker = free()) {
      const next = waiting.shift()
      if (!next) return
      const offers = takers.get(taker) ?? new Map()
      takers.delete(taker)
      takers.set(taker, offers.set(++serial, next))
      taker.offer(serial, next.socket)
    }
  }
  const server = createServer({ pauseOnConnect: true, noDelay: true }, socket => {
    // Its client may leave while it waits; the worker will notice.
    socket.on('error', () => {})
    const since = now()
    if (since - (waiting[0]?.since ?? since) > PATIENCE) return refuseSocket(socket, OVERLOADED)
    waiting.push({ socket, since })
    handOut()
  })
  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port, backlog: 1_024 }, () => {
          const address = server.address()
          resolve(typeof address === 'object' && address ? address.port : port)
        })
      }),
    enter(taker) {
      takers.set(taker, new Map())
      handOut()
    },
    taken(taker, id) {
      const offers = takers.get(taker)
      // Closes this process's copy of it; the connection lives on in the worker.
      offers?.get(id)?.socket.destroy()
      offers?.delete(id)
      handOut()
    },
    lost(taker) {
      waiting.unshift(...(takers.get(taker)?.values() ?? []))
      takers.delete(taker)
      handOut()
    },
    stir: handOut,
    close: () => void server.close(() => {}),
  }
}
