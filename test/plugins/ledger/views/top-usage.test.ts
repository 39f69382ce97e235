/** Kept lists of the largest sums, on both stores: they are those that all sums of the period give,
 *  each read of the job and of a page finds its rows by a key, and pages of small stores, or with
 *  an old list, add up the sums themselves. */
import t from 'tap'
import type { Database, Sql, Value } from '../../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../../engine/store/open-database.ts'
import { keepTops, keptTops, topsOfPart } from '../../../../plugins/ledger/views/top-usage.ts'
import { dayOf } from '../../../../plugins/ledger/views/usage-days.ts'
import { topRowsOfDays } from '../../../../plugins/operator/usage.ts'
import { createChance } from '../../../helpers/run-settings.ts'
import { hostOver } from '../../../helpers/store/accounts.ts'
import { makeLedger } from '../../../helpers/store/membership.ts'
import { runAs } from '../../../helpers/store/operations.ts'
import { planOn, runOn, seriesOn } from '../../../helpers/store/query-plan.ts'
import { type AnyStore, ENGINES, startAnyStore } from '../../../helpers/store/store.ts'

const NOW = Date.now()
const TODAY = dayOf(NOW)
const ACCOUNTS = 60
const HOUR = 3_600_000
const OPTIONS = { many: 50, part: 7 }

/** Accounts with three keys each, and calls with and without a key on a third of the days. */
const fill = async (store: AnyStore): Promise<void> => {
  const accounts = seriesOn(store, ACCOUNTS)
  await runOn(
    store,
    `INSERT INTO accounts (id, name, role, created) SELECT n.at + 9, 'a' || n.at, 'customer', 1 FROM ${accounts}`,
  )
  await runOn(store, `INSERT INTO wallets (id) SELECT (n.at + 9) * 2 FROM ${accounts}`)
  await runOn(
    store,
    `INSERT INTO api_keys (id, account, name, digest, prefix, last_four, created, change)
     SELECT n.at, 10 + (n.at - 1) % ${ACCOUNTS}, 'k' || n.at, 'd' || n.at, 'sk', '0000', 1, 0 FROM ${seriesOn(store, ACCOUNTS * 3)}`,
  )
  const chance = createChance()
  const rows: string[] = []
  for (let account = 10; account < 10 + ACCOUNTS; account++)
    for (let day = TODAY - 35; day <= TODAY; day++) {
      if (chance() > 0.3) continue
      const key = chance() < 0.3 ? 0 : account - 9 + ACCOUNTS * Math.floor(chance() * 3)
      // Few amounts: many sums are equal. A member's calls by a key are rows of their own.
      const caller = key + (chance() < 0.5 ? 3 * 2 ** 32 : 0)
      rows.push(
        `(${day}, ${account}, ${caller}, 'm', 2, ${5 * Math.ceil(chance() * 3)}, 1, 7, 3, 2)`,
      )
    }
  await runOn(
    store,
    `INSERT INTO usage_days (day, account, key, model, calls, amount, refunded, input, cached, output)
     VALUES ${rows.join(', ')}`,
  )
  if (store.engine === 'postgres') await runOn(store, 'ANALYZE')
}
/** A reader that notes its statements. */
const noting = (database: Pick<Database, 'read'>) => {
  const reads: { readonly sql: Sql; readonly values: readonly Value[] }[] = []
  const read: Database['read'] = (sql, values) => {
    reads.push({ sql, values })
    return database.read(sql, values)
  }
  return { read, reads }
}
const keep = (database: OpenDatabase, options = OPTIONS, now = NOW) =>
  keepTops(database, database, now, options)

