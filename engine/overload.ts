/** Whether this process has more to do than it can: its timers come late although it is the one that is busy. */

const EVERY = 50
/** Later than this twice in a row, ms: new requests are turned away, so that those under way are served in time. */
const LATE = 250
/** Share of the time that it must have worked itself: one that others keep from working gains nothing by refusing. */
const OWN = 0.4

export class Overload {
  #late = 0
  readonly #timer: NodeJS.Timeout
  constructor() {
    let last = performance.now()
    let worked = workedMs()
    this.#timer = setInterval(() => {
      const now = performance.now()
      const work = workedMs()
      const busy = (work - worked) / (now - last) > OWN
      this.#late = busy && now - last - EVERY > LATE ? this.#late + 1 : 0
      last = now
      worked = work
    }, EVERY)
    this.#timer.unref()
  }
  get shedding(): boolean {
    return this.#late >= 2
  }
  close(): void {
    clearInterval(this.#timer)
  }
}
const workedMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
