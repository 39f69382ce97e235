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

/** ms until the next attempt; undefined if no attempts are `remaining`. `random`: in [0, 1),
 *  spreads the retries of receivers that failed together; `retryAfter`: ms, from the receiver, of
 *  which no more than the longest delay counts. */
export const delayBefore = (
  remaining: number,
  random: number,
  retryAfter = 0,
  delays: readonly number[] = DELAYS,
): number | undefined => {
  const delay = remaining > 0 ? delays[Math.max(0, delays.length - remaining)] : undefined
  if (delay === undefined) return undefined
  const spread = delay * (1 - JITTER + 2 * JITTER * random)
  return Math.round(Math.max(spread, Math.min(retryAfter, delays.at(-1) ?? 0)))
}
