/** Whether this process has more to do than it can: its timers come late although it is the one that is busy. */

const EVERY = 50
/** Later than this twice in a row, ms: new requests are turned away, so that those under way are served in time. */
const LATE = 250
/** Share of the time that it must have worked itself: one that others keep from working gains nothing by refusing. */
const OWN = 0.4
/** While overloaded, ms: who comes when one turn of the loop has lasted this long is turned away, so nobody waits long. */
const TURN = 30
const OFTEN = 10
/** It is over when nobody had to be turned away for so long, ms. */
const CALM = 1_000

export class Overload {
  #late = 0
  #last = performance.now()
  #worked = workedMs()
  /** When somebody was last turned away; undefined while all are served. */
  #shed: number | undefined
  #timer: NodeJS.Timeout
  constructor() {
    this.#timer = this.#tickEvery(EVERY)
  }
  /** Asked once by each request. */
  get shedding(): boolean {
    if (this.#shed === undefined) return false
    // A whole crowd is read in one turn of the loop, in which no timer comes: so the clock is asked.
    const now = performance.now()
    if (now - this.#last <= OFTEN + TURN) return false
    this.#shed = now
    return true
  }
  close(): void {
    clearInterval(this.#timer)
  }
  #tickEvery(every: number): NodeJS.Timeout {
    clearInterval(this.#timer)
    return setInterval(() => this.#tick(), every).unref()
  }
  #tick(): void {
    const now = performance.now()
    const since = now - this.#last
    this.#last = now
    if (this.#shed === undefined) this.#suspect(now, since)
    else if (now - this.#shed > CALM) this.#turn(undefined, EVERY)
  }
  #suspect(now: number, since: number): void {
    const worked = workedMs()
    const busy = (worked - this.#worked) / since > OWN
    this.#worked = worked
    this.#late = busy && since - EVERY > LATE ? this.#late + 1 : 0
    if (this.#late >= 2) this.#turn(now, OFTEN)
  }
  #turn(shed: number | undefined, every: number): void {
    this.#shed = shed
    this.#late = 0
    this.#worked = workedMs()
    this.#timer = this.#tickEvery(every)
  }
}
const workedMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
