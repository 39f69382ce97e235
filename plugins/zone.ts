/** Plugin `zone`: upstreams say where they process requests and whether they keep them; a route may
 *  demand it of every target. `auth` demands what an account or an API key has. */
import { isFields, routesIn } from '../engine/kit.ts'
import type { Document, Plugin, Report } from '../engine/plugin.ts'
import {
  PLACE,
  type Place,
  PlaceRules,
  reportPlace,
  retentionOf,
  zonesShape,
} from './zones/rule.ts'

const ZONES = zonesShape(
  'The zones where this upstream processes requests. Routes, accounts, API keys and tags may demand one.',
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
  for (const [index, route] of routesIn(document))
    if (isFields(route.zone))
      reportPlace(route.zone as Place, ['routes', index, 'zone'], document.upstreams, report)
}
