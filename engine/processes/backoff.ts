/** When to start again what ended, and how long something has been silent. Time is asked, never waited for. */

export interface Backoff {
  /** One more ended by itself: ms to wait before the next start. */
  ended(): number
  /** Whether it ends again and again. */
  readonly looping: boolean
}
type Clock = () => number
const monotonic: Clock = () => performance.now()

const WINDOW = 30_000
const MOST = 5
/** From the fifth end in the window on: no fork storm, but still about a second where it may be bad luck. */
const DELAYS = [0, 50, 100, 200, 1_000, 2_000, 4_000, 8_000, 10_000]

export const createBackoff = (now: Clock = monotonic): Backoff => {
  let ends: readonly number[] = []
  const lately = (): readonly number[] => ends.filter(at => now() - at < WINDOW)
  return {
    ended() {
      ends = [...lately(), now()]
      return DELAYS[Math.min(ends.length, DELAYS.length) - 1] ?? 0
    },
    get looping() {
      return lately().length >= MOST
    },
  }
}

export interface Watchdog {
  heard(id: number): void
  forget(id: number): void
  /** ms without a sign of life. */
  silence(id: number): number
  /** To be called every `interval`, so that it notices when this process itself stood still. */
  tick(): void
}

export const createWatchdog = (interval: number, now: Clock = monotonic): Watchdog => {
  const heard = new Map<number, number>()
  let last = now()
  return {
    heard: id => void heard.set(id, now()),
    forget: id => void heard.delete(id),
    silence: id => now() - (heard.get(id) ?? now()),
    tick() {
      const late = now() - last - interval
      last = now()
      // The machine slept or is overloaded: what we did not hear, nobody may have been able to say.
      if (late > interval) for (const [id, at] of heard) heard.set(id, at + late)
    },
  }
}
