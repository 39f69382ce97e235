/** A target at one address of its upstream: where an attempt is sent. */
import type { Target, TargetPin } from '../plugin.ts'
import type { Origin } from './origin.ts'
import type { Upstream } from './upstreams.ts'

export interface Candidate {
  readonly target: Target
  readonly upstream: Upstream
  readonly origin: Origin
  /** Path of the address, without a trailing slash. */
  readonly base: string
}

/** Whether its address is healthy and a key is at hand. */
export const isAvailable = ({ target, upstream, origin }: Candidate, now: number): boolean =>
  origin.health.isAvailable(now) && upstream.keys?.isUsable(target.name ?? '', now) !== false
/** Why it is not available; undefined where it is. */
export const unavailability = (
  { target, upstream, origin: { health } }: Candidate,
  now: number,
): string | undefined => {
  if (!health.isAvailable(now))
    return health.isEjected(now) ? 'ejected' : health.needsProbe ? 'probing' : 'paused'
  const { keys } = upstream
  if (!keys || keys.isUsable(target.name ?? '', now)) return undefined
  return keys.list.some(each => each.health.isAvailable(now)) ? 'limited' : 'resting'
}
/** When it may be picked again: decides between candidates that are all unavailable. */
export const availableAt = ({ target, upstream, origin }: Candidate): number =>
  Math.max(origin.health.availableAt, upstream.keys?.usableAt(target.name ?? '') ?? 0)

/** Every target at every address of its upstream, in the order of the targets. */
export const candidatesOf = (
  targets: readonly Target[],
  upstreams: ReadonlyMap<string, Upstream>,
): readonly Candidate[] => {
  const candidates: Candidate[] = []
  for (const target of targets) {
    const upstream = upstreams.get(target.upstream)
    if (!upstream) continue
    for (const { origin, base } of originsOf(upstream, target.pin))
      candidates.push({ target, upstream, origin, base })
  }
  return candidates
}

type Address = Upstream['origins'][number]
/** Identifies an address of an upstream. */
export const addressOf = ({ origin, base }: Address): string => `${origin.address}${base}`
const originsOf = ({ origins }: Upstream, pin: TargetPin | undefined): readonly Address[] => {
  const pinned = pin ? origins.filter(each => addressOf(each) === pin.address) : origins
  return pinned.length > 0 ? pinned : origins
}
