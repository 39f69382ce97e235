/** The attempt loop: targets, retries, fallback; never after the first byte. */
import { asFault, errors } from '../errors.ts'
import type { Balance, Target } from '../plugin.ts'
import type { Call } from '../request/exchange.ts'
import { compose, type Guard, type Handler, type Run } from '../request/pipeline.ts'
import type { FilteredReply } from '../response/filters.ts'
import {
  type Choice,
  canResend,
  createAttempt,
  IDEMPOTENT,
  recordKey,
  type UpstreamAttempt,
} from './attempt.ts'
import { isAtOwnPlace, type PickState, pick, recordTime } from './balance.ts'
import { type Candidate, candidatesOf, isAvailable, unavailability } from './candidate.ts'
import type { UpstreamKey } from './keys.ts'
import type { Deadlines, Upstream } from './upstreams.ts'
import { coldInsteadOf, startWarmUp, withoutCold } from './warm-up.ts'

const fault = errors({
  NO_TARGET: [502, 'No upstream is configured for this request.'],
  CLIENT_GONE: [499, 'The client left.'],
  REFUSAL_DROPPED: [502, 'Another target is tried instead.'],
  UPSTREAM_KEY_REFUSED: [
    502,
    "The upstream rejects the gateway's API key. The operator finds the details in the log.",
    { retryable: true, refusesKey: true },
  ],
})

/** How a route sends. */
export interface DispatchRules {
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly balance: Balance
  /** Further attempts at targets that refused, beyond one at each. */
  readonly retries: number
  /** Further statuses after which another attempt is made, with any method. */
  readonly retryOn: readonly number[]
  /** The deadlines of one upstream on this route. */
  deadlines(upstream: Upstream): Deadlines
  /** Path and query for an upstream without a base path. */
  path(call: Call): string
  /** 16 hexadecimal digits. */
  spanId(): string
  /** Sends an attempt as a request, or as a WebSocket. */
  send(attempt: UpstreamAttempt, deadlines: Deadlines): Promise<void>
  /** Called at the end of every attempt. */
  observe(upstream: string, outcome: string): void
  /** Called for each answered call of a conversation; `own`: at the place where it belongs. */
  observeConversation?(upstream: string, place: 'own' | 'moved'): void
}

/** Statuses by which a target refuses: another target may be tried. */
const REFUSAL_STATUSES = new Set([429, 500, 502, 503, 504, 529])
/** Statuses by which a target says that it did not process the request. */
const NOT_PROCESSED = new Set([429, 503, 529])

/** Composes the forward ring of a route and the loop around it. */
export const createDispatcher = (
  rules: DispatchRules,
  ring: readonly Handler<UpstreamAttempt>[],
  guard?: Guard<UpstreamAttempt>,
): Run<Call> => {
  const pickState: PickState = { count: 0, byRules: new WeakMap() }
  const cache = new WeakMap<readonly Target[], readonly Candidate[]>()
  const send = (attempt: UpstreamAttempt): Promise<void> => rules.send(attempt, attempt.deadlines)
  const forward = compose(ring, send, guard)
  return async call => {
    const preparation = call.request.body.prepare()
    if (preparation) await preparation
    // The pending group (a hold) is written beside the upstream call, which takes far longer.
    const durable = call.durable ? call.writes.commit() : undefined
    durable?.catch(error => call.abandon(asFault(error)))
    const list = cache.get(call.targets) ?? candidatesOf(call.targets, rules.upstreams)
    cache.set(call.targets, list)
    const choice = new CandidateChoice(list, rules, pickState)
    let reply: FilteredReply | undefined
    while (!reply) {
      if (call.abandonReason) throw call.abandonReason
      const attempt = beginAttempt(call, choice, rules)
      try {
        await forward(attempt)
        reply = choice.acceptReply(attempt)
        if (reply) attempt.request.body = undefined
      } catch (error) {
        choice.handleFault(attempt, error)
      }
    }
    call.request.release?.()
    if (durable) await durable
    if (call.abandonReason) throw call.abandonReason
    call.setReply(reply)
  }
}

