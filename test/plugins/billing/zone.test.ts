/** Time zones of options. */
import t from 'tap'
import { zoneProblem } from '../../../plugins/billing/calendar.ts'

t.test('zoneProblem: takes IANA names, and says why it refuses others', async t => {
  for (const name of ['UTC', 'Europe/Berlin', 'Asia/Shanghai', undefined])
    t.equal(zoneProblem(name), undefined, String(name))
  for (const name of ['+01:00', '-0530', '01:00'])
    t.match(zoneProblem(name), /is an offset, .*IANA/, name)
  for (const name of [
    '',
    'Berlin',
    'Europe/Berlln',
    'CETX',
    '2026-01-01T00:00Z[Europe/Berlin]',
    'UTC+1',
  ])
    t.match(zoneProblem(name), /is not a time zone; .*Europe\/Berlin/, name)
})
