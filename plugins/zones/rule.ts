/** Where requests may be processed: what upstreams say about themselves, and rules that a route, an
 *  account or an API key has for every target of a request. */
import { nearest } from '../../engine/config/nearest.ts'
import { object, oneOf, oneOrMore, type RawOf, text } from '../../engine/config/shape.ts'
import { errors } from '../../engine/errors.ts'
import { isFields } from '../../engine/kit.ts'
import type { Exchange, HostBase, Json, Report, UpstreamView } from '../../engine/plugin.ts'
import { type Account, DEMANDED_RETENTION, DEMANDED_ZONES, ZONE } from '../slots.ts'

const fault = errors({
  ZONE_REFUSED: [403, 'No target of this request is %s, which %s demands.'],
})

export const zoneName = (description: string) =>
  text(description, { pattern: ZONE, examples: ['eu'] })
export const zonesShape = (description: string) =>
  oneOrMore(description, zoneName('A zone.'), { examples: ['eu', ['eu', 'de']], minItems: 1 })
export const retentionOf = (description: string) =>
  oneOf(description, ['none'], { examples: ['none'] })

export const PLACE = object(
  'Where the requests may be processed; every target must satisfy all members.',
  {
    zone: zoneName('The zone of every target.'),
    retention: retentionOf('Every target says that it keeps nothing.'),
  },
  { minProperties: 1, examples: [{ zone: 'eu' }, { zone: 'eu', retention: 'none' }] },
)
export type Place = RawOf<typeof PLACE>
/** Who has the rule, as errors name it. */
export type PlaceOwner = 'this route' | 'the account' | 'the API key' | `the tag ${string}`

/** The zones of an upstream. */
export const zonesOf = (upstream: UpstreamView | undefined): readonly string[] => {
  const zones = upstream?.options.zone ?? []
  return (Array.isArray(zones) ? zones : [zones]).map(String)
}
/** Everything that rules ask about an upstream. */
export const placeOf = (upstream: UpstreamView | undefined): readonly string[] => [
  ...zonesOf(upstream),
  `retention: ${upstream?.options.retention ?? ''}`,
]
/** The place of an upstream, or of a service outside of `upstreams:`, such as a webhook. */
export interface Placed {
  readonly zones: readonly string[]
  readonly retention?: unknown
}
const isPermitted = (upstream: UpstreamView | undefined, place: Place): boolean =>
  describeUnmet(place, {
    zones: zonesOf(upstream),
    retention: upstream?.options.retention,
  }) === undefined
/** The part of a demand that something does not satisfy: `in the zone "eu"`; undefined: it does. */
export const describeUnmet = ({ zone, retention }: Place, placed: Placed): string | undefined => {
  if (zone !== undefined && !placed.zones.includes(zone)) return textOf({ zone })
  return retention === undefined || placed.retention === retention
    ? undefined
    : textOf({ retention })
}

type Rule = Parameters<Exchange['restrict']>[0]
type Targets = Exchange['targets']

/** Rules of one configuration. Equal places share a rule, and equal lists of targets its result. */
export class PlaceRules {
  readonly #upstreams: HostBase['upstreams']
  readonly #rules = new Map<string, Rule>()

  constructor(upstreams: HostBase['upstreams']) {
    this.#upstreams = upstreams
  }
  /** Throws ZONE_REFUSED, now or when later targets are set, if no target is permitted. */
  apply(exchange: Exchange, place: Place, owner: PlaceOwner): void {
    const { zone, retention } = place
    if (zone === undefined && retention === undefined) return
    if (zone !== undefined) {
      const zones = exchange.slots.get(DEMANDED_ZONES) ?? []
      exchange.slots.set(DEMANDED_ZONES, [...zones, zone])
    }
    if (retention !== undefined) exchange.slots.set(DEMANDED_RETENTION, retention)
    const name = `${owner}/${zone ?? ''}/${retention ?? ''}`
    let rule = this.#rules.get(name)
    if (!rule) {
      rule = this.#rule(place, owner)
      if (this.#rules.size < MOST_RULES) this.#rules.set(name, rule)
    }
    exchange.restrict(rule)
  }
  /** Demands what the account and its API key have. */
  applyAccount(exchange: Exchange, { limits, key }: Account): void {
    if (limits) this.apply(exchange, limits, 'the account')
    if (key?.limits) this.apply(exchange, key.limits, 'the API key')
  }
  #rule(place: Place, owner: PlaceOwner): Rule {
    const permitted = new WeakMap<Targets, Targets>()
    return targets => {
      const known = permitted.get(targets)
      if (known) return known
      const list = targets.filter(({ upstream }) => isPermitted(this.#upstreams[upstream], place))
      if (list.length === 0 && targets.length > 0)
        throw fault('ZONE_REFUSED', [textOf(place), owner])
      const result = list.length === targets.length ? targets : list
      permitted.set(targets, result)
      return result
    }
  }
}
/** The demand of a call that a service does not satisfy; undefined: it may get the texts. */
export const unmetDemand = ({ slots }: Exchange, placed: Placed): string | undefined => {
  const retention = slots.get(DEMANDED_RETENTION)
  const zones = slots.get(DEMANDED_ZONES)
  const places = [{ retention }, ...(zones ?? []).map(zone => ({ zone }))] as readonly Place[]
  return places.map(place => describeUnmet(place, placed)).find(each => each !== undefined)
}

/** Reports a place that no upstream satisfies. */
export const reportPlace = (
  { zone, retention }: Place,
  where: readonly (string | number)[],
  upstreams: Json | undefined,
  report: Report,
): void => {
  const listed = Object.values(isFields(upstreams) ? upstreams : {}).filter(isFields)
  const zones = [...new Set(listed.flatMap(({ zone: own = [] }) => [own].flat() as Json[]))].map(
    String,
  )
  if (typeof zone === 'string' && !zones.includes(zone))
    report([...where, 'zone'], 'ZONE_UNKNOWN', 'no upstream is in this zone', nearest(zone, zones))
  if (retention === 'none' && !listed.some(each => each.retention === 'none'))
    report([...where, 'retention'], 'ZONE_UNKNOWN', 'no upstream has `retention: none`')
}

/** Names of zones come from keys, whose number has no limit. */
const MOST_RULES = 1_000

const textOf = ({ zone, retention }: Place): string =>
  [
    ...(zone === undefined ? [] : [`in the zone "${zone}"`]),
    ...(retention === undefined ? [] : ['at an upstream that keeps nothing']),
  ].join(' and ')
