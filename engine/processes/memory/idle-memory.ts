/** Returns the memory of an idle process to the system. V8 collects when memory is allocated, so
 *  what a start or a burst of requests left behind would stay for as long as a gateway rests. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** ms between two checks. */
const INTERVAL = 5_000
/** Idle checks in a row before a collection: one for what the start left, later half a minute,
 *  since a collection drops the code of requests. Each stops the process for up to 60 ms. */
const IDLE_CHECKS = { atStart: 1, later: 6 }
/** The share of time in the event loop below which a process is idle: on a busy machine a process
 *  that has much to do gets little CPU. Timers alone take up to 1 %. */
const IDLE_SHARE = 0.03
/** Bytes by which the heap must have grown since the last collection. */
const MIN_GROWTH = 4 * 1024 * 1024

/** Checks every `interval` ms whether the process is idle, and collects garbage if the heap has
 *  grown since the last collection. The timer does not keep the process alive. */
export const collectWhenIdle = (interval = INTERVAL): void => {
  let start = performance.eventLoopUtilization()
  const collectAll = createCollector()
  let [checks, idleChecks, collectedSize] = [0, 0, 0]
  const check = (): void => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, start)
    start = now
    idleChecks = utilization < IDLE_SHARE ? idleChecks + 1 : 0
    checks++
    const isStarting = collectedSize === 0 && checks <= IDLE_CHECKS.later
    if (idleChecks < (isStarting ? IDLE_CHECKS.atStart : IDLE_CHECKS.later)) return
    if (heapSize() < collectedSize + MIN_GROWTH) return
    collectAll()
    collectedSize = heapSize()
    // The collection itself does not count.
    start = performance.eventLoopUtilization()
  }
  setInterval(check, interval).unref()
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
