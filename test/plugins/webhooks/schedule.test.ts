/** When a delivery is tried again: the published schedule, spread by a tenth, and what receivers ask for. */

import t from 'tap'
import { resultOf } from '../../../plugins/webhooks/delivery.ts'
import { ATTEMPTS, DELAYS, delayBefore, retryAfterOf } from '../../../plugins/webhooks/schedule.ts'
import fc from '../../helpers/property.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const PUBLISHED = [
  5_000,
  5 * MINUTE,
  30 * MINUTE,
  ...[2, 5, 10, 14, 20, 24].map(each => each * HOUR),
]

t.test('the schedule', async t => {
  t.same(DELAYS, PUBLISHED)
  const middle = PUBLISHED.map((_, index) => delayBefore(ATTEMPTS - 1 - index, 0.5))
  t.same(middle, PUBLISHED)
  for (const left of [0, -1]) t.equal(delayBefore(left, 0.5), undefined)
  t.equal(delayBefore(100, 0.5), 5_000, 'more attempts than there are delays')
})

t.test('spread by a tenth, never more', async t => {
  const left = fc.integer({ min: 1, max: DELAYS.length })
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(left, random, (left, random) => {
        const delay = PUBLISHED[PUBLISHED.length - left] ?? 0
        const found = delayBefore(left, random) ?? 0
        return found >= delay * 0.9 - 1 && found <= delay * 1.1 + 1
      }),
    ),
  )
  t.equal(delayBefore(9, 0), 4_500)
  t.equal(delayBefore(9, 0.999_999), 5_500)
})

t.test('what a receiver asks for counts where it is longer', async t => {
  t.equal(delayBefore(9, 0.5, 60_000), 60_000)
  t.equal(delayBefore(9, 0.5, 1_000), 5_000)
  t.equal(delayBefore(9, 0.5, 1_000 * HOUR), 24 * HOUR, 'nobody puts us off for years')
  t.equal(delayBefore(0, 0.5, 60_000), undefined)
  const now = Date.parse('2030-01-01T00:00:00Z')
  for (const [value, ms] of [
    ['120', 120_000],
    ['0', 0],
    ['Tue, 01 Jan 2030 00:01:00 GMT', MINUTE],
    ['Mon, 31 Dec 2029 00:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['99999999999', undefined],
    ['Nop, no date', undefined],
    [undefined, undefined],
    [['1', '2'], undefined],
  ] as const)
    t.equal(retryAfterOf(value, now), ms, String(value))
})

t.test('what an answer means', async t => {
  const said = (status: number, headers = {}) => resultOf({ status, headers }, 0).outcome
  for (const status of [200, 201, 202, 204, 299]) t.equal(said(status), 'delivered', String(status))
  for (const status of [300, 301, 302, 304, 307, 308]) t.equal(said(status), 'redirected')
  for (const status of [400, 401, 404, 500, 503]) t.equal(said(status), 'refused')
  t.equal(said(410), 'gone')
  for (const status of [429, 502, 504]) {
    t.equal(said(status), 'throttled')
    t.ok(resultOf({ status, headers: {} }, 0).pause)
  }
  t.equal(resultOf({ status: 503, headers: { 'retry-after': '7' } }, 0).wait, 7_000)
})
