/** Reads of one account find its rows by an index on both stores, however many accounts have calls
 *  on the same days. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import t from 'tap'
import type { Sql, Value } from '../../../../engine/plugin.ts'
import { locate } from '../../../../engine/store/database.ts'
import { translate } from '../../../../engine/store/postgres/dialect.ts'
import { LINES, TOTALS } from '../../../../plugins/ledger/views/account-statements.ts'
import { makeLedger } from '../../../helpers/store/membership.ts'
import { type AnyStore, ENGINES, startAnyStore } from '../../../helpers/store/store.ts'

const [FIRST, DAYS, ACCOUNTS] = [20_000, 300, 100]
/** Sums of a call of each account on each day. */
const FILL = `INSERT INTO usage_days (day, account, key, model, calls, amount)
  SELECT ${FIRST} + d.at, a.at, 0, 'm', 1, 5 FROM series(${DAYS}) d CROSS JOIN series(${ACCOUNTS}) a`
const seriesIn = (text: string, series: (count: string) => string): string =>
  text.replace(/series\((\d+)\)/g, (_, count: string) => series(count))

/** The query plan of a statement: its steps, a line each. */
const planOf = async (
  { engine, options }: AnyStore,
  { text, postgres = text }: Sql,
  values: readonly Value[],
): Promise<string> => {
  if (engine === 'sqlite') {
    const database = new DatabaseSync(locate(options.url, options.data).file)
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as number[]))
    database.close()
    return rows.map(({ detail }) => String(detail)).join('\n')
  }
  const client = new pg.Client({ connectionString: options.url })
  await client.connect()
  const query = `EXPLAIN (COSTS OFF) ${translate(postgres).text}`
  const { rows } = await client.query(query, [...values])
  await client.end()
  return rows.map(row => String(row['QUERY PLAN'])).join('\n')
}
const fill = async ({ engine, options }: AnyStore): Promise<void> => {
  if (engine === 'sqlite') {
    const database = new DatabaseSync(locate(options.url, options.data).file)
    const series = (count: string) =>
      `(WITH RECURSIVE n (at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM n WHERE at < ${count} - 1) SELECT at FROM n)`
    database.exec(seriesIn(FILL, series))
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: options.url })
  await client.connect()
  await client.query(seriesIn(FILL, count => `(SELECT generate_series(0, ${count} - 1) AS at)`))
  await client.query('ANALYZE')
  await client.end()
}

/** In the plan of a read that finds sums by day and account. */
const SEARCH = {
  sqlite: /SEARCH u USING PRIMARY KEY \(day=\? AND account=\?\)/,
  postgres: /Index Cond: \(.*account = .*\)/,
} as const
const SCAN = {
  sqlite: /(?:SCAN|SEARCH) (?:u|usage_days) USING PRIMARY KEY \(day[<>]|SCAN (?:u|usage_days)$/m,
  postgres: /Seq Scan on usage_days/,
} as const

for (const engine of ENGINES)
  t.test(`reads of an account on ${engine}: find its sums by day and account`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await makeLedger(database)
    await fill(store)
    const [first, last] = [FIRST + DAYS - 40, FIRST + DAYS - 10]
    for (const [sql, values] of [
      [TOTALS, [7, first, last]],
      [LINES, [first, last, last, 7]],
    ] as const) {
      const plan = await planOf(store, sql, values)
      t.match(plan, SEARCH[engine], sql.name)
      t.notMatch(plan, SCAN[engine], sql.name)
    }
    // There are no charges here, whose table PostgreSQL reads then.
    if (engine === 'sqlite')
      t.match(await planOf(store, TOTALS, [7, first, last]), /charges_open/, 'open calls')
    const [totals] = await database.read(TOTALS, [7, first, last])
    t.match(totals, { opening: -5 * (DAYS - 40), charged: 5 * 30 })
  })
