/** Time for tests that cannot wait: manual timers and a manual monotonic clock, and shortened
 *  timeouts. */
import type { Test } from 'tap'
import { TIMEOUTS, type Timeouts } from '../../engine/store/timeouts.ts'
import { scaled } from './machine-speed.ts'

export interface ManualClock {
  /** Advances the clock, then fires every interval of `every` ms once. */
  pass(ms: number, every: number): void
  /** Share of the passing time in which this process reports to be busy. */
  busy: number
  /** Number of active intervals. */
  readonly running: number
}

/** Until `release` or the end of the test, intervals fire on demand and `performance.now()` does
 *  not run. */
export const manualClock = (t: Test): ManualClock & { release(): void } => {
  const real = { setInterval, clearInterval, now: performance.now, cpuUsage: process.cpuUsage }
  const intervals = new Map<object, { readonly run: () => void; readonly every: number }>()
  let now = Math.ceil(real.now.call(performance)) // whole, so that sums are exact
  let cpuMilliseconds = 0
  performance.now = () => now
  process.cpuUsage = (() => ({
    user: cpuMilliseconds * 1_000,
    system: 0,
  })) as typeof process.cpuUsage
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
      cpuMilliseconds += ms * this.busy
      for (const each of [...intervals.values()]) if (each.every === every) each.run()
    },
    get running() {
      return intervals.size
    },
    release,
  }
}

/** Until the end of the test `performance.now()` moves only by `pass`; timers run as usual. */
export const stillClock = (t: Test): { pass(ms: number): void } => {
  const real = performance.now
  let now = real.call(performance)
  performance.now = () => now
  t.teardown(() => {
    performance.now = real
  })
  return {
    pass(ms) {
      now += ms
    },
  }
}

/** Until the end of the test `Date.now()` moves only by `pass` and `moveTo`. `start` and `at`: ms
 *  since 1970. */
export const stillDate = (
  t: Test,
  start = Date.now(),
): { pass(ms: number): void; moveTo(at: number): void } => {
  const real = Date.now
  let now = start
  Date.now = () => now
  t.teardown(() => {
    Date.now = real
  })
  return {
    pass(ms) {
      now += ms
    },
    moveTo(at) {
      now = at
    },
  }
}

/** Scales all timeouts to a heartbeat of so many ms, on a usual machine. */
export const timeoutsAt = (heartbeat: number): Timeouts => {
  const entries = Object.entries(TIMEOUTS).map(([name, ms]) => [
    name,
    Math.round((ms * scaled(heartbeat)) / TIMEOUTS.heartbeat),
  ])
  return Object.fromEntries(entries) as Timeouts
}
