/** Whether this process has more to do than it can: its timers come late although it is the one that is busy. */

const EVERY = 50
/** Later than this twice in a row, ms: new requests are turned away, so that those under way are served in time. */
const LATE = 250
/** Share of the time that it must have worked itself: one that others keep from working gains nothing by refusing. */
const OWN = 0.4
/** While overloaded, ms: who comes when one turn of the loop has lasted this long is turned away, so nobody waits long. */
const TURN = 10
const OFTEN = 10
/** Requests that keep the loop for so long between two timers, ms, the second time in a row, are overload as well: under three times
 *  what can be served each turn is three times the last, and the second late timer would come after seconds. */
const CROWD = { before: 100, now: 250 }
/** What counts of the time between two requests, ms: a single long one, or a version that is compiled, is no crowd. */
const GAP = 20
/** It is over when nobody had to be turned away for so long, ms. */
const CALM = 1_000

export class Overload {
  #late = 0
  #last = performance.now()
  #worked = workedMs()
  /** When somebody was last turned away; undefined while all are served. */
  #shed: number | undefined
  /** ms that requests took since the last timer, and before that. */
  #crowd = 0
  #before = 0
  #asked = this.#last
  #timer: NodeJS.Timeout
  constructor() {
    this.#timer = this.#tickEvery(EVERY)
  }
  /** Asked once by each request, when it comes (ms, monotonic). */
  sheds(now: number): boolean {
    if (this.#shed === undefined && !this.#crowded(now)) return false
    // A whole crowd is read in one turn of the loop, in which no timer comes: so the clock is asked.
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
    this.#before = this.#crowd
    this.#crowd = 0
    if (this.#shed === undefined) this.#suspect(now, since)
    else if (now - this.#shed > CALM) this.#turn(undefined, EVERY)
  }
  #crowded(now: number): boolean {
    this.#crowd += Math.min(now - this.#asked, GAP)
    this.#asked = now
    if (this.#crowd <= CROWD.now || this.#before <= CROWD.before) return false
    this.#crowd = 0
    if ((workedMs() - this.#worked) / (now - this.#last) <= OWN) return false
    this.#turn(now, OFTEN)
    return true
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
