/** Detects overload: timers fire late while this process itself uses the CPU.
 *
 *  normal ──two late timers, crowded twice──▶ shedding ──none shed for CALM_MS──▶ normal */

const TIMER_MS = 50
/** A timer later than this, twice in a row, ms: new requests are refused. */
const LATE_MS = 250
/** Least share of CPU use: a process that others keep waiting gains nothing by refusing. */
const OWN_CPU_SHARE = 0.4
/** While shedding, a request is refused when its turn of the loop has lasted this, ms. */
const LONG_TURN_MS = 10
const OVERLOADED_TIMER_MS = 10
/** Requests that occupy the loop this long between two timers, ms, twice in a row, are overload as
 *  well: at three times the load that can be served each turn takes three times the last, and the
 *  second late timer comes after seconds. */
const CROWD_MS = { previous: 100, current: 250 }
/** Most ms that count between two requests: one long request is not an overload. */
const LONGEST_GAP_MS = 20
/** Overload ends when no request was refused for this long, ms. */
const CALM_MS = 1_000

export type OverloadGuard = Pick<Overload, 'shouldShed' | 'close'>
export class Overload {
  #lateTimers = 0
  #lastTimer = performance.now()
  #cpuAtCheck = cpuMs()
  /** When a request was last refused; undefined while all are served. */
  #shedAt: number | undefined
  /** ms that requests took since the last timer, and between the two timers before. */
  #requestTime = 0
  #previousRequestTime = 0
  #lastRequest = this.#lastTimer
  #timer: NodeJS.Timeout
  constructor() {
    this.#timer = this.#restartTimer(TIMER_MS)
  }
  /** Called once by each request when it arrives. `now`: ms, monotonic. */
  shouldShed(now: number): boolean {
    if (this.#shedAt === undefined && !this.#isCrowded(now)) return false
    // No timer fires in a turn of the loop that reads many requests: the clock decides.
    if (now - this.#lastTimer <= OVERLOADED_TIMER_MS + LONG_TURN_MS) return false
    this.#shedAt = now
    return true
  }
  close(): void {
    clearInterval(this.#timer)
  }
  #restartTimer(every: number): NodeJS.Timeout {
    clearInterval(this.#timer)
    return setInterval(() => this.#onTimer(), every).unref()
  }
  #onTimer(): void {
    const now = performance.now()
    const since = now - this.#lastTimer
    this.#lastTimer = now
    this.#previousRequestTime = this.#requestTime
    this.#requestTime = 0
    if (this.#shedAt === undefined) this.#checkTimer(now, since)
    else if (now - this.#shedAt > CALM_MS) this.#setShedding(undefined, TIMER_MS)
  }
  #isCrowded(now: number): boolean {
    this.#requestTime += Math.min(now - this.#lastRequest, LONGEST_GAP_MS)
    this.#lastRequest = now
    if (this.#requestTime <= CROWD_MS.current || this.#previousRequestTime <= CROWD_MS.previous)
      return false
    this.#requestTime = 0
    if ((cpuMs() - this.#cpuAtCheck) / (now - this.#lastTimer) <= OWN_CPU_SHARE) return false
    this.#setShedding(now, OVERLOADED_TIMER_MS)
    return true
  }
  #checkTimer(now: number, since: number): void {
    const cpu = cpuMs()
    const busy = (cpu - this.#cpuAtCheck) / since > OWN_CPU_SHARE
    this.#cpuAtCheck = cpu
    this.#lateTimers = busy && since - TIMER_MS > LATE_MS ? this.#lateTimers + 1 : 0
    if (this.#lateTimers >= 2) this.#setShedding(now, OVERLOADED_TIMER_MS)
  }
  #setShedding(shed: number | undefined, every: number): void {
    this.#shedAt = shed
    this.#lateTimers = 0
    this.#cpuAtCheck = cpuMs()
    this.#timer = this.#restartTimer(every)
  }
}
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
