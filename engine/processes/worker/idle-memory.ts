/** Returns the memory of an idle process to the system. V8 collects when memory is allocated, so
 *  what a start or a burst of requests left behind would stay for as long as a gateway rests. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** ms between two looks. */
const INTERVAL = 5_000
/** A process that uses less of a core than this is idle: its timers alone take up to a third. */
const IDLE_SHARE = 0.03
/** Least ms between two collections: each stops the process for up to 60 ms. */
const PAUSE = 60_000
/** Bytes by which the heap must have grown since the last collection. */
const MIN_GROWTH = 4 * 1024 * 1024

/** Looks at intervals of ms, and collects once after a growth. Does not keep the process alive. */
export const collectWhenIdle = (interval = INTERVAL): void => {
  let cpu = process.cpuUsage()
  const collectAll = createCollector()
  let [collectedSize, collectedAt] = [0, Number.NEGATIVE_INFINITY]
  const look = (): void => {
    const { user, system } = process.cpuUsage(cpu)
    cpu = process.cpuUsage()
    const isIdle = (user + system) / 1_000 < IDLE_SHARE * interval
    const isDue = performance.now() > collectedAt + PAUSE
    if (!isIdle || !isDue || heapSize() < collectedSize + MIN_GROWTH) return
    collectAll()
    collectedSize = heapSize()
    collectedAt = performance.now()
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
