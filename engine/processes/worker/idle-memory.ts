/** Returns the memory of an idle process to the system. V8 collects when memory is allocated, so
 *  what a start or a burst of requests left behind would stay for as long as a gateway rests. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** ms between two looks. */
const INTERVAL = 5_000
/** Idle looks in a row before a collection: one after a start, half a minute after requests, whose
 *  code it drops. Each stops the process for up to 60 ms. */
const LOOKS = { afterStart: 1, afterRequests: 6 }
/** A process that uses less of a core than this is idle: its timers alone take up to a third. */
const IDLE_SHARE = 0.03
/** Bytes by which the heap must have grown since the last collection. */
const MIN_GROWTH = 4 * 1024 * 1024

/** Looks at intervals of ms, and collects once after a growth. Does not keep the process alive. */
export const collectWhenIdle = (interval = INTERVAL): void => {
  let cpu = process.cpuUsage()
  const collectAll = createCollector()
  let [idleLooks, neededLooks, collectedSize] = [0, LOOKS.afterStart, 0]
  const look = (): void => {
    const { user, system } = process.cpuUsage(cpu)
    cpu = process.cpuUsage()
    idleLooks = (user + system) / 1_000 < IDLE_SHARE * interval ? idleLooks + 1 : 0
    if (idleLooks < neededLooks || heapSize() < collectedSize + MIN_GROWTH) return
    collectAll()
    neededLooks = LOOKS.afterRequests
    collectedSize = heapSize()
    // The collection itself does not count.
    cpu = process.cpuUsage()
  }
  setInterval(look, interval).unref()
}
const heapSize = (): number => getHeapStatistics().total_heap_size

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void
/** A collection that also compacts: only whole pages are returned. */
const createCollector = (): (() => void) => {
  let collect: Collect | undefined
  return () => {
    if (!collect) {
      // Node has no function for it; a new context gets the one of V8.
      setFlagsFromString('--expose-gc')
      collect = runInNewContext('gc') as Collect
      setFlagsFromString('--no-expose-gc')
    }
    collect({ type: 'major', flavor: 'last-resort' })
  }
}