const beginAttempt = (
  call: Call,
  choice: CandidateChoice,
  rules: DispatchRules,
): UpstreamAttempt => {
  const candidate = choice.next(call.progress)
  call.progress.attempts++
  call.progress.target = candidate.target
  call.progress.upstream = candidate.upstream.view
  call.progress.key = undefined
  return createAttempt(call, candidate, rules.path(call), rules.spanId(), choice)
}

/** Records why a candidate is not picked, once. */
const recordSkip = (
  progress: Call['progress'],
  candidate: Candidate,
  why: string | undefined,
): void => {
  if (why === undefined || progress.skipped?.some(each => each.candidate === candidate)) return
  const { upstream, name: target } = candidate.target
  progress.skipped ??= []
  progress.skipped.push({ candidate, upstream, target, address: candidate.origin.address, why })
}

/** Picks the candidates of one call: each once, and `retries` more, until one does not refuse. A
 *  refused or limited key is not a retry: the candidate is tried again with the next key. */
class CandidateChoice implements Choice {
  readonly #candidates: readonly Candidate[]
  readonly #rules: DispatchRules
  readonly #pickState: PickState
  readonly #picks: Set<Candidate> | undefined
  #retriesLeft: number
  #lastError: unknown
  /** The candidate that is tried again with another key. */
  #again: Candidate | undefined
  /** Keys of the present candidate that were refused, limited, or got no content. */
  failedKeys: readonly UpstreamKey[] = []
  constructor(candidates: readonly Candidate[], rules: DispatchRules, pickState: PickState) {
    this.#candidates = candidates
    this.#rules = rules
    this.#pickState = pickState
    this.#retriesLeft = rules.retries
    // Most calls have one candidate.
    if (candidates.length !== 1 || rules.retries > 0) this.#picks = new Set()
  }
  /** Throws the last fault when there is no other candidate. */
  next(progress: Call['progress']): Candidate {
    const again = this.#again
    this.#again = undefined
    if (again) return again
    if (this.failedKeys.length > 0) this.failedKeys = []
    const candidates = this.#candidates
    const picks = this.#picks
    if (!picks) return candidates[0] as Candidate
    if (picks.size === candidates.length && this.#retriesLeft > 0) {
      this.#retriesLeft--
      picks.clear()
    }
    const now = performance.now()
    let canBeCold = false
    for (const each of candidates) {
      canBeCold ||= each.upstream.warmUp !== undefined
      if (!picks.has(each)) recordSkip(progress, each, unavailability(each, now))
    }
    const { balance } = this.#rules
    const open = canBeCold ? withoutCold(candidates, picks, now) : candidates
    const next = pick(open, picks, balance, this.#pickState, now)
    if (!next) throw this.#lastError ?? fault('NO_TARGET')
    for (const cold of canBeCold ? coldInsteadOf(next, candidates, balance, now) : []) {
      recordSkip(progress, cold, 'cold')
      startWarmUp(cold, now)
    }
    picks.add(next)
    return next
  }
  deadlines(upstream: Upstream): Deadlines {
    return this.#rules.deadlines(upstream)
  }
  isLast(attempt: UpstreamAttempt): boolean {
    if (attempt.target.pin || !canResend(attempt.exchange)) return true
    return !this.#canTryAnother && !this.#hasAnotherKey(attempt)
  }
  /** Returns the reply of an attempt; undefined where another candidate is tried instead. */
  acceptReply(attempt: UpstreamAttempt): FilteredReply | undefined {
    const { exchange: call, candidate } = attempt
    const reply = attempt.requireReply()
    // No customer reads the reply of a pinned target: the task that it belongs to does.
    const hasOurCredential = attempt.key || candidate.upstream.signer
    if (reply.status === 401 && hasOurCredential && !attempt.target.pin)
      throw fault('UPSTREAM_KEY_REFUSED')
    const refuses = REFUSAL_STATUSES.has(reply.status)
    this.#rules.observe(candidate.upstream.name, refuses ? 'refused' : 'answered')
    if (call.ended || call.abandonReason) reply.cut(call.abandonReason ?? fault('CLIENT_GONE'))
    const usesNextKey = reply.status === 429 && this.#useNextKey(attempt)
    const usesNextTarget =
      this.#canTryAnother && this.#mayRetryStatus(attempt, reply.status) && canResend(call)
    if (!usesNextKey && !usesNextTarget) {
      this.#countConversation(attempt)
      if (!refuses && reply.status < 300) this.#recordTime(attempt, reply)
      return reply
    }
    reply.cut(fault('REFUSAL_DROPPED'))
    return undefined
  }
  /** The last target is accepted before its content, so its time is not recorded. */
  #recordTime(attempt: UpstreamAttempt, { headers }: FilteredReply): void {
    const { candidate, sentAt } = attempt
    const { balance } = this.#rules
    if ((candidate.target.rules?.balance ?? balance) !== 'fastest' || attempt.isLast) return
    const isStream = String(headers['content-type']).startsWith('text/event-stream')
    const now = performance.now()
    recordTime(candidate, isStream ? 'stream' : 'plain', now - sentAt, now)
  }
  #countConversation(attempt: UpstreamAttempt): void {
    if (attempt.target.affinity === undefined) return
    const { origin, upstream } = attempt.candidate
    const { balance, observeConversation } = this.#rules
    const place = isAtOwnPlace(attempt, this.#candidates, balance) ? 'own' : 'moved'
    origin.conversations[place]++
    observeConversation?.(upstream.name, place)
  }
  /** Throws the fault of an attempt if no other candidate can be tried. */
  handleFault(attempt: UpstreamAttempt, error: unknown): void {
    const { exchange: call, candidate } = attempt
    const reason = asFault(error)
    attempt.discardReply(reason)
    this.#rules.observe(candidate.upstream.name, call.abandonReason ? 'abandoned' : reason.code)
    if (reason.refusesKey) attempt.key?.health.refuse(attempt.sentAt, performance.now())
    // Some upstreams say in the body how long to wait.
    if (reason.status === 429) recordKey(attempt, 429, reason.headers)
    if (attempt.hasNewCredential && canResend(call)) this.#again = candidate
    if (this.#again) return
    if ((reason.refusesKey || reason.status === 429) && this.#useNextKey(attempt)) return
    // Each try may take `first_content`: one more key before the next target, all of the last.
    const mayTryKey = !this.#canTryAnother || this.failedKeys.length === 0
    if (attempt.hasFailed && mayTryKey && this.#useNextKey(attempt)) return
    if (!this.#canTryAnother || !reason.retryable || !canResend(call)) throw error
    this.#lastError = error
  }
  /** Whether another key of the same upstream can be tried: nothing was done yet. */
  #useNextKey(attempt: UpstreamAttempt): boolean {
    if (!canResend(attempt.exchange) || !this.#hasAnotherKey(attempt)) return false
    if (attempt.key) this.failedKeys = [...this.failedKeys, attempt.key]
    this.#again = attempt.candidate
    return true
  }
  #hasAnotherKey({ candidate, target, key }: UpstreamAttempt): boolean {
    const { keys } = candidate.upstream
    if (!key || !keys || target.pin?.key !== undefined) return false
    if (this.failedKeys.length + 1 >= keys.list.length) return false
    return keys.isUsable(target.name ?? '', performance.now(), key)
  }
  /** A target that failed may have processed the request: only an idempotent one is tried again,
   *  unless the configuration says otherwise. A task might be created twice. */
  #mayRetryStatus({ exchange, target }: UpstreamAttempt, status: number): boolean {
    if (NOT_PROCESSED.has(status)) return true
    if (IDEMPOTENT.has(exchange.request.method) && REFUSAL_STATUSES.has(status)) return true
    if (target.pin) return false
    return this.#rules.retryOn.includes(status) || target.rules?.retryOn?.includes(status) === true
  }
  hasAnotherTarget({ exchange, target }: Pick<UpstreamAttempt, 'exchange' | 'target'>): boolean {
    const picks = this.#picks
    if (!picks || target.pin || !canResend(exchange)) return false
    const now = performance.now()
    return this.#candidates.some(each => !picks.has(each) && isAvailable(each, now))
  }
  get #canTryAnother(): boolean {
    return (
      this.#picks !== undefined &&
      (this.#picks.size < this.#candidates.length || this.#retriesLeft > 0)
    )
  }
}
