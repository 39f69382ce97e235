/** Picks a target for one attempt. Knows load, weight and health; knows nothing of requests. */
import type { Balance, TargetRules } from '../plugin.ts'
import { stayAt } from './affinity.ts'
import { addressOf, availableAt, type Candidate, isAvailable } from './candidate.ts'
import type { UpstreamKey } from './keys.ts'
import { bestByPrefix } from './prefix-memory.ts'
import { type AnswerKind, pickFastest, RecentTimes } from './recent-times.ts'

/** The state of a balance between picks: per route, and per list of targets with own rules. */
export interface PickState {
  count: number
  readonly byRules?: WeakMap<TargetRules, PickState>
}
type Pick = (
  available: readonly Candidate[],
  state: PickState,
  now: number,
) => Candidate | undefined

const weightOf = (candidate: Candidate): number => candidate.target.weight ?? 1

const placeOf = (each: Candidate): string => `${addressOf(each)} ${each.target.name ?? ''}`
const placeFor = (each: Candidate) => ({ name: placeOf(each), weight: weightOf(each) })

const PICKERS: Readonly<Record<Balance, Pick>> = {
  first: available => available[0],
  'round-robin': (available, state) => available[state.count++ % available.length],
  weighted: (available, state) => {
    const sum = available.reduce((total, candidate) => total + weightOf(candidate), 0)
    // The golden ratio spreads picks as evenly as the weights allow, without randomness.
    const point = ((state.count++ * 0.618_033_988_749_895) % 1) * sum
    let sumSoFar = 0
    for (const candidate of available) {
      sumSoFar += weightOf(candidate)
      if (point < sumSoFar) return candidate
    }
    return available[0]
  },
  'least-busy': available => leastBusy(available),
  fastest: (available, state, now) =>
    pickFastest(available, each => each.origin.times.get(timesKey(each)), state.count++, now),
  cheapest: (available, state) => {
    const list = cheapestOf(available)
    return list[state.count++ % list.length]
  },
  prefix: available => {
    const prefix = available[0]?.target.prefix ?? []
    if (prefix.length === 0) return leastBusy(available)
    const best = bestByPrefix(available, prefix, ({ origin, target }) => ({
      memory: origin.prefixes,
      load: origin.busy / Math.max(target.weight ?? 1, Number.MIN_VALUE),
    }))
    // Workers that know nothing of a request agree.
    const picked = stayAt(best, String(prefix[0]?.hash), placeFor)
    picked?.origin.prefixes.add(prefix)
    return picked
  },
}
/** A target without a cost costs most. */
const costOf = ({ target }: Candidate): number => target.cost ?? Infinity
const cheapestOf = (candidates: readonly Candidate[]): readonly Candidate[] => {
  const least = Math.min(...candidates.map(costOf))
  return candidates.filter(each => costOf(each) === least)
}
const stayFor = (
  candidates: readonly Candidate[],
  affinity: string,
  balance: Balance,
): Candidate | undefined =>
  stayAt(balance === 'cheapest' ? cheapestOf(candidates) : candidates, affinity, placeFor)

const leastBusy = (available: readonly Candidate[]): Candidate | undefined =>
  available.reduce<Candidate | undefined>((best, candidate) => {
    if (!best) return candidate
    return candidate.origin.busy * weightOf(best) < best.origin.busy * weightOf(candidate)
      ? candidate
      : best
  }, undefined)

const timesKey = ({ upstream, target }: Candidate): string =>
  `${upstream.name} ${target.name ?? ''}`
const MOST_NAMES = 1_000
/** Records how long the first content of an answer took, in ms. */
export const recordTime = (
  candidate: Candidate,
  kind: AnswerKind,
  ms: number,
  now: number,
): void => {
  const { times } = candidate.origin
  const key = timesKey(candidate)
  const own = times.get(key) ?? new RecentTimes()
  // Clients choose names of targets.
  if (times.size >= MOST_NAMES && !times.has(key)) times.clear()
  times.set(key, own)
  own.add(kind, ms, now)
}

/** The next untried candidate. Targets with their own rules are picked among those that share the
 *  rules, the first such list first: a fallback comes last. When no candidate is available, the one
 *  that will be available soonest. */
export const pick = (
  candidates: readonly Candidate[],
  picks: ReadonlySet<Candidate>,
  balance: Balance,
  state: PickState,
  now: number,
): Candidate | undefined => {
  const only = candidates[0]
  if (candidates.length === 1 && only) return picks.has(only) ? undefined : only
  const remaining = candidates.filter(candidate => !picks.has(candidate))
  const available = remaining.filter(candidate => isAvailable(candidate, now))
  const { rules, affinity } = available[0]?.target ?? {}
  const list = rules ? available.filter(({ target }) => target.rules === rules) : available
  if (affinity !== undefined && (rules?.balance ?? balance) !== 'first')
    return stayFor(list, affinity, rules?.balance ?? balance)
  if (rules) {
    const own = state.byRules?.get(rules) ?? { count: 0 }
    state.byRules?.set(rules, own)
    return PICKERS[rules.balance ?? balance](list, own, now)
  }
  if (available.length > 0) return PICKERS[balance](available, state, now)
  return remaining.toSorted((one, other) => availableAt(one) - availableAt(other))[0]
}

/** Whether a conversation was served where it belongs while every address and key works. */
export const isAtOwnPlace = (
  { candidate, target, key }: Attempted,
  candidates: readonly Candidate[],
  balance: Balance,
): boolean => {
  const { affinity = '' } = target
  const rules = candidates[0]?.target.rules
  const list = candidates.filter(each => each.target.rules === rules)
  const used = rules?.balance ?? balance
  const own = used === 'first' ? candidates[0] : stayFor(list, affinity, used)
  const keys = candidate.upstream.keys?.list ?? []
  return candidate === own && (!key || stayAt(keys, affinity, each => each) === key)
}
interface Attempted {
  readonly candidate: Candidate
  readonly target: Candidate['target']
  readonly key: UpstreamKey | undefined
}
