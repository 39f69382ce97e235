/** Upstream health as one worker sees it, and merged over all workers. */
import type { AddressStatus, AddressView, GatewayStatus, KeyStatus, KeyView } from '../../plugin.ts'
import type { Health } from '../../upstream/health.ts'
import type { UpstreamKeys } from '../../upstream/keys.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { warmingIn } from '../../upstream/warm-targets.ts'

/** The states of addresses and of keys, each by the name of its upstream. */
export interface HealthView {
  readonly upstreams: ByName<AddressView>
  readonly keys: ByName<KeyView>
}

export const healthOf = (upstreams: ReadonlyMap<string, Upstream>): HealthView => ({
  upstreams: Object.fromEntries(
    [...upstreams].map(([name, upstream]) => [name, addressesOf(upstream)]),
  ),
  keys: Object.fromEntries(
    [...upstreams].flatMap(([name, { keys }]) => (keys ? [[name, keysOf(keys)]] : [])),
  ),
})

const keysOf = ({ list }: UpstreamKeys): KeyView[] => {
  const now = performance.now()
  return list.map(({ name, health }) => {
    const limited = [...health.limits].filter(([, until]) => now < until)
    const seconds = Math.max(0, Math.ceil((health.availableAt - now) / 1_000))
    return {
      key: name,
      state: keyStateOf(health, now, limited.length),
      seconds,
      limited: limited.map(([target]) => target),
      since: wallTime(health.since(now), now),
    }
  })
}
/** ms since 1970 of a monotonic time. */
const wallTime = (at: number | undefined, now: number): number | null =>
  at === undefined ? null : Math.round(Date.now() - (now - at))
/** `limits`: how many targets the key is limited for. */
export const keyStateOf = (health: Health, now: number, limits: number): KeyView['state'] => {
  if (health.isEjected(now)) return 'resting'
  if (health.needsProbe) return 'probing'
  return limits > 0 ? 'limited' : 'ready'
}

const addressesOf = ({ origins, inside }: Upstream): AddressView[] => {
  const now = performance.now()
  return origins.map(({ origin }) => ({
    address: origin.address ?? `${inside}:`,
    state: stateOf(origin.health, now),
    busy: origin.busy,
    conversations: { ...origin.conversations },
    warming: warmingIn(origin.warmTargets),
    since: wallTime(origin.health.since(now), now),
  }))
}
/** State of an upstream address for operators. */
export const stateOf = (health: Health, now: number): AddressView['state'] => {
  if (health.isEjected(now)) return 'ejected'
  if (health.needsProbe) return 'probing'
  return health.isAvailable(now) ? 'ready' : 'paused'
}

// ---------------------------------------------------------------- over all workers

/** Worst first. */
const ADDRESS_STATES = ['ejected', 'paused', 'probing', 'ready'] as const
const KEY_STATES = ['resting', 'limited', 'probing', 'ready'] as const

/** Merges the views of the workers of one version. */
export const mergeHealth = (
  views: readonly HealthView[],
): Pick<GatewayStatus, 'upstreams' | 'keys'> => ({
  upstreams: mergeByName(
    views.map(({ upstreams }) => upstreams),
    ({ address }) => address,
    mergeAddress,
  ),
  keys: mergeByName(
    views.map(({ keys }) => keys),
    ({ key }) => key,
    mergeKey,
  ),
})

type ByName<Item> = Readonly<Record<string, readonly Item[]>>
const mergeByName = <Item, Merged>(
  views: readonly ByName<Item>[],
  idOf: (item: Item) => string,
  merge: (same: readonly [Item, ...Item[]]) => Merged,
): ByName<Merged> => {
  const names = new Set(views.flatMap(view => Object.keys(view)))
  return Object.fromEntries(
    [...names].map(name => {
      const items = views.flatMap(view => view[name] ?? [])
      const merged = [...Map.groupBy(items, idOf).values()].map(([first, ...rest]) =>
        first === undefined ? [] : [merge([first, ...rest])],
      )
      return [name, merged.flat()]
    }),
  )
}
const mergeAddress = (same: readonly [AddressView, ...AddressView[]]): AddressStatus => ({
  address: same[0].address,
  busy: same.reduce((sum, { busy }) => sum + busy, 0),
  conversations: {
    own: same.reduce((sum, { conversations }) => sum + conversations.own, 0),
    moved: same.reduce((sum, { conversations }) => sum + conversations.moved, 0),
  },
  warming: [...new Set(same.flatMap(({ warming }) => warming))],
  ...countStates(ADDRESS_STATES, same),
})
const mergeKey = (same: readonly [KeyView, ...KeyView[]]): KeyStatus => ({
  key: same[0].key,
  seconds: Math.max(...same.map(({ seconds }) => seconds)),
  limited: [...new Set(same.flatMap(({ limited }) => limited))],
  ...countStates(KEY_STATES, same),
})
/** The worst state with its time, and how many workers see each. One worker is enough for any state
 *  but the last, for which the others must have come back. */
const countStates = <State extends string>(
  states: readonly [State, ...State[]],
  same: readonly { readonly state: State; readonly since: number | null }[],
) => {
  const groups = Map.groupBy(same, ({ state }) => state)
  const present = states.filter(state => groups.has(state))
  const workers: Partial<Record<State, number>> = {}
  for (const state of present) workers[state] = groups.get(state)?.length ?? 0
  const [state = states[0]] = present
  const times = (groups.get(state) ?? []).flatMap(({ since }) => since ?? [])
  const [least, most] = [Math.min(...times), Math.max(...times)]
  const since = times.length === 0 ? null : state === states.at(-1) ? most : least
  return { state, since, workers }
}
