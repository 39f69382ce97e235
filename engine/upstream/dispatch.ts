/** The attempt loop: pick a target, run the forward ring, retry, fall back. Never after the first byte. */
import { asFault, errors } from '../errors.ts'
import type { Target } from '../plugin.ts'
import type { Call } from '../request/exchange.ts'
import { compose, type Guard, type Run, type Step } from '../request/pipeline.ts'
import type { Answer } from '../response/filters.ts'
import { IDEMPOTENT, openTry, type Try } from './attempt.ts'
import { type Balance, pick, type Turns } from './balance.ts'
import { type Candidate, candidatesOf } from './candidate.ts'
import type { Deadlines, Upstream } from './upstreams.ts'

const fault = errors({
  NO_TARGET: [502, 'No upstream is configured for this request.'],
  CLIENT_GONE: [499, 'The client left.'],
  REFUSAL_DROPPED: [502, 'Another target is asked instead.'],
})

/** What a route says about sending. */
export interface DispatchRules {
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly balance: Balance
  /** Further tries at targets that refused, beyond one at each. */
  readonly retries: number
  /** The deadlines of one upstream on this route. */
  deadlines(upstream: Upstream): Deadlines
  /** Path and query as an upstream without a base path would be asked. */
  path(call: Call): string
  /** 16 hexadecimal digits. */
  spanId(): string
  /** How an attempt goes out: as a request, or as a WebSocket. */
  send(one: Try, deadlines: Deadlines): Promise<void>
  /** Told of every attempt's end. */
  observe(upstream: string, outcome: string): void
}

/** Answers that say "not me, not now": another target may be asked. */
const REFUSING = new Set([429, 500, 502, 503, 504, 529])
/** Those of them that also say that nothing was done. */
const UNTOUCHED = new Set([429, 503, 529])

/** Composes the forward ring of a route and the loop around it. */
export const dispatcher = (
  rules: DispatchRules,
  ring: readonly Step<Try>[],
  guard?: Guard<Try>,
): Run<Call> => {
  const turns: Turns = { count: 0 }
  const known = new WeakMap<readonly Target[], readonly Candidate[]>()
  const sent = (one: Try): Promise<void> => rules.send(one, rules.deadlines(one.candidate.upstream))
  const forward = compose(ring, sent, guard)
  const candidates = (targets: readonly Target[]): readonly Candidate[] => {
    const found = known.get(targets)
    if (found) return found
    const made = candidatesOf(targets, rules.upstreams)
    known.set(targets, made)
    return made
  }
  return async call => {
    const prepared = call.request.prepare()
    if (prepared) await prepared
    // The pending group (a hold) becomes durable beside the upstream call, which takes far longer.
    const durable = call.durable ? call.writes.commit() : undefined
    durable?.catch(thrown => call.leave(asFault(thrown)))
    const choice = new Choice(candidates(call.targets), rules, turns)
    let reply: Answer | undefined
    while (!reply) {
      if (call.left) throw call.left
      const one = begin(call, choice.next(), rules)
      try {
        await forward(one)
        reply = choice.take(one)
      } catch (thrown) {
        choice.refuse(one, thrown)
      }
    }
    if (durable) await durable
    if (call.left) throw call.left
    call.take(reply)
  }
}

const begin = (call: Call, candidate: Candidate, rules: DispatchRules): Try => {
  call.attempts++
  call.target = candidate.target
  return openTry(call, candidate, rules.path(call), rules.spanId())
}

/** Each candidate once, and `retries` more, until one answers with anything but a refusal. */
class Choice {
  readonly #candidates: readonly Candidate[]
  readonly #rules: DispatchRules
  readonly #turns: Turns
  readonly #tried: Set<Candidate> | undefined
  #spare: number
  #last: unknown
  constructor(candidates: readonly Candidate[], rules: DispatchRules, turns: Turns) {
    this.#candidates = candidates
    this.#rules = rules
    this.#turns = turns
    this.#spare = rules.retries
    // Most calls have no choice.
    if (candidates.length !== 1 || rules.retries > 0) this.#tried = new Set()
  }
  /** Throws what the last one said when there is no other. */
  next(): Candidate {
    const candidates = this.#candidates
    const tried = this.#tried
    if (!tried) return candidates[0] as Candidate
    if (tried.size === candidates.length && this.#spare > 0) {
      this.#spare--
      tried.clear()
    }
    const found = pick(candidates, tried, this.#rules.balance, this.#turns, performance.now())
    if (!found) throw this.#last ?? fault('NO_TARGET')
    tried.add(found)
    return found
  }
  /** The reply of an attempt; undefined where another is asked instead. */
  take(one: Try): Answer | undefined {
    const { exchange: call, candidate } = one
    const reply = one.need()
    const refused = REFUSING.has(reply.status)
    this.#rules.observe(candidate.upstream.name, refused ? 'refused' : 'answered')
    if (call.over || call.left) reply.cut(call.left ?? fault('CLIENT_GONE'))
    if (!refused || !this.#more || !refuses(call, reply.status) || !resendable(call)) return reply
    reply.cut(fault('REFUSAL_DROPPED'))
    return undefined
  }
  /** Throws it where nobody else can be asked. */
  refuse(one: Try, thrown: unknown): void {
    const { exchange: call, candidate } = one
    const reason = asFault(thrown)
    one.drop(reason)
    this.#rules.observe(candidate.upstream.name, call.left ? 'abandoned' : reason.code)
    if (!this.#more || !reason.retryable || !resendable(call)) throw thrown
    this.#last = thrown
  }
  get #more(): boolean {
    return (
      this.#tried !== undefined && (this.#tried.size < this.#candidates.length || this.#spare > 0)
    )
  }
}
/** What is broken or lost behind an upstream may have done its work: no second one does it once more. */
const refuses = ({ request: { method } }: Call, status: number): boolean =>
  (IDEMPOTENT.has(method) ? REFUSING : UNTOUCHED).has(status)
/** A body that is streamed is gone with the attempt that began to send it. */
const resendable = ({ request }: Call): boolean =>
  request.whole !== undefined || !request.hasBody || !request.taken
