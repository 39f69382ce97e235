/** Writes to clients at the end of a turn of the event loop. A write wakes the process that reads
 *  it, and the core of that process, which costs more than any stage of a short call. Writes that
 *  follow each other at once wake it once. */
import type { Socket } from 'node:net'

const createTurnEnd = () => {
  const lastWrites: (() => void)[] = []
  const corked: Socket[] = []
  const flush = (): void => {
    const [writes, sockets] = [lastWrites.splice(0), corked.splice(0)]
    // The last write of a response also sends what its socket holds back.
    for (const write of writes) void Promise.try(write)
    for (const socket of sockets) socket.uncork()
  }
  const add = <T>(list: T[], each: T): void => {
    list.push(each)
    if (lastWrites.length + corked.length === 1) setImmediate(flush)
  }
  return {
    /** Runs the last write of a response at the end of this turn. One that throws is an unhandled
     *  rejection, and stops no other. */
    run: (write: () => void): void => add(lastWrites, write),
    /** Everything written to a socket in this turn is sent in one write. */
    cork(socket: Socket | null): void {
      if (!socket || socket.writableCorked > 0 || socket.writableLength > MAX_CORKED) return
      socket.cork()
      add(corked, socket)
    },
  }
}
/** Bytes in a socket up to which it holds back more. */
const MAX_CORKED = 16_384

export const turnEnd = createTurnEnd()
