/** `tollgate move`: SQLite to PostgreSQL with equal sums, resumed after kill -9; its refusals. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t from 'tap'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { cachedCommand, operatorEnv } from '../../helpers/operator.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'
import { sharedPostgres } from '../../helpers/store/postgres.ts'
import { seededStore } from './seeded-store.ts'

const CONFIG = fileURLToPath(new URL('small.yaml', import.meta.url))
const PROGRAM = fileURLToPath(new URL('../../../engine/cli.ts', import.meta.url))
const SIZES = shortOrLong({ accounts: 40, charges: 26_000 }, { accounts: 100_000, charges: 1e6 })
const server = await sharedPostgres()

const connect = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client(url)
  await client.connect()
  return client
}
const SUM = 'SELECT count(*) AS n, sum(amount) AS total FROM charges'

t.test('move: goes on after kill -9, and both sides are equal at the end', async t => {
  const dataFolder = await seededStore(t, CONFIG, SIZES)
  const url = await server.create()
  const env = { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: CONFIG }
  const client = await connect(url)
  t.teardown(() => client.end())

  // A lock on `charges` stops the move between two batches; then it is killed.
  const [program, args] = cachedCommand(PROGRAM, 'move', '--to', url)
  const child = spawn(program, args, { env: operatorEnv(env), stdio: ['ignore', 'pipe', 'pipe'] })
  const exit = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (output += text))
  const position = "SELECT position FROM tollgate_move WHERE name = 'charges' AND position > 0"
  while (child.exitCode === null) {
    const { rows } = await client.query(position).catch(() => ({ rows: [] }))
    if (rows.length > 0) break
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await client.query('BEGIN; LOCK TABLE charges IN ROW EXCLUSIVE MODE')
  child.kill('SIGKILL')
  const [, signal] = await exit
  t.equal(signal, 'SIGKILL', output)
  await client.query('COMMIT')
  const { rows: part } = await client.query(SUM)
  t.ok(part[0].n > 0 && part[0].n < SIZES.charges, `${part[0].n} charges before the kill`)

  const half = await tollgate(['accounts', 'list'], { ...env, DATABASE_URL: url })
  t.match(half, { err: /target of an unfinished move/ }, 'nothing serves half of a store')

  const rest = await tollgate(['move', '--to', url, '--json'], env)
  t.equal(rest.code, 0, rest.err)
  const report = JSON.parse(rest.out)
  t.ok(report.copied < report.rows, 'rows that were there are not copied again')
  const source = new DatabaseSync(`${dataFolder}/tollgate.db`, { readOnly: true })
  const here = source.prepare(SUM).get()
  const { rows: there } = await client.query(SUM)
  t.same(Number(there[0].n), here?.n)
  t.same(BigInt(there[0].total), BigInt(String(here?.total)))
  const secrets = 'SELECT name, value FROM tollgate_secrets ORDER BY name'
  t.same(
    (await client.query(secrets)).rows,
    source
      .prepare(secrets)
      .all()
      .map(row => ({ ...row })),
  )
  source.close()

  const moved = { ...env, DATABASE_URL: url }
  t.match(await tollgate(['audit', 'ledger'], moved), { code: 0, out: /the ledger balances/ })
  t.match(await tollgate(['accounts', 'credit', 'account 2 é✓', '1'], moved), { code: 0 })
  t.match(await tollgate(['audit', 'ledger'], moved), { code: 0 }, 'triggers work again')
  t.match(await tollgate(['move', '--to', url], env), { code: 3, err: /moved to this database/ })
})

t.test('move: refuses foreign data, another source, and a source that changed', async t => {
  const dataFolder = await seededStore(t, CONFIG, { accounts: 3, charges: 9 })
  const env = { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: CONFIG }
  const url = await server.create()
  const client = await connect(url)
  t.teardown(() => client.end())
  t.match(await tollgate(['move', '--to', 'sqlite:x'], env), { code: 2, err: /--to is a database/ })
  t.match(await tollgate(['move', '--to', url], { ...env, DATABASE_URL: url }), {
    code: 2,
    err: /PostgreSQL already/,
  })

  await client.query('CREATE TABLE mine (n BIGINT)')
  t.match(await tollgate(['move', '--to', url], env), { code: 3, err: /has 1 tables already/ })
  await client.query('DROP TABLE mine')

  const store = new DatabaseSync(`${dataFolder}/tollgate.db`)
  store.exec('CREATE TABLE extra (n BIGINT); INSERT INTO extra VALUES (1)')
  t.match(await tollgate(['move', '--to', url], env), { code: 3, err: /--without extra/ })
  store.exec("INSERT INTO tollgate_processes (id, beat) VALUES ('p_1', 0)")
  t.match(await tollgate(['move', '--to', url], env), { code: 3, err: /processes .* crashed/ })
  store.exec(
    'DELETE FROM tollgate_processes; UPDATE wallets SET balance = balance + 1 WHERE id = 2',
  )
  const unbalanced = await tollgate(['move', '--to', url, '--without', 'extra'], env)
  t.match(unbalanced, { code: 1, err: /source: balance = sum of entries/ })
  store.exec('UPDATE wallets SET balance = balance - 1 WHERE id = 2')

  // As if the move had copied the table of keys before they changed.
  await client.query("INSERT INTO tollgate_move VALUES ('api_keys', 99, NULL, NULL)")
  const changed = await tollgate(['move', '--to', url, '--without', 'extra'], env)
  t.match(changed, { code: 3, err: /api_keys differs after the copy: count/ })
  store.close()

  const other = await seededStore(t, CONFIG, { accounts: 1, charges: 0 })
  t.match(await tollgate(['move', '--to', url], { ...env, TOLLGATE_DATA: other }), {
    code: 3,
    err: /unfinished move of /,
  })
})
