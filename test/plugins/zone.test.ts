/** Zones and retentions of routes that no upstream has are problems; where they hold is shown by
 *  test/journeys/upstreams/zones.test.ts. */
import t from 'tap'
import type { Document, Report } from '../../engine/plugin.ts'
import zone from '../../plugins/zone.ts'

const upstreams = { us: {}, eu: { zone: ['eu', 'de'], retention: 'none' }, asia: { zone: 'asia' } }
const problemsOf = (place: unknown, document: Document = { upstreams }) => {
  const problems: Parameters<Report>[] = []
  const routes = [{ path: '/a' }, { path: '/b', zone: place }]
  zone.check({ ...document, routes } as Document, (...problem) => void problems.push(problem))
  return problems
}

t.test('zone: a zone that no upstream has is a problem, with the nearest name', async t => {
  t.same(problemsOf({ zone: 'de', retention: 'none' }), [])
  t.same(problemsOf({ zone: 'assia' }), [
    [['routes', 1, 'zone', 'zone'], 'ZONE_UNKNOWN', 'no upstream is in this zone', 'asia'],
  ])
  t.match(problemsOf({ zone: 'moon' }), [
    [['routes', 1, 'zone', 'zone'], 'ZONE_UNKNOWN', 'no upstream is in this zone', undefined],
  ])
})

t.test('zone: a retention that no upstream has is a problem', async t => {
  t.same(problemsOf({ retention: 'none' }, { upstreams: { us: {} } }), [
    [['routes', 1, 'zone', 'retention'], 'ZONE_UNKNOWN', 'no upstream has `retention: none`'],
  ])
})
