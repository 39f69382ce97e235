/** Admits an attempt to a key that a plugin limits: uses another key if this one is used up, or
 *  waits for a short time. */
import { errors } from '../errors.ts'
import type { Attempt, KeyRefusal, Target } from '../plugin.ts'
import type { Call } from '../request/exchange.ts'
import type { UpstreamKey } from './keys.ts'
import type { Upstream } from './upstreams.ts'

const fault = errors({
  UPSTREAM_KEYS_FULL: [
    503,
    'All keys of the upstream %s have reached their limits. Try again in %d s.',
    { retryable: true },
  ],
})

interface UnadmittedAttempt extends Attempt {
  readonly exchange: Call
  readonly candidate: { readonly upstream: Upstream }
  readonly choice: {
    readonly failedKeys: readonly UpstreamKey[]
    hasAnotherTarget(attempt: { readonly exchange: Call; readonly target: Target }): boolean
  }
  key: UpstreamKey | undefined
  sentAt: number
}

/** Undefined if the key admits the attempt at once. Rejects with UPSTREAM_KEYS_FULL. */
export const admitKey = (attempt: UnadmittedAttempt): Promise<void> | undefined => {
  const result = attempt.key?.limiter?.admit(attempt)
  return result && admitLater(attempt, result)
}

const admitLater = async (
  attempt: UnadmittedAttempt,
  first: KeyRefusal | Promise<KeyRefusal | undefined>,
): Promise<void> => {
  const { exchange, candidate, target, choice } = attempt
  const { upstream } = candidate
  const until = attempt.sentAt + upstream.keyWait
  const refused = new Map<UpstreamKey, number>()
  let refusal = await first
  while (refusal && attempt.key) {
    const { key } = attempt
    refused.set(key, refusal.ms)
    const now = performance.now()
    if (refusal.isForAll) key.health.limit(target.name ?? '', refusal.ms, now, 'steered')
    let next = nextKey(attempt, now, [...refused.keys()])
    if (!next) {
      const wait = Math.min(...refused.values())
      if (choice.hasAnotherTarget(attempt) || now + wait > until) {
        key.health.recordAbandoned()
        throw limitedFault(upstream.name, wait)
      }
      await pause(exchange, wait)
      refused.clear()
      next = nextKey(attempt, performance.now(), []) ?? key
    }
    moveTo(attempt, next)
    refusal = await next.limiter?.admit(attempt)
  }
}
const limitedFault = (upstream: string, ms: number) => {
  const seconds = Math.max(1, Math.ceil(ms / 1_000))
  const headers = { 'retry-after': String(seconds) }
  return fault('UPSTREAM_KEYS_FULL', [upstream, seconds], { headers })
}
const nextKey = (
  { candidate, target, choice }: UnadmittedAttempt,
  now: number,
  refused: readonly UpstreamKey[],
): UpstreamKey | undefined =>
  target.pin?.key === undefined
    ? candidate.upstream.keys?.next(target, now, false, [...choice.failedKeys, ...refused])
    : undefined
const moveTo = (attempt: UnadmittedAttempt, key: UpstreamKey): void => {
  attempt.sentAt = performance.now()
  if (attempt.key === key) return
  attempt.key?.health.recordAbandoned()
  attempt.key = key
  key.health.recordAttempt(attempt.sentAt)
  attempt.exchange.progress.key = key.name
}
/** Rejects when the client leaves. */
const pause = async (exchange: Call, ms: number): Promise<void> => {
  const startedAt = performance.now()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const underWay = { waiting: true, abort: reject }
  exchange.awaitAttempt(underWay)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    underWay.waiting = false
    exchange.progress.waitedMs += performance.now() - startedAt
  }
}
