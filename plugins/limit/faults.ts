/** What a limit refuses with. */
import { errors } from '../../engine/errors.ts'
import type { Fault, Headers } from '../../engine/plugin.ts'

export const fault = errors({
  RATE_LIMITED: [429, 'Rate limit reached: %s requests per %s. Try again in %d s.'],
  TOKENS_LIMITED: [
    429,
    'Rate limit reached: %s tokens per %s; this request needs about %s. Try again in %d s.',
  ],
  TOKENS_TOO_MANY: [
    429,
    'This request is too large: it needs about %s tokens, and the limit is %s per %s.',
  ],
  CONCURRENCY_EXCEEDED: [
    429,
    'Too many requests at once: %s at a time. Try again when one has ended.',
    { headers: { 'retry-after': '1' } },
  ],
})

/** The same, and where the caller stands. */
export const withRateLimitHeaders = (reason: Fault, headers: Headers): Fault =>
  Object.assign(reason, { headers: { ...reason.headers, ...headers } })
