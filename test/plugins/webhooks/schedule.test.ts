/** Retries of deliveries: the published schedule, its jitter, and the Retry-After of receivers. */
import t from 'tap'
import { resultOf } from '../../../plugins/webhooks/delivery.ts'
import { ATTEMPTS, DELAYS, delayBefore } from '../../../plugins/webhooks/schedule.ts'
import fc from '../../helpers/property.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const PUBLISHED = [
  5_000,
  5 * MINUTE,
  30 * MINUTE,
  ...[2, 5, 10, 14, 20, 24].map(each => each * HOUR),
]

t.test('retry schedule: has the delays of Standard Webhooks', async t => {
  t.same(DELAYS, PUBLISHED)
  const middle = PUBLISHED.map((_, index) => delayBefore(ATTEMPTS - 1 - index, 0.5))
  t.same(middle, PUBLISHED)
  for (const remaining of [0, -1]) t.equal(delayBefore(remaining, 0.5), undefined)
  t.equal(delayBefore(100, 0.5), 5_000, 'more attempts than delays')
})

t.test('retry schedule: jitter is at most a tenth', async t => {
  const remainingAttempts = fc.integer({ min: 1, max: DELAYS.length })
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(remainingAttempts, random, (remaining, random) => {
        const delay = PUBLISHED[PUBLISHED.length - remaining] ?? 0
        const actual = delayBefore(remaining, random) ?? 0
        return actual >= delay * 0.9 - 1 && actual <= delay * 1.1 + 1
      }),
    ),
  )
  t.equal(delayBefore(9, 0), 4_500)
  t.equal(delayBefore(9, 0.999_999), 5_500)
})

t.test('retry schedule: a longer Retry-After applies', async t => {
  t.equal(delayBefore(9, 0.5, 60_000), 60_000)
  t.equal(delayBefore(9, 0.5, 1_000), 5_000)
  t.equal(delayBefore(9, 0.5, 1_000 * HOUR), 24 * HOUR, 'a longer Retry-After is limited to a day')
  t.equal(delayBefore(0, 0.5, 60_000), undefined)
})

t.test('delivery: each status has an outcome', async t => {
  const outcomeOf = (status: number, headers = {}) => resultOf({ status, headers }, 0).outcome
  for (const status of [200, 201, 202, 204, 299])
    t.equal(outcomeOf(status), 'delivered', String(status))
  for (const status of [300, 301, 302, 304, 307, 308]) t.equal(outcomeOf(status), 'redirected')
  for (const status of [400, 401, 404, 500, 503]) t.equal(outcomeOf(status), 'refused')
  t.equal(outcomeOf(410), 'gone')
  for (const status of [429, 502, 504]) {
    t.equal(outcomeOf(status), 'throttled')
    t.ok(resultOf({ status, headers: {} }, 0).pause)
  }
  t.equal(resultOf({ status: 503, headers: { 'retry-after': '7' } }, 0).wait, 7_000)
})
