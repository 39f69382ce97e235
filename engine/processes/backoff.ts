/** Restart back-off: the delay before a crashed process is started again. The caller waits. */

export interface Backoff {
  /** Counts one crash. Returns the ms to wait before the next start. */
  recordCrash(): number
  /** Whether at least `LOOP_CRASHES` crashes fell into the last `WINDOW` ms. */
  readonly looping: boolean
}
type Clock = () => number
const monotonic: Clock = () => performance.now()

const WINDOW = 30_000
const LOOP_CRASHES = 5
/** ms by crashes in the window. From the fifth on the delay grows, to prevent a fork storm; fewer
 *  crashes may be bad luck and delay a restart by less than a second. */
const DELAYS = [0, 50, 100, 200, 1_000, 2_000, 4_000, 8_000, 10_000]

export const createBackoff = (now: Clock = monotonic): Backoff => {
  let crashTimes: readonly number[] = []
  const recentCrashes = (): readonly number[] => crashTimes.filter(at => now() - at < WINDOW)
  return {
    recordCrash() {
      crashTimes = [...recentCrashes(), now()]
      return DELAYS[Math.min(crashTimes.length, DELAYS.length) - 1] ?? 0
    },
    get looping() {
      return recentCrashes().length >= LOOP_CRASHES
    },
  }
}
