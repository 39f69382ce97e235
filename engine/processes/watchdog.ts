/** Watchdog of heartbeats: how long each process has been silent. The caller polls it. */

type Clock = () => number
const monotonic: Clock = () => performance.now()

export interface Watchdog {
  /** Records a heartbeat. */
  beat(id: number): void
  forget(id: number): void
  /** ms since the last heartbeat. */
  silence(id: number): number
  /** Call it every `interval` ms: a late call shows that this process itself was stopped. */
  tick(): void
}

export const createWatchdog = (interval: number, now: Clock = monotonic): Watchdog => {
  const lastBeats = new Map<number, number>()
  let lastTick = now()
  return {
    beat: id => void lastBeats.set(id, now()),
    forget: id => void lastBeats.delete(id),
    silence: id => now() - (lastBeats.get(id) ?? now()),
    tick() {
      const delay = now() - lastTick - interval
      lastTick = now()
      // The machine slept or is overloaded, so heartbeats may not have been processed: they do not
      // count as missed.
      if (delay > interval) for (const [id, at] of lastBeats) lastBeats.set(id, at + delay)
    },
  }
}
