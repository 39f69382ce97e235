/** Fills a store with many charges, keys and accounts, and with what pages list beside them, by
 *  statements that the audit passes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { TAGGED_BY_LIST } from '../../../plugins/ledger/views/tag-days.ts'
import {
  accountOf,
  type Dialect,
  FIRST_ACCOUNT,
  listStatements,
  MODELS,
  type ScaleSize,
  sumStatements,
  YEAR,
} from './rows.ts'

const SQLITE: Dialect = {
  series: count =>
    `(WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ${count}) SELECT at FROM n) n`,
  hex: "printf('%012x', n.at) || lower(hex(randomblob(10)))",
  greatest: 'max',
}
const POSTGRES: Dialect = {
  series: count => `generate_series(1::bigint, ${count}::bigint) AS n (at)`,
  hex: "lpad(to_hex(n.at), 12, '0') || left(md5(random()::text), 20)",
  greatest: 'greatest',
}

/** The member of the charge `n.at`: calls of the first account are of ten members and itself. */
const MEMBER = '(CASE WHEN n.at % 10 = 0 THEN n.at / 10 % 11 ELSE 0 END)'
/** A fifth of the calls of the first account have a tag. */
const SERVED = `'{"upstream":"openai","target":"openai/m","first":300,"ms":800' ||
  CASE n.at % 100 WHEN 0 THEN ',"tags":{"project":"alpha"}' WHEN 50 THEN ',"tags":{"project":"beta"}' ELSE '' END || '}'`
/** Of each ten thousand charges, two were not collected in full. */
const UNCOLLECTED = 'CASE WHEN n.at % 5000 = 3 THEN 1000 ELSE 0 END'

/** Statements in order; the last charge was made at `now`. */
const statements = (
  { charges, keys, accounts }: ScaleSize,
  now: number,
  { series, hex, greatest }: Dialect,
): Readonly<Record<string, string>> => ({
  accounts: `INSERT INTO accounts (id, name, role, created)
    SELECT ${FIRST_ACCOUNT} - 1 + n.at, 'scale-' || n.at, 'customer', ${now - YEAR} FROM ${series(accounts)}`,
  keys: `INSERT INTO api_keys (id, account, name, digest, prefix, last_four, created, change)
    SELECT ${FIRST_ACCOUNT} - 1 + n.at, ${FIRST_ACCOUNT} + (n.at - 1) % ${accounts}, 'key', ${hex} || ${hex}, 'sk-scale', '0000',
      ${now - YEAR}, 0 FROM ${series(keys)}`,
  wallets: `INSERT INTO wallets (id) SELECT (${FIRST_ACCOUNT} - 1 + n.at) * 2 FROM ${series(accounts)}`,
  'wallets of keys': `INSERT INTO wallets (id, limited) SELECT (${FIRST_ACCOUNT} - 1 + n.at) * 2 + 1, 0 FROM ${series(keys)}`,
  credits: `INSERT INTO credits (id, account, kind, amount, note, at)
    SELECT ${FIRST_ACCOUNT} - 1 + n.at, ${FIRST_ACCOUNT} - 1 + n.at, 'credit', 1000000000000, 'scale', ${now - YEAR} FROM ${series(accounts)}`,
  charges: `INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held, amount, usage, lines,
      opened, closed, key_held, serial, summed, member, served, uncollected)
    SELECT 'req_' || ${hex}, ${accountOf(accounts)},
      ${accountOf(accounts)} + (n.at / ${accounts} % ${greatest}(1, ${keys} / ${accounts})) * ${accounts}, 'gone', 'POST /v1/chat/completions', ${MODELS}, 1,
      '', CASE WHEN n.at % 50 = 7 THEN 'released' ELSE 'settled' END, 10000000,
      CASE WHEN n.at % 50 = 7 THEN 0 ELSE 93600 END, '{"input":152,"output":118}',
      '[{"meter":"input","quantity":"152","price":"0.15","per":"1M","nanos":"22800"},{"meter":"output","quantity":"118","price":"0.60","per":"1M","nanos":"70800"}]',
      ${now - YEAR} + CAST(n.at * ${YEAR}.0 / ${charges} AS BIGINT), ${now - YEAR} + CAST(n.at * ${YEAR}.0 / ${charges} AS BIGINT) + 800, 0, ${FIRST_ACCOUNT} + ${accounts} - 1, ${TAGGED_BY_LIST},
      ${MEMBER}, ${SERVED}, ${UNCOLLECTED}
    FROM ${series(charges)}`,
  paid: `UPDATE wallets SET balance = balance - total, used = total
    FROM (SELECT account, sum(amount) AS total FROM charges WHERE account >= ${FIRST_ACCOUNT} GROUP BY account) paid
    WHERE wallets.id = paid.account * 2`,
  'paid of keys': `UPDATE wallets SET balance = balance - total, used = total
    FROM (SELECT key, sum(amount) AS total FROM charges WHERE account >= ${FIRST_ACCOUNT} GROUP BY key) paid
    WHERE wallets.id = paid.key * 2 + 1`,
})
const allStatements = (
  size: ScaleSize,
  now: number,
  dialect: Dialect,
): Readonly<Record<string, string>> => ({
  ...statements(size, now, dialect),
  ...sumStatements(now, dialect),
  ...listStatements(size, now, dialect),
})

