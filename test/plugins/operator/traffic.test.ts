/** Traffic by account and by key, on both stores: charges beside failed calls and latencies, which
 *  are found by day and account. */
import t from 'tap'
import { callerOf } from '../../../plugins/calls/call-member.ts'
import { CallSums, type EndedCall } from '../../../plugins/calls/call-sums.ts'
import { timesOfCallers } from '../../../plugins/calls/sum-statements.ts'
import type { TrafficRow } from '../../../plugins/views.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { runAs } from '../../helpers/store/operations.ts'
import { planOn, runOn, seriesOn } from '../../helpers/store/query-plan.ts'
import { ENGINES, startAnyStore } from '../../helpers/store/store.ts'

const DAY = 86_400_000
const NOW = Date.now()
const TODAY = Math.floor(NOW / DAY)

for (const engine of ENGINES)
  t.test(`traffic by account and key on ${engine}: has failed calls and latencies`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    const accounts = await openAccountsIn(database)
    await makeLedger(database)
    const [ann, bob] = [await accounts.account('ann'), await accounts.account('bob')]
    const keys = [await accounts.key(ann), await accounts.key(ann), await accounts.key(bob)]
    const [one = 0, two = 0, three = 0] = keys.map(({ id }) => id)
    const sums = new CallSums({ database, log: SILENT_LOG, metrics: { count() {} } })
    const add = (more: Partial<EndedCall>) =>
      sums.add({
        at: NOW,
        account: ann,
        key: one,
        model: 'm',
        entry: 'm',
        upstream: 'up',
        isFailed: false,
        amount: 5n,
        input: 10,
        cached: 0,
        output: 3,
        times: { first: 100, whole: 1_000 },
        ...more,
      })
    const fail = (more: Partial<EndedCall> = {}) =>
      add({ isFailed: true, amount: 0n, times: undefined, ...more })
    for (let count = 0; count < 4; count++) add({})
    add({ key: two, member: 3, times: { first: 5_000, whole: 60_000 } })
    add({ key: two, member: 4, times: { first: 5_000, whole: 60_000 } })
    add({ account: bob, key: three })
    for (let count = 0; count < 3; count++) fail()
    fail({ account: bob, key: three, at: NOW - 5 * DAY, model: 'another' })
    fail({ account: bob, key: 0 })
    fail({ account: 0, key: 0 })
    const late = { at: NOW, entry: 'm', upstream: 'up' }
    sums.addLateFailure({ ...late, account: ann, key: two, member: 3 })
    await sums.close()
    const charge = (account: number, key: number | string, amount: number) =>
      `(${TODAY}, ${account}, ${key}, 'm', 2, ${amount}, 20, 0, 6)`
    const member = callerOf({ key: String(two), member: '3' })
    await runOn(
      store,
      `INSERT INTO usage_days (day, account, key, model, calls, amount, input, cached, output)
       VALUES ${[charge(ann, one, 500), charge(ann, member, 300), charge(bob, three, 200), charge(bob, 0, 100)].join(', ')}`,
    )
    const host = hostOver(database)
    const actor = { via: 'admin API', name: 'root', account: 1 } as const
    const traffic = async (by: string, since: string) =>
      runAs<readonly TrafficRow[]>({ host, actor }, 'traffic list', { by, since })
    t.match(await traffic('account', '7d'), [
      { name: 'ann', calls: 4, failed: 4, cost: '0.0000008', input_tokens: 40 },
      { name: 'bob', calls: 4, failed: 2 },
    ])
    t.match(await traffic('account', '3d'), [{ failed: 4 }, { failed: 1 }], 'of these days')
    const [first, second, other, none, ...more] = await traffic('key', '7d')
    t.match(first, { name: /\(ann\)$/, calls: 2, failed: 3 })
    t.match(second, { name: /\(ann\)$/, calls: 2, failed: 1 })
    t.match(other, { name: /\(bob\)$/, failed: 1 })
    t.match(none, { name: /^no key/, p50_ms: null })
    t.notOk('failed' in (none ?? {}), 'of calls without a key it is not known')
    t.same(more, [])
    t.ok(Number(first?.p99_ms) < 1_450 && Number(second?.p50_ms) > 40_000)
    t.ok(Number(other?.first_content_p50_ms) > 60)
  })

/** In the plan of a read that finds rows by day and account. */
const SEARCH = {
  sqlite: /SEARCH c USING PRIMARY KEY \(day=\? AND account=\?\)/,
  postgres: /Index Cond: \(.*day = ANY.*account = ANY.*\)/,
} as const
for (const engine of ENGINES)
  t.test(`traffic by account and key on ${engine}: reads the rows of these accounts`, async t => {
    const store = await startAnyStore(t, engine)
    await makeLedger(await store.open())
    await runOn(
      store,
      `INSERT INTO call_times (day, account, key, model, whole9)
       SELECT ${TODAY} - n.at % 90, n.at / 90, n.at / 90, 'm', 1 FROM ${seriesOn(store, 40_000)}`,
    )
    await runOn(store, 'ANALYZE')
    const values = ['[3,4,5]', TODAY - 30, TODAY + 1, TODAY + 1]
    for (const group of ['account', 'key'] as const) {
      const keys = group === 'key' ? ['[3,4,5]'] : []
      const plan = await planOn(store, timesOfCallers(group), [...values, ...keys])
      t.notMatch(plan, /account = ANY.*account = ANY/, 'one list: each pair of two is a search')
      t.match(plan, SEARCH[engine], group)
      t.notMatch(plan, /SCAN c\b|Seq Scan on call_times/, group)
    }
  })