for (const engine of ENGINES)
  t.test(`lists of the largest sums on ${engine}: are those of all sums`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await makeLedger(database)
    await fill(store)
    const { read, reads } = noting(database)
    const tops = (by: 'account' | 'key', days: number, top = 1_000, now = NOW) =>
      topRowsOfDays({ read }, { by, days, now, top })
    const isKept = () => reads.every(({ sql }) => /kept/.test(sql.name))
    const all = [
      ['account', 7],
      ['account', 30],
      ['key', 7],
      ['key', 30],
    ] as const
    const before = new Map<string, unknown>()
    for (const [by, days] of all) before.set(`${by} ${days}`, await tops(by, days))
    t.notOk(isKept())
    await keep(database)
    reads.length = 0
    for (const [by, days] of all) {
      const rows = await tops(by, days)
      t.ok(rows.length > 40, `${rows.length} rows`)
      t.same(rows, before.get(`${by} ${days}`), `${by}, ${days} days`)
      t.same(await tops(by, days, 5), rows.slice(0, 5))
    }
    t.ok(isKept(), 'no sums are read')
    t.match((await tops('key', 30)).filter(({ name }) => name === 0).length, 1)

    reads.length = 0
    await tops('account', 30, 10, NOW + 2 * HOUR)
    t.notOk(isKept(), 'an old list is not shown')
    reads.length = 0
    await tops('account', 14)
    t.notOk(
      reads.some(({ sql }) => /kept/.test(sql.name)),
      'another period has none',
    )
    await keep(database, { ...OPTIONS, many: 100_000 })
    t.same(await runOn(store, 'SELECT * FROM usage_tops'), [], 'few sums need no list')

    await keep(database)
    const host = hostOver(database)
    const actor = { via: 'admin API', name: 'root', account: 1 } as const
    await runOn(store, `UPDATE usage_tops SET calls = 77 WHERE kind = 'key' AND days = 30`)
    const rows = await runAs({ host, actor }, 'traffic list', { by: 'key', since: '30d' })
    t.match(rows, [{ calls: 77, name: /\(a\d+\)$|^no key/ }], 'the endpoint and the command')
  })

/** In the plan of a read that finds sums by day and a range of accounts. */
const PART = {
  sqlite: /SEARCH u USING PRIMARY KEY \(day=\? AND account>\? AND account<\?\)/,
  postgres: /Index Cond: \(.*day = .*account > .*account <= .*\)/,
} as const
const LISTS = {
  sqlite: /SEARCH t USING PRIMARY KEY \(kind=\? AND days=\? AND place<\?\)/,
  postgres: /Index Cond: \(.*kind = .*days = .*place <= .*\)/,
} as const
const SCAN = {
  sqlite: /SCAN (?:u|t|usage_\w+)$/m,
  postgres: /Seq Scan on (?:usage_days|usage_tops)/,
} as const

for (const engine of ENGINES)
  t.test(`lists of the largest sums on ${engine}: are read and made by keys`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await makeLedger(database)
    await runOn(
      store,
      `INSERT INTO usage_days (day, account, key, model, calls, amount)
       SELECT ${TODAY} - n.at % 300, n.at / 300, 0, 'm', 1, 5 FROM ${seriesOn(store, 60_000)}`,
    )
    await runOn(
      store,
      `INSERT INTO usage_tops (kind, days, place, at, name, calls, amount, refunded, input, cached, output)
       SELECT CASE WHEN n.at % 2 = 0 THEN 'key' ELSE 'account' END, CASE WHEN n.at % 4 < 2 THEN 7 ELSE 30 END,
         n.at, 1, n.at, 1, 1, 1, 1, 1, 1 FROM ${seriesOn(store, 4_000)}`,
    )
    await runOn(store, 'ANALYZE')
    const part = [TODAY - 30, TODAY + 2, TODAY + 2, 10, 20, 5, 5, 3]
    for (const kind of ['account', 'key'] as const) {
      const partPlan = await planOn(store, topsOfPart(kind), part)
      t.match(partPlan, PART[engine], kind)
      t.notMatch(partPlan, SCAN[engine], kind)
      const read = await planOn(
        store,
        keptTops(kind, text => text),
        [kind, 30, 0, 200],
      )
      t.match(read, LISTS[engine], kind)
      t.notMatch(read, SCAN[engine], kind)
    }
  })
