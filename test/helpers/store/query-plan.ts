/** Runs SQL of a test beside a store, and shows the query plans of the program's statements. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import type { Row, Sql, Value } from '../../../engine/plugin.ts'
import { locate } from '../../../engine/store/database.ts'
import { translate } from '../../../engine/store/postgres/dialect.ts'
import type { AnyStore } from './store.ts'

/** A FROM item `n` whose column `at` has the numbers from 1 to a count. */
export const seriesOn = ({ engine }: Pick<AnyStore, 'engine'>, count: number): string =>
  engine === 'sqlite'
    ? `(WITH RECURSIVE s (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM s WHERE at < ${count}) SELECT at FROM s) n`
    : `generate_series(1, ${count}) AS n (at)`

/** Runs one statement in the dialect of the store. */
export const runOn = async (
  { engine, options }: AnyStore,
  text: string,
): Promise<readonly Row[]> => {
  if (engine === 'sqlite') {
    const database = new DatabaseSync(locate(options.url, options.data).file)
    const rows = database.prepare(text).all()
    database.close()
    return rows as unknown as readonly Row[]
  }
  const client = new pg.Client({ connectionString: options.url })
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}

/** The steps of a statement's plan, a line each. PostgreSQL: the plan for any values, which a
 *  process uses after a few runs. */
export const planOn = async (
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
  await client.query('SET plan_cache_mode = force_generic_plan')
  await client.query(`PREPARE planned AS ${translate(postgres).text}`)
  const literals = values.map(value =>
    value === null ? 'NULL' : client.escapeLiteral(String(value)),
  )
  const { rows } = await client.query(
    `EXPLAIN (COSTS OFF) EXECUTE planned (${literals.join(', ')})`,
  )
  await client.end()
  return rows.map(row => String(row['QUERY PLAN'])).join('\n')
}
