/** The attempt loop: targets, retries, fallback; never after the first byte. */
import { asFault, errors } from '../errors.ts'
import type { Target } from '../plugin.ts'
import type { Call } from '../request/exchange.ts'
import { compose, type Guard, type Run, type Step } from '../request/pipeline.ts'
import type { FilteredReply } from '../response/filters.ts'
import { createAttempt, IDEMPOTENT, type UpstreamAttempt } from './attempt.ts'
import { type Balance, type PickState, pick } from './balance.ts'
import { type Candidate, candidatesOf } from './candidate.ts'
import type { Deadlines, Upstream } from './upstreams.ts'

const fault = errors({
  NO_TARGET: [502, 'No upstream is configured for this request.'],
  CLIENT_GONE: [499, 'The client left.'],
  REFUSAL_DROPPED: [502, 'Another target is tried instead.'],
})

/** How a route sends. */
export interface DispatchRules {
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly balance: Balance
  /** Further attempts at targets that refused, beyond one at each. */
  readonly retries: number
  /** The deadlines of one upstream on this route. */
  deadlines(upstream: Upstream): Deadlines
  /** Path and query for an upstream without a base path. */
  path(call: Call): string
  /** 16 hexadecimal digits. */
  spanId(): string
  /** Sends an attempt as a request, or as a WebSocket. */
  send(one: UpstreamAttempt, deadlines: Deadlines): Promise<void>
  /** Called at the end of every attempt. */
  observe(upstream: string, outcome: string): void
}

/** Statuses by which a target refuses: another target may be tried. */
const REFUSAL_STATUSES = new Set([429, 500, 502, 503, 504, 529])
/** Statuses by which a target says that it did not process the request. */
const NOT_PROCESSED = new Set([429, 503, 529])

/** Composes the forward ring of a route and the loop around it. */
export const createDispatcher = (
  rules: DispatchRules,
  ring: readonly Step<UpstreamAttempt>[],
  guard?: Guard<UpstreamAttempt>,
): Run<Call> => {
  const pickState: PickState = { count: 0 }
  const cache = new WeakMap<readonly Target[], readonly Candidate[]>()
  const send = (one: UpstreamAttempt): Promise<void> =>
    rules.send(one, rules.deadlines(one.candidate.upstream))
  const forward = compose(ring, send, guard)
  const candidates = (targets: readonly Target[]): readonly Candidate[] => {
    const found = cache.get(targets)
    if (found) return found
    const list = candidatesOf(targets, rules.upstreams)
    cache.set(targets, list)
    return list
  }
  return async call => {
    const prepared = call.request.body.prepare()
    if (prepared) await prepared
    // The pending group (a hold) is written beside the upstream call, which takes far longer.
    const durable = call.durable ? call.writes.commit() : undefined
    durable?.catch(thrown => call.abandon(asFault(thrown)))
    const choice = new CandidateChoice(candidates(call.targets), rules, pickState)
    let reply: FilteredReply | undefined
    while (!reply) {
      if (call.abandonReason) throw call.abandonReason
      const one = beginAttempt(call, choice.next(), rules)
      try {
        await forward(one)
        reply = choice.acceptReply(one)
      } catch (thrown) {
        choice.handleFault(one, thrown)
      }
    }
    if (durable) await durable
    if (call.abandonReason) throw call.abandonReason
    call.setReply(reply)
  }
}

const beginAttempt = (call: Call, candidate: Candidate, rules: DispatchRules): UpstreamAttempt => {
  call.progress.attempts++
  call.progress.target = candidate.target
  return createAttempt(call, candidate, rules.path(call), rules.spanId())
}

/** Picks the candidates of one call: each once, and `retries` more, until one does not refuse. */
class CandidateChoice {
  readonly #candidates: readonly Candidate[]
  readonly #rules: DispatchRules
  readonly #pickState: PickState
  readonly #tried: Set<Candidate> | undefined
  #retriesLeft: number
  #lastThrown: unknown
  constructor(candidates: readonly Candidate[], rules: DispatchRules, turns: PickState) {
    this.#candidates = candidates
    this.#rules = rules
    this.#pickState = turns
    this.#retriesLeft = rules.retries
    // Most calls have one candidate.
    if (candidates.length !== 1 || rules.retries > 0) this.#tried = new Set()
  }
  /** Throws the last fault when there is no other candidate. */
  next(): Candidate {
    const candidates = this.#candidates
    const tried = this.#tried
    if (!tried) return candidates[0] as Candidate
    if (tried.size === candidates.length && this.#retriesLeft > 0) {
      this.#retriesLeft--
      tried.clear()
    }
    const found = pick(candidates, tried, this.#rules.balance, this.#pickState, performance.now())
    if (!found) throw this.#lastThrown ?? fault('NO_TARGET')
    tried.add(found)
    return found
  }
  /** Returns the reply of an attempt; undefined where another candidate is tried instead. */
  acceptReply(one: UpstreamAttempt): FilteredReply | undefined {
    const { exchange: call, candidate } = one
    const reply = one.requireReply()
    const refused = REFUSAL_STATUSES.has(reply.status)
    this.#rules.observe(candidate.upstream.name, refused ? 'refused' : 'answered')
    if (call.ended || call.abandonReason) reply.cut(call.abandonReason ?? fault('CLIENT_GONE'))
    if (!refused || !this.#canTryAnother || !mayRetryStatus(call, reply.status) || !canResend(call))
      return reply
    reply.cut(fault('REFUSAL_DROPPED'))
    return undefined
  }
  /** Throws the fault of an attempt where no other candidate can be tried. */
  handleFault(one: UpstreamAttempt, thrown: unknown): void {
    const { exchange: call, candidate } = one
    const reason = asFault(thrown)
    one.discardReply(reason)
    this.#rules.observe(candidate.upstream.name, call.abandonReason ? 'abandoned' : reason.code)
    if (!this.#canTryAnother || !reason.retryable || !canResend(call)) throw thrown
    this.#lastThrown = thrown
  }
  get #canTryAnother(): boolean {
    return (
      this.#tried !== undefined &&
      (this.#tried.size < this.#candidates.length || this.#retriesLeft > 0)
    )
  }
}
/** A target that failed may have processed the request: only an idempotent one is tried again. */
const mayRetryStatus = ({ request: { method } }: Call, status: number): boolean =>
  (IDEMPOTENT.has(method) ? REFUSAL_STATUSES : NOT_PROCESSED).has(status)
/** A streamed body cannot be sent by a second attempt. */
const canResend = ({ request: { body } }: Call): boolean =>
  body.whole !== undefined || !body.exists || !body.streamed
