/** Rate-limit headers by dialect. */
import type { Headers } from '../../engine/plugin.ts'

/** The state of one rate-limit window. */
export interface WindowState {
  readonly limit: bigint
  /** Negative when more was used than allowed. */
  readonly left: bigint
  /** ms until the window is full again. */
  readonly ms: number
}
/** Units with headers; no client reads headers of other limits. */
export type CountedUnit = 'requests' | 'tokens'
export type WindowStates = Partial<Record<CountedUnit, WindowState>>
export type RateLimitHeaders = (standings: WindowStates) => Headers

interface HeaderNames {
  limit(counted: CountedUnit): string
  remaining(counted: CountedUnit): string
  reset(counted: CountedUnit): string
  until(ms: number): string
}

/** `120ms`, `6s`, `6m0s`, `1h0m0s`: the largest unit first, as Go writes durations. */
const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.max(1, Math.ceil(ms))}ms`
  const seconds = Math.ceil(ms / 1_000)
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  if (hours > 0) return `${hours}h${minutes}m${seconds % 60}s`
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`
}
/** RFC 3339, rounded up to a second. */
const timestamp = (ms: number): string =>
  new Date(Math.ceil((Date.now() + ms) / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')

const DIALECT_HEADERS: Readonly<Record<string, HeaderNames>> = {
  openai: {
    limit: counted => `x-ratelimit-limit-${counted}`,
    remaining: counted => `x-ratelimit-remaining-${counted}`,
    reset: counted => `x-ratelimit-reset-${counted}`,
    until: duration,
  },
  anthropic: {
    limit: counted => `anthropic-ratelimit-${counted}-limit`,
    remaining: counted => `anthropic-ratelimit-${counted}-remaining`,
    reset: counted => `anthropic-ratelimit-${counted}-reset`,
    until: timestamp,
  },
}
const COUNTED: readonly CountedUnit[] = ['requests', 'tokens']

/** A dialect without rate-limit headers gets none. */
export const rateLimitHeadersOf = (dialect: unknown): RateLimitHeaders => {
  const spelling = typeof dialect === 'string' ? DIALECT_HEADERS[dialect] : undefined
  if (!spelling) return () => ({})
  return standings => {
    const headers: Headers = {}
    for (const counted of COUNTED) {
      const standing = standings[counted]
      if (!standing) continue
      headers[spelling.limit(counted)] = String(standing.limit)
      headers[spelling.remaining(counted)] = String(standing.left > 0n ? standing.left : 0n)
      headers[spelling.reset(counted)] = spelling.until(standing.ms)
    }
    return headers
  }
}
