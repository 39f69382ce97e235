/** Lists of calls by cost and by model over periods with many calls, on both stores: pages are
 *  those of the whole list, and each reads a part of the calls by an index. */
import t from 'tap'
import type { Database, Sql, Value } from '../../../../engine/plugin.ts'
import { type UsageQuery, usagePage } from '../../../../plugins/account/usage-pages.ts'
import {
  CALLS_AT,
  INSTANTS_BY_COST,
  MOST_EXAMINED,
} from '../../../../plugins/ledger/views/usage-lists.ts'
import { makeLedger } from '../../../helpers/store/membership.ts'
import { planOn, runOn, seriesOn } from '../../../helpers/store/query-plan.ts'
import { type AnyStore, ENGINES, startAnyStore } from '../../../helpers/store/store.ts'

/** Calls of account 1, three in each millisecond, of few costs: most orders are those of time. */
const COUNT = MOST_EXAMINED + 2_000
const NOW = Date.now()
const FIRST = NOW - COUNT
const fill = async (store: AnyStore): Promise<void> => {
  await runOn(
    store,
    `INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held,
       amount, opened, closed, key_held, serial, member)
     SELECT 'r' || (n.at * 7 % 1000) || '-' || n.at, 1, NULL, NULL, 'chat',
       CASE WHEN n.at % 4000 = 17 THEN 'rare' WHEN n.at % 3 = 0 THEN 'b' ELSE 'm' END, 1, '',
       CASE WHEN n.at % 50 = 7 THEN 'released' ELSE 'settled' END, 900,
       CASE WHEN n.at % 50 = 7 THEN 0 WHEN n.at % 2500 = 1 THEN 900 ELSE 5 END, ${FIRST} + n.at / 3,
       ${NOW}, 0, 0, 0 FROM ${seriesOn(store, COUNT)}`,
  )
  if (store.engine === 'postgres') await runOn(store, 'VACUUM ANALYZE charges')
}
type Read = { readonly sql: Sql; readonly values: readonly Value[]; readonly rows: number }
/** A reader that notes what is read. */
const noting = (database: Pick<Database, 'read'>) => {
  const reads: Read[] = []
  const read: Database['read'] = async (sql, values) => {
    const rows = await database.read(sql, values)
    reads.push({ sql, values, rows: rows.length })
    return rows
  }
  return { read, reads }
}
const query: UsageQuery = { account: 1, by: 'call', limit: 1_000, from: FIRST, to: NOW + 1 }
/** The ids of all pages, and how many of these were empty. */
const pagesOf = async (database: Pick<Database, 'read'>, more: Partial<UsageQuery>) => {
  const ids: unknown[] = []
  const lengths: number[] = []
  let cursor: string | null | undefined
  do {
    const page = await usagePage(database, { ...query, ...more, ...(cursor && { cursor }) })
    ids.push(...page.rows.map(({ request_id }) => request_id))
    lengths.push(page.rows.length)
    cursor = page.next
  } while (cursor)
  return { ids, lengths }
}

for (const engine of ENGINES)
  t.test(`long periods on ${engine}: pages by cost and model have every call once`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await makeLedger(database)
    await fill(store)
    const column = { cost: 'amount', model: 'model' } as const
    for (const by of ['cost', 'model'] as const)
      for (const order of ['asc', 'desc'] as const) {
        const name = `${by} ${order}`
        const expected = await runOn(
          store,
          `SELECT request FROM charges ORDER BY ${column[by]} ${order}, opened ${order}, request ${order}`,
        )
        const sort = { by, order }
        const { ids, lengths } = await pagesOf(database, { sort, isBounded: true })
        t.same(
          ids,
          expected.map(({ request }) => request),
          name,
        )
        t.ok(lengths.length < 30, `${name}: ${lengths}`)
        const whole = await pagesOf(database, { sort, limit: 5_000 })
        t.same(whole.ids, ids, `${name}: a reader of whole lists`)
      }
    const filters = { model: 'rare', key: null, state: null }
    const sort = { by: 'model', order: 'asc' } as const
    const rare = await pagesOf(database, { sort, isBounded: true, filters })
    t.equal(rare.ids.length, 3)
  })

const INSTANTS = {
  sqlite:
    /SEARCH c USING COVERING INDEX charges_account \(account=\? AND opened>\? AND opened<\?\)/,
  postgres: /Index Only Scan using charges_account/,
} as const
const AT = {
  sqlite: /SEARCH c USING INDEX charges_account \(account=\? AND opened=\?\)/,
  postgres:
    /Index Scan using charges_(?:account|opened) on charges c\s+Index Cond: \(.*opened = ANY/,
} as const

for (const engine of ENGINES)
  t.test(`long periods on ${engine}: a page by cost reads its calls by an index`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await makeLedger(database)
    await fill(store)
    const { read, reads } = noting(database)
    const sort = { by: 'cost', order: 'desc' } as const
    const first = await usagePage({ read }, { ...query, sort, limit: 10 })
    await usagePage({ read }, { ...query, sort, limit: 10, cursor: String(first.next) })
    for (const [sql, plan] of [
      [INSTANTS_BY_COST.desc, INSTANTS[engine]],
      [CALLS_AT.desc, AT[engine]],
    ] as const) {
      const ofStatement = reads.filter(each => each.sql === sql)
      t.equal(ofStatement.length, 2, sql.name)
      for (const { values, rows } of ofStatement) {
        t.match(await planOn(store, sql, values), plan, sql.name)
        t.ok(rows <= 11, `${sql.name}: ${rows} rows`)
      }
    }
  })
