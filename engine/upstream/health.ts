/** Whether an origin may be picked: ejected after failures in a row, readmitted by a probe. Pure; time comes in. */

export interface HealthRules {
  /** Failures in a row that eject. */
  readonly failures: number
  /** How long, ms. */
  readonly eject: number
}

export class Health {
  #failures = 0
  #until = 0
  #probing = false
  #resting = 0

  /** Ready, or due for the one request that finds out whether it is back. */
  fit(now: number): boolean {
    if (now < this.#resting) return false
    return this.#until === 0 || (now >= this.#until && !this.#probing)
  }
  ejected(now: number): boolean {
    return this.#until !== 0 && now < this.#until
  }
  /** When it may be asked again: tells which of several unfit ones is the least unfit. */
  get until(): number {
    return Math.max(this.#until, this.#resting)
  }
  /** It was ejected, and has not come back yet. */
  get doubtful(): boolean {
    return this.#until !== 0
  }
  /** A request goes there; if the origin was ejected, this one is the probe. */
  tried(now: number): void {
    if (this.#until !== 0 && now >= this.#until) this.#probing = true
  }
  succeeded(): void {
    this.#failures = 0
    this.#until = 0
    this.#probing = false
  }
  /** True when this failure ejects it. A failed probe ejects again at once. */
  failed(now: number, rules: HealthRules): boolean {
    this.#failures++
    if (!this.#probing && this.#failures < rules.failures) return false
    this.#probing = false
    this.#until = now + rules.eject
    return true
  }
  /** It asked for a pause (Retry-After): not its fault, but not the next pick either. */
  rest(until: number): void {
    this.#probing = false
    this.#resting = Math.max(this.#resting, until)
  }
  /** The probe ended without telling anything (the client left). */
  abandoned(): void {
    this.#probing = false
  }
}
