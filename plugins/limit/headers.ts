/** Rate-limit headers by dialect. */
import type { Headers } from '../../engine/plugin.ts'

/** The state of one rate-limit window. */
export interface WindowState {
  readonly limit: bigint
  /** Negative when more was used than allowed. */
  readonly remaining: bigint
  /** ms until the window is full again. */
  readonly ms: number
}
/** Units with headers; no client reads headers of other limits. */
export type CountedUnit = 'requests' | 'tokens'
export type WindowStates = Partial<Record<CountedUnit, WindowState>>
export type RateLimitHeaders = (states: WindowStates) => Headers

interface HeaderNames {
  limit(unit: CountedUnit): string
  remaining(unit: CountedUnit): string
  reset(unit: CountedUnit): string
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
    limit: unit => `x-ratelimit-limit-${unit}`,
    remaining: unit => `x-ratelimit-remaining-${unit}`,
    reset: unit => `x-ratelimit-reset-${unit}`,
    until: duration,
  },
  anthropic: {
    limit: unit => `anthropic-ratelimit-${unit}-limit`,
    remaining: unit => `anthropic-ratelimit-${unit}-remaining`,
    reset: unit => `anthropic-ratelimit-${unit}-reset`,
    until: timestamp,
  },
}
const COUNTED_UNITS: readonly CountedUnit[] = ['requests', 'tokens']

/** A dialect without rate-limit headers gets none. */
export const rateLimitHeadersOf = (dialect: unknown): RateLimitHeaders => {
  const names = typeof dialect === 'string' ? DIALECT_HEADERS[dialect] : undefined
  if (!names) return () => ({})
  return states => {
    const headers: Headers = {}
    for (const unit of COUNTED_UNITS) {
      const state = states[unit]
      if (!state) continue
      headers[names.limit(unit)] = String(state.limit)
      headers[names.remaining(unit)] = String(state.remaining > 0n ? state.remaining : 0n)
      headers[names.reset(unit)] = names.until(state.ms)
    }
    return headers
  }
}
