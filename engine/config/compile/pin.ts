/** Binds a target to one address and one key of its upstream, for the calls of a task. */
import type { Target, TargetPin } from '../../plugin.ts'
import { addressOf } from '../../upstream/candidate.ts'
import type { Upstream } from '../../upstream/upstreams.ts'

/** Picks an address, the least busy of the available ones, and the key whose turn it is. */
export const pinTarget = (
  { rules: _, ...target }: Target,
  upstreams: ReadonlyMap<string, Upstream>,
): Target => {
  const upstream = upstreams.get(target.upstream)
  if (!upstream || upstream.inside !== undefined) return target
  const now = performance.now()
  const available = upstream.origins.filter(({ origin }) => origin.health.isAvailable(now))
  const [first] = (available.length > 0 ? available : upstream.origins).toSorted(
    (one, two) => one.origin.busy - two.origin.busy,
  )
  const key = upstream.keys?.pick(target, now, false).name
  const pin = { ...(first && { address: addressOf(first) }), ...(key !== undefined && { key }) }
  return { ...target, pin }
}

/** Each address of an upstream with each of its keys. */
export const pinsOf = (upstream: Upstream | undefined): readonly TargetPin[] => {
  if (!upstream || upstream.inside !== undefined) return []
  return upstream.origins.flatMap(each => {
    const address = addressOf(each)
    return upstream.keys?.list.map(({ name }) => ({ address, key: name })) ?? [{ address }]
  })
}
