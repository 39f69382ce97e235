/** Ejection after failures in a row, readmission by one probe, pauses. Times are arguments. */
import { Ajv } from 'ajv'
import t from 'tap'
import { UPSTREAM } from '../../../engine/config/sections/upstream.ts'
import { Health } from '../../../engine/upstream/health.ts'

const RULES = { failures: 3, eject: 100 }
const failing = (health: Health, times: number, now: number): boolean[] =>
  Array.from({ length: times }, () => health.recordFailure(now, RULES))

t.test(
  'health: ejects after the configured failures in a row, for the configured time',
  async t => {
    const health = new Health()
    t.same(failing(health, 3, 1_000), [false, false, true], 'the last failure reports the ejection')
    t.equal(health.isAvailable(1_000), false)
    t.equal(health.isAvailable(1_099), false)
    t.equal(health.isEjected(1_099), true)
    t.equal(health.availableAt, 1_100)
    t.equal(health.isAvailable(1_100), true, 'then it is due')
    t.equal(health.isEjected(1_100), false)
  },
)

t.test('health: failures that are not in a row do not eject', async t => {
  const health = new Health()
  for (let n = 0; n < 10; n++) {
    failing(health, 2, 1_000)
    health.recordSuccess(1_000)
  }
  t.equal(health.isAvailable(1_000), true)
  t.equal(health.isEjected(1_000), false)
})

t.test('health: one request probes an ejected origin, others wait', async t => {
  const health = new Health()
  failing(health, 3, 1_000)
  health.recordAttempt(1_050)
  t.equal(health.isAvailable(1_100), true, 'a request sent during the ejection is not a probe')
  health.recordAttempt(1_100)
  t.equal(health.isAvailable(1_100), false)
  t.equal(health.isAvailable(9_999), false, 'until the probe ends')
  health.recordSuccess(1_101)
  t.equal(health.isAvailable(1_101), true)
  t.equal(health.availableAt, 0)
  t.same(failing(health, 3, 1_200), [false, false, true], 'the count of failures restarts')
})

t.test('health: a failed probe ejects again at once', async t => {
  const health = new Health()
  failing(health, 3, 1_000)
  health.recordAttempt(1_100)
  t.equal(health.recordFailure(1_150, RULES), true)
  t.equal(health.isAvailable(1_249), false)
  t.equal(health.isAvailable(1_250), true)
})

t.test('health: an abandoned probe lets another request probe', async t => {
  const health = new Health()
  failing(health, 3, 1_000)
  health.recordAttempt(1_100)
  health.recordAbandoned()
  t.equal(health.isAvailable(1_100), true)
  health.recordAttempt(1_100)
  health.rest(1_150, 1_100)
  t.equal(health.isAvailable(1_149), false)
  t.equal(health.isAvailable(1_150), true, 'a 429 ends the probe without a result')
})

t.test('health: a Retry-After pauses an origin without ejecting it', async t => {
  const health = new Health()
  health.rest(1_500, 1_000)
  t.equal(health.isAvailable(1_499), false)
  t.equal(health.isEjected(1_499), false)
  t.equal(health.availableAt, 1_500)
  health.rest(1_200, 1_000)
  t.equal(health.isAvailable(1_499), false, 'a shorter pause does not shorten it')
  t.equal(health.isAvailable(1_500), true)
  t.same(failing(health, 3, 1_600), [false, false, true], 'a pause counts as no failure')
})

t.test('health: errors in bodies count in a row, although their heads were successes', async t => {
  const health = new Health()
  for (const expected of [false, false, true]) {
    const before = health.recordResponse(200, undefined, 1_000, RULES)
    health.recordResponse(503, undefined, 1_000, RULES, before)
    t.equal(health.isEjected(1_000), expected)
  }
})

t.test('health: with a probe of its own an origin waits for it, whatever the time', async t => {
  const health = new Health()
  const delays: number[] = []
  const rules = { ...RULES, probe: (_: Health, ms: number) => void delays.push(ms) }
  for (let n = 0; n < 3; n++) health.recordFailure(1_000, rules)
  t.same(delays, [100])
  t.equal(health.isAvailable(9_999), false)
  health.recordAttempt(9_999)
  health.recordFailure(9_999, rules)
  t.same(delays, [100, 100])
  health.recordAttempt(20_000)
  health.recordSuccess(20_000)
  t.equal(health.isAvailable(20_000), true)
  failing(health, 3, 30_000)
  t.equal(health.isAvailable(30_100), true, 'ejected by an upstream without a probe')
})

t.test('health: a probe is a path, or a path with a body', async t => {
  const { health } = UPSTREAM.schema.properties as { readonly health: object }
  const fits = new Ajv({ strict: false }).compile(health)
  t.ok(fits({ probe: '/v1/models' }))
  t.ok(fits({ probe: { path: '/v1/warm', body: {} } }))
  for (const probe of [
    'models',
    'http://x/v1',
    '/a b',
    '',
    true,
    {},
    { path: '/v1/warm' },
    { body: {} },
  ])
    t.notOk(fits({ probe }), JSON.stringify(probe))
})

t.test('health: knows since when it is healthy, ejected or resting', async t => {
  const health = new Health()
  t.equal(health.since(1_000), undefined, 'healthy all the time')
  failing(health, 3, 1_000)
  t.equal(health.since(1_050), 1_000)
  health.recordAttempt(1_100)
  failing(health, 1, 1_100)
  t.equal(health.since(1_500), 1_000, 'a failed probe ejects again')
  health.recordSuccess(1_600)
  t.equal(health.since(1_700), 1_600)
  health.rest(2_500, 2_000)
  health.rest(3_000, 2_100)
  t.equal(health.since(2_999), 2_000, 'a longer rest is the same rest')
  t.equal(health.since(3_500), 3_000, 'healthy again when its rest ended')
  health.recordSuccess(4_000)
  t.equal(health.since(4_100), 3_000, 'a success of a healthy one changes nothing')
})
