/** The listening socket: accepts every connection and hands it to a worker. What a dead worker never took goes to another. */
import { createServer, type Socket } from 'node:net'

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
/** Offers a worker may have open: enough to keep it busy, few enough to do well with another. */
const OFFERS = 16

export const openDoor = (): Door => {
  const takers = new Map<Taker, Map<number, Socket>>()
  const waiting: Socket[] = []
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
      const socket = waiting.shift()
      if (!socket) return
      const offers = takers.get(taker) ?? new Map()
      takers.delete(taker)
      takers.set(taker, offers.set(++serial, socket))
      taker.offer(serial, socket)
    }
  }
  const server = createServer({ pauseOnConnect: true, noDelay: true }, socket => {
    // Its client may leave while it waits; the worker will notice.
    socket.on('error', () => {})
    waiting.push(socket)
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
      offers?.get(id)?.destroy()
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
