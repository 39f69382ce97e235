/** Zones and retentions of routes that no upstream has are problems; where they hold is shown by
 *  test/journeys/upstreams/zones.test.ts. */
import t from 'tap'
import type { Document, Report } from '../../engine/plugin.ts'
import guard from '../../plugins/guard/index.ts'
import tags from '../../plugins/tags.ts'
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

t.test('tags: a zone or a retention that no upstream has is a problem', async t => {
  const problems: string[] = []
  const known = {
    project: ['a', { value: 'b', zone: 'de' }, { value: 'c', zone: 'd' }],
    any: 'any',
  }
  const report: Report = (where, code) => void problems.push(`${code} ${where.join('.')}`)
  tags.check({ tags: { known }, upstreams, pipeline: ['tags'] } as Document, report)
  t.same(problems, ['ZONE_UNKNOWN tags.known.project.2.zone'])
})

t.test('guards: one that a route would never ask is a problem', async t => {
  const check = (options: object, place: object) => {
    const problems: string[] = []
    const report: Report = (where, code) => void problems.push(`${code} ${where.join('.')}`)
    const own = { on_error: 'block', do: 'block', ...options }
    const models = { near: { to: [{ to: 'us/m' }, 'eu/m'] }, far: { to: 'us/m' } }
    const routes = [
      { path: '/a', guard: 'own' },
      { path: '/b', guard: ['own'], zone: place },
    ]
    const document = { guards: { own }, models, upstreams, routes } as never
    guard.check(document, report)
    return problems
  }
  const webhook = 'http://127.0.0.1:9/x'
  const byModel = { prompt: 'No insults.', timeout: '1s' }
  const unmet = ['GUARD_ZONE routes.1.guard']
  t.same(check({ webhook }, { zone: 'eu' }), unmet)
  t.same(check({ webhook, zone: 'asia' }, { zone: 'eu' }), unmet)
  t.same(check({ webhook, zone: ['asia', 'eu'] }, { zone: 'eu' }), [])
  t.same(check({ webhook, zone: 'eu' }, { retention: 'none' }), unmet)
  t.same(check({ webhook, retention: 'none' }, { retention: 'none' }), [])
  t.same(check({ ...byModel, model: 'far' }, { zone: 'eu' }), unmet)
  t.same(check({ ...byModel, model: 'near' }, { zone: 'eu', retention: 'none' }), [])
  t.same(check({ find: 'email' }, { zone: 'eu' }), [], 'finders run in the gateway')
  t.same(check({ ...byModel, model: 'near', zone: 'eu' }, {}), ['GUARD_OPTION guards.own.zone'])
})
