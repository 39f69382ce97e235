/** A page of calls with filters looks at so many calls: what is rare or absent takes no longer, and
 *  the next page continues the search. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import t from 'tap'
import { locate } from '../../../../engine/store/database.ts'
import { usagePage } from '../../../../plugins/account/usage-pages.ts'
import { ledgerEndpoints } from '../../../../plugins/console/admin/ledger.ts'
import { MOST_EXAMINED, MOST_OF_TAG } from '../../../../plugins/ledger/views/usage-lists.ts'
import { hostOver } from '../../../helpers/store/accounts.ts'
import { makeLedger } from '../../../helpers/store/membership.ts'
import { type AnyStore, ENGINES, startAnyStore } from '../../../helpers/store/store.ts'

/** Calls of account 1, a millisecond apart. The first and the last are of the model `rare`. */
const COUNT = MOST_EXAMINED + 100
const fill = async ({ engine, options }: AnyStore, first = 1, last = COUNT): Promise<void> => {
  const text = (
    series: string,
  ) => `INSERT INTO charges (request, account, key, process, route, model,
      version, rule, state, held, amount, opened, closed, key_held, serial, summed)
    SELECT 'r' || n.at, 1, NULL, NULL, 'chat', CASE WHEN n.at IN (1, ${COUNT}) THEN 'rare' ELSE 'm' END,
      1, '', 'settled', 5, 5, n.at, n.at, 0, 0, 3 FROM ${series} n`
  if (engine === 'sqlite') {
    const database = new DatabaseSync(locate(options.url, options.data).file)
    database.exec(
      text(
        `(WITH RECURSIVE s (at) AS (SELECT ${first} UNION ALL SELECT at + 1 FROM s WHERE at < ${last}) SELECT at FROM s)`,
      ),
    )
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: options.url })
  await client.connect()
  await client.query(text(`(SELECT generate_series(${first}, ${last}) AS at)`))
  await client.query('ANALYZE')
  await client.end()
}

for (const engine of ENGINES)
  t.test(`search of calls on ${engine}: ends early, and the next page continues it`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await makeLedger(database)
    await fill(store)

    const filters = { model: 'rare', key: null, state: null }
    const query = { account: 1, by: 'call', limit: 10, from: 0, to: COUNT + 1, filters } as const
    for (const [order, first, second] of [
      ['desc', `r${COUNT}`, 'r1'],
      ['asc', 'r1', `r${COUNT}`],
    ] as const) {
      const own = { ...query, sort: { by: 'time', order } } as const
      const ids = (page: Awaited<ReturnType<typeof usagePage>>) =>
        page.rows.map(({ request_id }) => request_id)
      const one = await usagePage(database, { ...own, isBounded: true })
      t.same(ids(one), [first], order)
      t.type(one.next, 'string')
      const cursor = String(one.next)
      const two = await usagePage(database, { ...own, isBounded: true, cursor })
      t.same([ids(two), two.next], [[second], null], order)
      t.same(ids(await usagePage(database, own)), [first, second], 'a reader of whole lists')
    }

    const all = new Set<unknown>()
    let place: string | null | undefined
    do {
      const page = { account: 1, by: 'call', limit: 1_000, from: 0, to: COUNT + 1 } as const
      const { rows, next } = await usagePage(database, { ...page, ...(place && { cursor: place }) })
      for (const { request_id } of rows) all.add(request_id)
      place = next
    } while (place)
    t.equal(all.size, COUNT, 'pages without a filter have every call')

    const charges = (search: string) => {
      const call = { query: new URLSearchParams(search), body: {}, actor: 'root' }
      return ledgerEndpoints['GET charges']?.run(call, hostOver(database)) ?? Promise.reject()
    }
    for (const more of ['', 'key=7']) {
      const pages: string[][] = []
      let cursor: string | null | undefined = ''
      while (cursor !== null && pages.length < 5) {
        const page = await charges(`model=rare&${more}&cursor=${cursor}`)
        pages.push((page.data as { request: string }[]).map(({ request }) => request))
        cursor = page.next
      }
      t.same(pages, more === '' ? [[`r${COUNT}`], ['r1']] : [[], []], more)
    }
    const whole = await charges('uncollected=yes')
    t.same([whole.data, whole.next], [[], null])

    const tag = { name: 'project', value: 'alpha' }
    const models = {
      ...query,
      by: 'model',
      to: MOST_OF_TAG + 2,
      filters: { ...filters, tag },
    } as const
    t.same((await usagePage(database, models)).rows, [], 'no call has the tag')
    await fill(store, COUNT + 1, MOST_OF_TAG + 1)
    await t.rejects(usagePage(database, models), {
      code: 'USAGE_FILTER',
      message: /this period has more than 50000; choose a shorter one/,
    })
    t.same((await usagePage(database, { ...models, to: MOST_OF_TAG + 1 })).rows, [])
  })
