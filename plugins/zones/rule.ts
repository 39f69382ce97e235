/** Where requests may be processed: what upstreams say about themselves, and rules that a route, an
 *  account or an API key has for every target of a request. */
import { object, oneOf, type RawOf, text } from '../../engine/config/shape.ts'
import { errors } from '../../engine/errors.ts'
import type { Exchange, HostBase, UpstreamView } from '../../engine/plugin.ts'
import { type Account, DEMANDED_ZONES, ZONE } from '../slots.ts'

const fault = errors({
  ZONE_REFUSED: [403, 'No target of this request is %s, which %s demands.'],
})

export const zoneName = (description: string) =>
  text(description, { pattern: ZONE, examples: ['eu'] })
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
export type PlaceOwner = 'this route' | 'the account' | 'the API key'

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
const isPermitted = (upstream: UpstreamView | undefined, { zone, retention }: Place): boolean =>
  (zone === undefined || zonesOf(upstream).includes(zone)) &&
  (retention === undefined || upstream?.options.retention === retention)

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
/** Names of zones come from keys, whose number has no limit. */
const MOST_RULES = 1_000

const textOf = ({ zone, retention }: Place): string =>
  [
    ...(zone === undefined ? [] : [`in the zone "${zone}"`]),
    ...(retention === undefined ? [] : ['at an upstream that keeps nothing']),
  ].join(' and ')