/** `report`: called with each step and its seconds. */
type Report = (step: string, seconds: number) => void

/** Fills a store file whose tables exist; no writer may run. */
export const fillSqlite = (file: string, size: ScaleSize, report: Report = () => {}): void => {
  const store = new DatabaseSync(file)
  const timed = (step: string, text: string) => {
    const start = performance.now()
    store.exec(text)
    report(step, (performance.now() - start) / 1000)
  }
  store.exec(
    `PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY`,
  )
  const indexes = store
    .prepare(
      "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'charges' AND sql IS NOT NULL",
    )
    .all()
  for (const { name } of indexes) store.exec(`DROP INDEX ${name}`)
  for (const [step, text] of Object.entries(allStatements(size, Date.now(), SQLITE)))
    timed(step, text)
  for (const { name, sql } of indexes) timed(String(name), String(sql))
  timed('journal', 'PRAGMA journal_mode = WAL')
  store.close()
}

/** Fills a database whose tables exist. */
export const fillPostgres = async (
  url: string,
  size: ScaleSize,
  report: Report = () => {},
): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const timed = async (step: string, text: string) => {
    const start = performance.now()
    await client.query(text)
    report(step, (performance.now() - start) / 1000)
  }
  await client.query(
    `SET synchronous_commit = off; SET maintenance_work_mem = '1GB'; SET work_mem = '256MB'`,
  )
  const { rows: indexes } = await client.query(
    `SELECT indexname AS name, indexdef AS sql FROM pg_indexes WHERE tablename = 'charges' AND indexname <> 'charges_pkey'`,
  )
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
  await client.query('ALTER TABLE charges DROP CONSTRAINT charges_pkey')
  for (const [step, text] of Object.entries(allStatements(size, Date.now(), POSTGRES)))
    await timed(step, text)
  await timed('charges_pkey', 'ALTER TABLE charges ADD PRIMARY KEY (request)')
  for (const { name, sql } of indexes) await timed(String(name), String(sql))
  await timed('vacuum', 'VACUUM ANALYZE')
  await client.end()
}

/** Resolves when the audit has ended that begins with the gateway: its CPU time is not that of
 *  calls. */
export const auditEnd = async (data: string): Promise<void> => {
  const { admin } = JSON.parse(readFileSync(join(data, 'run.json'), 'utf8'))
  for (;;) {
    const response = await fetch(`${admin}/metrics`)
    if (/^tollgate_ledger_charged /m.test(await response.text())) return
    await pause(1_000)
  }
}
