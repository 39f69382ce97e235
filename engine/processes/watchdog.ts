/** Watchdog of heartbeats: how long each process has been silent. The caller polls it. */
import { readFileSync } from 'node:fs'

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

/** ms that the main thread of a process has waited for a core since its start, as Linux counts; 0
 *  elsewhere and for a process that has ended. */
export const readCoreWait = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
/** Silence of one process without the time for which it waited for a core: a busy machine is not
 *  the fault of the process. */
export class OwnSilence {
  readonly #readWait: () => number
  #waitBefore: number | undefined

  /** `readWait`: ms that the process has waited so far. */
  constructor(readWait: () => number) {
    this.#readWait = readWait
  }
  /** `silence`: ms since the last heartbeat. Nothing is read below `notice` ms. */
  of(silence: number, notice: number): number {
    if (silence <= notice) {
      this.#waitBefore = undefined
      return silence
    }
    const wait = this.#readWait()
    this.#waitBefore ??= wait
    return silence - (wait - this.#waitBefore)
  }
}
