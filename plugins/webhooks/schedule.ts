/** When a delivery that failed is tried again. Pure. */

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]
/** Standard Webhooks: ms between one attempt and the next. */
export const DELAYS: readonly number[] = [
  ...[5 * SECOND, 5 * MINUTE, 30 * MINUTE],
  ...[2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
]
export const ATTEMPTS = DELAYS.length + 1
const JITTER = 0.1
/** No receiver puts us off for longer than the schedule itself does. */
const MAX_DELAY = 24 * HOUR

/** ms until the next of the `left` attempts; undefined when none is left. `asked`: ms that the receiver wants us to
 *  wait; `random`: in [0, 1), so that receivers which fell together are not asked together. */
export const delayBefore = (left: number, random: number, asked = 0): number | undefined => {
  const delay = left > 0 ? DELAYS[Math.max(0, DELAYS.length - left)] : undefined
  if (delay === undefined) return undefined
  const spread = delay * (1 - JITTER + 2 * JITTER * random)
  return Math.round(Math.max(spread, Math.min(asked, MAX_DELAY)))
}

/** RFC 9110 §10.2.3: seconds, or a date. ms from `now`; undefined when it is neither. */
export const retryAfterOf = (value: unknown, now: number): number | undefined => {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND
  const at = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
