/** The retry schedule of failed deliveries. Pure. */

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]
/** ms between one attempt and the next, of the Standard Webhooks specification. */
export const DELAYS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]
export const ATTEMPTS = DELAYS.length + 1
const JITTER = 0.1
/** The longest accepted Retry-After: the longest delay of the schedule. */
const MAX_DELAY = 24 * HOUR

/** ms until the next attempt; undefined if no attempts are `remaining`. `random`: in [0, 1),
 *  spreads the retries of receivers that failed together; `retryAfter`: ms, from the receiver. */
export const delayBefore = (
  remaining: number,
  random: number,
  retryAfter = 0,
): number | undefined => {
  const delay = remaining > 0 ? DELAYS[Math.max(0, DELAYS.length - remaining)] : undefined
  if (delay === undefined) return undefined
  const spread = delay * (1 - JITTER + 2 * JITTER * random)
  return Math.round(Math.max(spread, Math.min(retryAfter, MAX_DELAY)))
}

/** RFC 9110 §10.2.3: seconds, or a date. ms from `now`; undefined when it is neither. */
export const retryAfterOf = (value: unknown, now: number): number | undefined => {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND
  const at = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
