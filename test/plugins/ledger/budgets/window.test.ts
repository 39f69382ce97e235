/** The windows of budgets by the calendar of a zone. */
import t from 'tap'
import { windowOf } from '../../../../plugins/ledger/budgets/window.ts'
import { PERIODS } from '../../../../plugins/rows/money.ts'

const HOUR = 3_600_000
const zoned = (at: number, zone: string): string =>
  new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  }).format(at)

/** An instant, a period, a zone, and the window in UTC. */
const CASES = [
  // Both days of daylight saving: 23 and 25 hours.
  ['2026-03-29T12:00Z', 'day', 'Europe/Berlin', '2026-03-28T23:00Z', '2026-03-29T22:00Z'],
  ['2026-10-25T12:00Z', 'day', 'Europe/Berlin', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
  // The hour that comes twice is two windows.
  ['2026-10-25T00:30Z', 'hour', 'Europe/Berlin', '2026-10-25T00:00Z', '2026-10-25T01:00Z'],
  ['2026-10-25T01:30Z', 'hour', 'Europe/Berlin', '2026-10-25T01:00Z', '2026-10-25T02:00Z'],
  // Half an hour of daylight saving, and half an hour of offset.
  ['2026-10-03T15:15Z', 'hour', 'Australia/Lord_Howe', '2026-10-03T14:30Z', '2026-10-03T15:30Z'],
  ['2026-10-03T15:30Z', 'hour', 'Australia/Lord_Howe', '2026-10-03T15:30Z', '2026-10-03T16:00Z'],
  ['2026-06-01T00:15Z', 'hour', 'Asia/Kolkata', '2026-05-31T23:30Z', '2026-06-01T00:30Z'],
  // Midnight does not exist on the first day of daylight saving.
  ['2018-11-04T12:00Z', 'day', 'America/Sao_Paulo', '2018-11-04T03:00Z', '2018-11-05T02:00Z'],
  // A day that a zone left out.
  ['2011-12-30T09:59Z', 'day', 'Pacific/Apia', '2011-12-29T10:00Z', '2011-12-30T10:00Z'],
  ['2011-12-30T10:00Z', 'day', 'Pacific/Apia', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
  // Months of 28 to 31 days.
  ['2026-02-28T23:59Z', 'month', 'UTC', '2026-02-01T00:00Z', '2026-03-01T00:00Z'],
  ['2028-02-29T12:00Z', 'month', 'UTC', '2028-02-01T00:00Z', '2028-03-01T00:00Z'],
  ['2028-02-29T12:00Z', 'day', 'UTC', '2028-02-29T00:00Z', '2028-03-01T00:00Z'],
  ['2026-04-30T23:59Z', 'month', 'UTC', '2026-04-01T00:00Z', '2026-05-01T00:00Z'],
  ['2026-03-31T22:30Z', 'month', 'Europe/Berlin', '2026-03-31T22:00Z', '2026-04-30T22:00Z'],
  // The end of the year, and a week over it.
  ['2026-12-31T23:30Z', 'year', 'UTC', '2026-01-01T00:00Z', '2027-01-01T00:00Z'],
  ['2026-12-31T23:30Z', 'year', 'Europe/Berlin', '2026-12-31T23:00Z', '2027-12-31T23:00Z'],
  ['2027-01-01T00:00Z', 'week', 'UTC', '2026-12-28T00:00Z', '2027-01-04T00:00Z'],
  ['2026-11-29T12:00Z', 'quarter', 'UTC', '2026-10-01T00:00Z', '2027-01-01T00:00Z'],
  ['2026-03-31T23:30Z', 'quarter', 'Europe/Berlin', '2026-03-31T22:00Z', '2026-06-30T22:00Z'],
] as const

t.test('windowOf: follows the calendar of the zone', async t => {
  for (const [at, period, zone, start, end] of CASES)
    t.same(
      windowOf(Date.parse(at), period, zone),
      { start: Date.parse(start), end: Date.parse(end) },
      `${at} ${period} ${zone}`,
    )
  t.same(windowOf(Date.parse('2026-11-29'), 'life', 'UTC'), { start: 0, end: undefined })
})

t.test('windowOf: windows of any instants meet without a gap, at midnight by Intl', async t => {
  const zones = [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
  ]
  for (const zone of zones)
    for (const period of PERIODS.filter(each => each !== 'life'))
      for (let at = Date.parse('2027-12-20T00:07:13Z'), round = 0; round < 60; round++) {
        const { start, end = 0 } = windowOf(at, period, zone)
        t.ok(at >= start && at < end, `${at} is in its ${period} in ${zone}`)
        t.same(windowOf(start, period, zone), { start, end })
        t.same(windowOf(end - 1, period, zone), { start, end })
        t.equal(windowOf(end, period, zone).start, end)
        if (period !== 'hour') t.match(zoned(start, zone), /00:00:00$/)
        at += 5.3 * 24 * HOUR
      }
})
