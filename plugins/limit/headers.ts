/** Rate-limit headers in the dialect of a route. */
import type { Headers } from '../../engine/plugin.ts'
import type { Dialect, LimitUnit } from '../dialects/dialect.ts'
import { type DialectName, dialects } from '../dialects/index.ts'

/** The state of one rate-limit window. */
export interface WindowState {
  readonly limit: bigint
  /** Negative when more was used than allowed. */
  readonly remaining: bigint
  /** ms until the window is full again. */
  readonly ms: number
}
export type CountedUnit = LimitUnit
export type WindowStates = Partial<Record<CountedUnit, WindowState>>
export type RateLimitHeaders = (states: WindowStates) => Headers

const COUNTED_UNITS: readonly CountedUnit[] = ['requests', 'tokens']

/** A dialect without rate-limit headers gets none. */
export const rateLimitHeadersOf = (name: DialectName | undefined): RateLimitHeaders => {
  const dialect: Dialect | undefined = name && dialects[name]
  const names = dialect?.limitHeaders
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
