/** Filters of the request log, record by record. */
import t from 'tap'
import type { RequestFilter, RequestRecord } from '../../../engine/request-log/contract.ts'
import { compileFilter } from '../../../engine/request-log/filter.ts'

const passes = (filter: RequestFilter, record: object): boolean =>
  compileFilter(filter)(record as RequestRecord)

t.test('filter: a record passes from `since` until before `until`', async t => {
  const within = { since: 5, until: 8 }
  t.same(
    [4, 5, 7, 8].map(time => passes(within, { time })),
    [false, true, true, false],
  )
  t.ok(passes({}, { time: 4 }))
})

t.test('filter: a status or a class of them', async t => {
  const statuses = [200, 404, 429, 500]
  const passing = (status: string) => statuses.filter(each => passes({ status }, { status: each }))
  t.same(passing('4xx'), [404, 429])
  t.same(passing('404'), [404])
  t.same(passing('6xx'), [])
})

t.test('filter: every field has one of its values', async t => {
  const fields = { model: ['a', 'b'], account: ['1'] }
  t.ok(passes({ fields }, { model: 'b', account: 1 }))
  t.notOk(passes({ fields }, { model: 'c', account: 1 }))
  t.notOk(passes({ fields }, { model: 'a' }), 'an absent field')
})
