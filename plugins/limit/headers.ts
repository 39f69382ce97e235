/** How each dialect's clients are told where they stand. A table: dialect -> names and spelling. */
import type { Headers } from '../../engine/plugin.ts'

/** The standing of one window. */
export interface WindowState {
  readonly limit: bigint
  /** Below zero when more was used than allowed. */
  readonly left: bigint
  /** ms until it is whole again. */
  readonly ms: number
}
/** What can be told of: the other limits have no header that any client reads. */
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
/** RFC 3339, to the second that is surely behind it. */
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

/** Of a dialect that has none: nothing. */
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
