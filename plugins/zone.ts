/** Plugin `zone`: upstreams say where they process requests and whether they keep them; a route may
 *  demand it of every target. `auth` demands what an account or an API key has. */
import { nearest } from '../engine/config/nearest.ts'
import { oneOrMore } from '../engine/config/shape.ts'
import { isFields, routesIn } from '../engine/kit.ts'
import type { Document, Json, Plugin, Report } from '../engine/plugin.ts'
import { PLACE, type Place, PlaceRules, retentionOf, zoneName } from './zones/rule.ts'

const ZONES = oneOrMore(
  'The zones where this upstream processes requests. Routes, accounts and API keys may demand one.',
  zoneName('A zone.'),
  { examples: ['eu', ['eu', 'de']], minItems: 1 },
)

export default {
  schema: PLACE.schema,
  upstream: {
    zone: ZONES.schema,
    retention: retentionOf('This upstream keeps neither requests nor answers.').schema,
  },
  after: ['auth'],
  before: ['model'],
  check: problemsIn,
  setup(place, host) {
    const rules = new PlaceRules(host.upstreams)
    return {
      handle(exchange, next) {
        rules.apply(exchange, place, 'this route')
        return next()
      },
      explain: () => ({ ...place }),
    }
  },
} satisfies Plugin<Place>

/** A route whose zone no upstream has can serve nothing. */
function problemsIn(document: Document, report: Report): void {
  const { upstreams } = document
  const listed = Object.values(isFields(upstreams) ? upstreams : {}).filter(isFields)
  const zones = [...new Set(listed.flatMap(({ zone = [] }) => [zone].flat() as Json[]))].map(String)
  for (const [index, route] of routesIn(document)) {
    if (!isFields(route.zone)) continue
    const { zone, retention } = route.zone
    if (typeof zone === 'string' && !zones.includes(zone)) {
      const at = ['routes', index, 'zone', 'zone']
      report(at, 'ZONE_UNKNOWN', 'no upstream is in this zone', nearest(zone, zones))
    }
    if (retention === 'none' && !listed.some(each => each.retention === 'none'))
      report(
        ['routes', index, 'zone', 'retention'],
        'ZONE_UNKNOWN',
        'no upstream has `retention: none`',
      )
  }
}
