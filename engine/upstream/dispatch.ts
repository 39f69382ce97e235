/** The attempt loop: pick a target, run the forward ring, retry, fall back. Never after the first byte. */
import { asFault, errors } from '../errors.ts'
import type { Call } from '../exchange.ts'
import type { Answer } from '../flow.ts'
import { compose, type Run, type Step } from '../pipeline.ts'
import type { Target } from '../plugin.ts'
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
export const dispatcher = (rules: DispatchRules, ring: readonly Step<Try>[]): Run<Call> => {
  const turns: Turns = { count: 0 }
  const known = new WeakMap<readonly Target[], readonly Candidate[]>()
  const forward = compose(ring, one => rules.send(one, rules.deadlines(one.candidate.upstream)))
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
    const list = candidates(call.targets)
    const only = list.length === 1 && rules.retries === 0 && !call.left ? list[0] : undefined
    const reply = only
      ? await attempt(call, only, rules, forward)
      : await firstWilling(call, list, rules, turns, forward)
    if (durable) await durable
    if (call.left) throw call.left
    call.take(reply)
  }
}

/** Each candidate once, and `retries` more, until one answers with anything but a refusal. */
const firstWilling = async (
  call: Call,
  candidates: readonly Candidate[],
  rules: DispatchRules,
  turns: Turns,
  forward: Run<Try>,
): Promise<Answer> => {
  const tried = new Set<Candidate>()
  let spare = rules.retries
  let last: unknown
  for (;;) {
    if (call.left) throw call.left
    if (tried.size === candidates.length && spare > 0) {
      spare--
      tried.clear()
    }
    const candidate = pick(candidates, tried, rules.balance, turns, performance.now())
    if (!candidate) throw last ?? fault('NO_TARGET')
    tried.add(candidate)
    const more = tried.size < candidates.length || spare > 0
    try {
      const reply = await attempt(call, candidate, rules, forward)
      if (!more || !refuses(call, reply.status) || !resendable(call)) return reply
      reply.cut(fault('REFUSAL_DROPPED'))
    } catch (thrown) {
      if (!more || !asFault(thrown).retryable || !resendable(call)) throw thrown
      last = thrown
    }
  }
}
/** What is broken or lost behind an upstream may have done its work: no second one does it once more. */
const refuses = ({ request: { method } }: Call, status: number): boolean =>
  (IDEMPOTENT.has(method) ? REFUSING : UNTOUCHED).has(status)
/** A body that is streamed is gone with the attempt that began to send it. */
const resendable = ({ request }: Call): boolean =>
  request.whole !== undefined || !request.hasBody || !request.taken

const attempt = async (
  call: Call,
  candidate: Candidate,
  rules: DispatchRules,
  forward: Run<Try>,
): Promise<Answer> => {
  call.attempts++
  call.target = candidate.target
  const one = openTry(call, candidate, rules.path(call), rules.spanId())
  try {
    await forward(one)
    const reply = one.need()
    rules.observe(candidate.upstream.name, REFUSING.has(reply.status) ? 'refused' : 'answered')
    if (call.over || call.left) reply.cut(call.left ?? fault('CLIENT_GONE'))
    return reply
  } catch (thrown) {
    one.drop(asFault(thrown))
    rules.observe(candidate.upstream.name, call.left ? 'abandoned' : asFault(thrown).code)
    throw thrown
  }
}
