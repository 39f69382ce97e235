/** How a route sends: the rules of its attempts, and the time for the first byte of upstreams that
 *  plugins serve. Connections keep that of other upstreams. */
import type { Resources } from '../../snapshot/resources.ts'
import { sendAttempt, type UpstreamAttempt } from '../../upstream/attempt.ts'
import type { DispatchRules } from '../../upstream/dispatch.ts'
import { targetFault } from '../../upstream/transport.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { createDialer } from '../../websocket/dial.ts'
import { createRewrite, deadlinesByUpstream, type RouteValues } from './route-options.ts'

interface Context {
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly resources: Resources
  readonly spanId: () => string
}

/** `payload`: bytes of the largest WebSocket message; undefined on an HTTP route. */
export const dispatchRules = (
  options: RouteValues,
  payload: number | undefined,
  { upstreams, resources, spanId }: Context,
): DispatchRules => ({
  upstreams,
  balance: options.balance,
  retries: options.retries,
  retryOn: options.retry_on,
  deadlines: deadlinesByUpstream(options),
  path: createRewrite(options),
  spanId,
  send: payload === undefined ? sendAttempt : createDialer(payload),
  observe: (upstream, outcome) => resources.metrics.attempt(upstream, outcome),
  observeConversation: (upstream, place) =>
    resources.metrics.count('affinity_calls_total', { upstream, place }),
})

type Forward = (attempt: UpstreamAttempt, next: () => Promise<void>) => Promise<void>

/** The outermost step of the forward ring; undefined where no upstream is inside the process. */
export const insideDeadline = ({ upstreams, deadlines }: DispatchRules): Forward | undefined => {
  if (![...upstreams.values()].some(({ inside }) => inside !== undefined)) return undefined
  return (attempt, next) => {
    const { upstream } = attempt.candidate
    if (upstream.inside === undefined) return next()
    return withDeadline(attempt, next(), deadlines(upstream).first_byte)
  }
}

const withDeadline = (
  attempt: UpstreamAttempt,
  forwarding: Promise<void>,
  ms: number,
): Promise<void> => {
  const { exchange, candidate } = attempt
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const progress = { waiting: true, abort() {} }
  // A wait for an upstream, which the time of stages does not limit.
  exchange.awaitAttempt(progress)
  const timer = setTimeout(() => {
    const reason = targetFault('TARGET_TIMEOUT', [candidate.upstream.name, ms])
    reject(reason)
    // A late answer is not used.
    forwarding.then(() => attempt.discardReply(reason), ignore)
  }, ms)
  forwarding.then(resolve, reject).finally(() => {
    progress.waiting = false
    clearTimeout(timer)
  })
  return promise
}
const ignore = (): void => {}
