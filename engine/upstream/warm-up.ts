/** Targets whose server prepares something for their first request: others get the requests until a
 *  request of the gateway's own was answered. Times in ms, monotonic.
 *
 *  cold ──another target gets a request──▶ warming ──an answer below 500──▶ warm
 *  warming ──a failure──▶ cold, not warmed again before `eject`
 *  warm ──`idle` without an answer, or its address is ejected──▶ cold
 *  cold, warming ──the answer to a request that no other target could get──▶ warm */
import type { Balance } from '../plugin.ts'
import { type Candidate, isAvailable } from './candidate.ts'
import { sendRequest } from './health-probe.ts'
import { setCold, setWarmth, type WarmUpRules, warmthOf } from './warm-targets.ts'

/** In the body of a warm-up: the name of the target. */
const NAME = '*'

/** Without `warm_up`, or without a name, a target is never cold. */
const isCold = ({ target: { name }, upstream, origin }: Candidate, now: number): boolean => {
  if (upstream.warmUp === undefined || name === undefined) return false
  const { until, ejections } = warmthOf(origin.warmTargets, name)
  return now >= until || ejections !== origin.health.ejections
}
export const recordAnswer = (
  { target: { name }, upstream, origin }: Candidate,
  now: number,
): void => {
  if (upstream.warmUp === undefined || name === undefined) return
  const { idle = Infinity } = upstream.warmUp
  const { ejections } = origin.health
  setWarmth(origin.warmTargets, name, { until: now + idle, ejections, nextAt: 0 })
}
/** Sends the request, unless one is under way. */
export const startWarmUp = (candidate: Candidate, now: number): void => {
  const { warmTargets } = candidate.origin
  const { warmUp } = candidate.upstream
  const { name } = candidate.target
  if (!warmUp || name === undefined || now < warmthOf(warmTargets, name).nextAt) return
  setCold(warmTargets, name, Infinity)
  void warm(candidate, warmUp, name, now)
}
const warm = async (
  candidate: Candidate,
  { path, body, listen }: WarmUpRules,
  name: string,
  startedAt: number,
): Promise<void> => {
  const { origin, upstream } = candidate
  const request = { path, body: withName(body, name) }
  const status = await sendRequest(request, upstream, candidate).catch(() => 0)
  const now = performance.now()
  const isWarm = status > 0 && status < 500
  if (isWarm) recordAnswer(candidate, now)
  else setCold(origin.warmTargets, name, now + upstream.health.eject)
  listen?.(origin.address ?? '').onWarmUp?.(name, Math.round(now - startedAt), isWarm)
}
const withName = (value: unknown, name: string): unknown => {
  if (value === NAME) return name
  if (Array.isArray(value)) return value.map(each => withName(each, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withName(each, name)]))
}

/** Without cold ones, if an untried warm one is available. */
export const withoutCold = (
  candidates: readonly Candidate[],
  picks: ReadonlySet<Candidate>,
  now: number,
): readonly Candidate[] => {
  const warm = candidates.filter(each => !isCold(each, now))
  return warm.some(each => !picks.has(each) && isAvailable(each, now)) ? warm : candidates
}
/** The cold ones that would have been picked instead of this one, if they were warm. */
export const coldInsteadOf = (
  picked: Candidate,
  candidates: readonly Candidate[],
  balance: Balance,
  now: number,
): readonly Candidate[] => {
  if (isCold(picked, now)) return []
  const { rules } = picked.target
  const end = candidates.indexOf(picked)
  const takesTurns = (rules?.balance ?? balance) !== 'first'
  return candidates.filter(
    (each, index) =>
      (index < end || (takesTurns && each.target.rules === rules)) &&
      isCold(each, now) &&
      each.origin.health.isAvailable(now),
  )
}
