/** Timers and the monotonic clock by hand, for code that looks at the time itself: nothing waits, nothing is late by chance. */
import type { Test } from 'tap'

export interface Ticks {
  /** Lets this much time pass, then fires every interval of `every` ms that still runs, once. */
  pass(ms: number, every: number): void
  /** Share of the time that passes in which this process is said to work itself. */
  busy: number
  /** How many intervals run. */
  readonly running: number
}

/** Until `release` (or the end of the test), intervals fire only when told to and `performance.now()` stands still. */
export const byHand = (t: Test): Ticks & { release(): void } => {
  const real = { setInterval, clearInterval, now: performance.now, cpuUsage: process.cpuUsage }
  const intervals = new Map<object, { readonly run: () => void; readonly every: number }>()
  let now = Math.ceil(real.now.call(performance)) // whole, so that sums are exact
  let worked = 0
  performance.now = () => now
  process.cpuUsage = (() => ({ user: worked * 1_000, system: 0 })) as typeof process.cpuUsage
  globalThis.setInterval = ((run: () => void, every: number) => {
    const timer = { unref: () => timer, ref: () => timer }
    intervals.set(timer, { run, every })
    return timer
  }) as unknown as typeof setInterval
  globalThis.clearInterval = ((timer: object) => {
    if (!intervals.delete(timer)) real.clearInterval(timer as NodeJS.Timeout)
  }) as typeof clearInterval
  const release = (): void => {
    performance.now = real.now
    process.cpuUsage = real.cpuUsage
    globalThis.setInterval = real.setInterval
    globalThis.clearInterval = real.clearInterval
  }
  t.teardown(release)
  return {
    busy: 1,
    pass(ms, every) {
      now += ms
      worked += ms * this.busy
      for (const each of [...intervals.values()]) if (each.every === every) each.run()
    },
    get running() {
      return intervals.size
    },
    release,
  }
}
