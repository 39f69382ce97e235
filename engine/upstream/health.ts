/** Whether an origin may be picked. Pure: times are arguments, ms, monotonic.
 *
 *  healthy ──`failures`──▶ ejected ──`eject`──▶ due ──attempt──▶ probing ──▶ healthy, ejected */
import { type HeaderFields, retryAfterIn } from '../kit.ts'

export interface HealthRules {
  /** Failures in a row after which an origin is ejected. */
  readonly failures: number
  /** How long an ejection lasts, ms. */
  readonly eject: number
  /** A 429 rests the key that it was sent with, since there are others: not the address. */
  readonly restsKeys?: boolean
  /** Probes an ejected origin after so many ms; otherwise a request of a client does. */
  readonly probe?: ((health: Health, ms: number) => void) | undefined
}
export interface HealthListener {
  onEject(ms: number): void
  onReadmit(): void
  /** A target was warmed up, or could not be, after so many ms. */
  onWarmUp?(target: string, ms: number, isWarm: boolean): void
  /** `reason`: the upstream answered 429, or the gateway expects that it would. */
  onLimit?(ms: number, target: string, reason: 'limited' | 'steered'): void
}

/** Rest after a 429 without Retry-After, and the longest Retry-After followed, ms. */
const LIMIT = { default: 1_000, longest: 60_000 }
/** ms until an address or a key that answered 429 is used again. */
export const limitTime = (headers: HeaderFields = {}): number =>
  Math.min(retryAfterIn(headers) || LIMIT.default, LIMIT.longest)

export class Health {
  protected readonly listener: HealthListener | undefined
  /** How often it was ejected. */
  ejections = 0
  #failures = 0
  #ejectedUntil = 0
  #probing = false
  #restUntil = 0
  /** When it was ejected or readmitted last. */
  #changedAt = 0
  #restedAt = 0
  /** Whether no request of a client may be the probe. */
  #isProbedApart = false

  constructor(listener?: HealthListener) {
    this.listener = listener
  }
  /** Healthy, or due for the one request of a client that probes it. */
  isAvailable(now: number): boolean {
    if (now < this.#restUntil) return false
    if (this.#ejectedUntil === 0) return true
    return now >= this.#ejectedUntil && !this.#probing && !this.#isProbedApart
  }
  isEjected(now: number): boolean {
    return this.#ejectedUntil !== 0 && now < this.#ejectedUntil
  }
  /** When it may be picked again: decides between origins that are all unavailable. */
  get availableAt(): number {
    return Math.max(this.#ejectedUntil, this.#restUntil)
  }
  /** When it came into its state: healthy, resting, or ejected and not readmitted since. Undefined
   *  if it has been healthy all the time. */
  since(now: number): number | undefined {
    if (this.needsProbe) return this.#changedAt
    if (now < this.#restUntil) return this.#restedAt
    return Math.max(this.#changedAt, this.#restUntil) || undefined
  }
  /** It was ejected, and no response has readmitted it yet. */
  get needsProbe(): boolean {
    return this.#ejectedUntil !== 0
  }
  /** Records that a request is sent; if the origin was ejected, this request is the probe. */
  recordAttempt(now: number): void {
    if (this.#ejectedUntil !== 0 && now >= this.#ejectedUntil) this.#probing = true
  }
  /** Records the status of a response. `now`: ms, monotonic. `before`: for an error in a body, the
   *  failures in a row before its head. Returns these. */
  recordResponse(
    status: number,
    headers: HeaderFields | undefined,
    now: number,
    rules: HealthRules,
    before = this.#failures,
  ): number {
    if (status === 429 && !rules.restsKeys) this.rest(now + limitTime(headers), now)
    else if (status >= 500) {
      this.#failures = Math.max(this.#failures, before)
      this.recordFailure(now, rules)
    } else this.recordSuccess(now)
    return before
  }
  recordSuccess(now: number): void {
    this.#failures = 0
    if (this.#ejectedUntil === 0) return
    this.#ejectedUntil = 0
    this.#changedAt = now
    this.#probing = false
    this.listener?.onReadmit()
  }
  /** Returns true when this failure ejects the origin. A failed probe ejects again at once. */
  recordFailure(now: number, rules: HealthRules): boolean {
    this.#failures++
    if (!this.#probing && this.#failures < rules.failures) return false
    this.#probing = false
    this.ejections++
    if (this.#ejectedUntil === 0) this.#changedAt = now
    this.#ejectedUntil = now + rules.eject
    this.#isProbedApart = rules.probe !== undefined
    this.listener?.onEject(rules.eject)
    rules.probe?.(this, rules.eject)
    return true
  }
  /** Pauses the origin for its Retry-After: no failure, but it is not picked meanwhile. */
  rest(until: number, now: number): void {
    this.#probing = false
    if (now >= this.#restUntil) this.#restedAt = now
    this.#restUntil = Math.max(this.#restUntil, until)
  }
  /** The probe ended without a result (the client left). */
  recordAbandoned(): void {
    this.#probing = false
  }
}
