/** PostgreSQL behind PgBouncer: session mode serves, transaction and statement mode are refused. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { openTarget } from '../../../../engine/store/move/target.ts'
import { refusePooler } from '../../../../engine/store/postgres/pooler.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { tollgate } from '../../../helpers/gateway/command-line.ts'
import { folderWith, routes, startPrimary } from '../../../helpers/gateway/primary.ts'
import { scaled } from '../../../helpers/machine-speed.ts'
import { sharedPostgres } from '../../../helpers/store/postgres.ts'
import { openAt } from '../../../helpers/store/store.ts'

const CONFIG = fileURLToPath(new URL('../../cli/small.yaml', import.meta.url))
const ADD = { name: 'pooled add', text: 'INSERT INTO pooled VALUES (?)' }
const PROGRAM = '/usr/sbin/pgbouncer'
const isInstalled = spawnSync(PROGRAM, ['--version']).status === 0
const skip = !isInstalled && 'PgBouncer is not installed (apt-get install pgbouncer)'
/** Root must not run it. */
const NOBODY = 65_534
/** ms: a connection that a pool has is there long before, even on a busy machine, where PgBouncer
 *  tries again a second after PostgreSQL refused one. */
const LONG_WAIT = Math.min(scaled(10_000), 30_000)

const startPooler = async (t: Test, url: string, mode: string, more = ''): Promise<string> => {
  const { hostname, port: upstreamPort, username, password, pathname } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pooler-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  const port = await freePort()
  writeFileSync(join(folder, 'users.txt'), `"${username}" "${password}"\n`)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]\n* = host=${hostname} port=${upstreamPort}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = plain\nauth_file = ${folder}/users.txt\npool_mode = ${mode}\nunix_socket_dir =\nmax_client_conn = 200\nserver_login_retry = 1\ndefault_pool_size = 60\n${more}`,
  )
  if (process.getuid?.() === 0) chownSync(folder, NOBODY, NOBODY)
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  const child = spawn(PROGRAM, [join(folder, 'pgbouncer.ini')], {
    ...user,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(async () => {
    if (child.kill('SIGKILL')) await once(child, 'exit')
  })
  const up = Promise.withResolvers<void>()
  let text = ''
  child.stderr.setEncoding('utf8').on('data', chunk => {
    text += chunk
    if (/process up/.test(text)) up.resolve()
  })
  child.once('exit', () => up.reject(new Error(text)))
  await up.promise
  return `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`
}

t.test('PgBouncer in session mode: the store opens, migrates and writes', { skip }, async t => {
  const server = await sharedPostgres()
  const pooled = await startPooler(t, await server.create(), 'session')
  const database = await openAt(t, { url: pooled }).open()
  await database.migrate('pooled', [{ number: 1, text: 'CREATE TABLE pooled (n BIGINT)' }])
  for (const n of [1, 2, 3]) await database.write([{ sql: ADD, values: [n] }])
  const sum = { name: 'pooled sum', text: 'SELECT sum(n) AS n FROM pooled' }
  t.match(await database.read(sum, []), [{ n: 6 }])
})

t.test('PgBouncer in session mode: the options of an address are kept', { skip }, async t => {
  const server = await sharedPostgres()
  const url = await server.create()
  await server.ask('CREATE SCHEMA sales', new URL(url).pathname.slice(1))
  for (const more of ['', 'ignore_startup_parameters = options\n']) {
    const pooled = await startPooler(t, url, 'session', more)
    const options = '?options=-c%20search_path%3Dsales%20--work_mem%3D5MB'
    const database = await openAt(t, { url: `${pooled}${options}` }).open()
    const text = "SELECT current_schema() || ' ' || current_setting('work_mem') AS text"
    t.match(await database.read({ name: `options ${more}`, text }, []), [{ text: 'sales 5MB' }])
  }
})

t.test(
  'PgBouncer: a setting for the start of a connection is refused by name',
  { skip },
  async t => {
    const server = await sharedPostgres()
    const url = await server.create()
    for (const name of ['ignore_system_indexes', 'local_preload_libraries', 'log_disconnections']) {
      const value = name.startsWith('local') ? '' : 'on'
      const options = `?options=-c%20${name}%3D${value}%20-c%20work_mem%3D5MB`
      const direct = await openAt(t, { url: `${url}${options}` }).open()
      const text = `SELECT s.source || ' ' || current_setting('work_mem') AS text
      FROM pg_settings s WHERE s.name = '${name}'`
      t.match(await direct.read({ name, text }, []), [{ text: 'client 5MB' }], 'without a pooler')
      for (const more of ['', 'ignore_startup_parameters = options\n']) {
        const pooled = await startPooler(t, url, 'session', more)
        await t.rejects(openAt(t, { url: `${pooled}${options}` }).open(), {
          code: 'STORE_OPTIONS',
          message: new RegExp(`sets (?:\\w+, )*${name}`),
        })
      }
    }
  },
)

t.test('PostgreSQL without a pooler: any setting goes with one for the start', async t => {
  const server = await sharedPostgres()
  const url = await server.create()
  for (const own of ['app.tenant=7', 'synchronous_commit=on', 'DateStyle=ISO', 'work_mem=5MB']) {
    const options = encodeURIComponent(`-c log_disconnections=on -c ${own}`)
    const database = await openAt(t, { url: `${url}?options=${options}` }).open()
    const [name = '', value] = own.split('=')
    const text = `SELECT current_setting('${name}') AS text, current_setting('log_disconnections') AS log`
    const [row] = await database.read({ name: own, text }, [])
    t.match(row, { text: new RegExp(`^${value}`), log: 'on' }, own)
  }
})

t.test('PgBouncer in session mode: pools of 1 to 4 connections', { skip }, async t => {
  const server = await sharedPostgres()
  const folders = t.testdir({ 1: {}, 2: {}, 3: {} })
  const openPool = async (size: number): Promise<void> => {
    const url = await server.create()
    const pooled = await startPooler(t, url, 'session', `default_pool_size = ${size}\n`)
    const opening = openAt(t, { url: pooled, openTimeout: LONG_WAIT }).open()
    if (size === 4) return void (await t.resolves(opening))
    await t.rejects(opening, {
      code: 'STORE_POOL_SIZE',
      message: `serves ${size} connections`,
    })
    const folder = join(folders, String(size))
    const env = { TOLLGATE_CONFIG: CONFIG, TOLLGATE_DATA: folder, DATABASE_URL: pooled }
    t.match(await tollgate(['check', '--json'], env), { code: 3, out: /"STORE_POOL_SIZE"/ })
    t.match(await tollgate(['routes'], env), { code: 0 }, 'it needs no connection')
  }
  await Promise.all([1, 2, 3, 4].map(openPool))
})

t.test('PgBouncer: a pool that others may have filled is reported apart', { skip }, async t => {
  const server = await sharedPostgres()
  const more = 'default_pool_size = 5\n'
  const url = await startPooler(t, await server.create(), 'session', more)
  const others = [new pg.Client(url), new pg.Client(url), new pg.Client(url)]
  for (const other of others) {
    await other.connect()
    // PgBouncer gives a client its connection at the first query.
    await other.query('SELECT 1')
  }
  const reasons: string[] = []
  await refusePooler({ url, within: LONG_WAIT }, ({ message }) => void reasons.push(message))
  t.match(reasons, [/serves 2 connections/])
  await t.rejects(refusePooler({ url, within: LONG_WAIT }), { code: 'STORE_POOL_SIZE' })
  for (const other of others) await other.end()
})

t.test(
  'PgBouncer in transaction mode: a reload to it is a problem, and the gateway serves on',
  {
    skip,
  },
  async t => {
    const server = await sharedPostgres()
    const pooled = await startPooler(t, await server.create(), 'transaction')
    const gateway = await startPrimary(t, { files: folderWith('one') })
    const before = await gateway.config()
    for (const [database, code] of [
      [pooled, 'STORE_POOLER'],
      ['sqlite:?', 'STORE_URL'],
    ]) {
      gateway.write('routes.yaml', routes('two', `  database: '${database}'`))
      await gateway.until(new RegExp(`routes\\.yaml:\\d+:\\d+ .*${code}`))
    }
    t.equal((await gateway.config()).version, before.version)
    t.match(await (await fetch(`${gateway.url}/stamp`)).json(), { text: 'one' })
  },
)

/** Which idle connection a client gets, and how many there are. */
const MODES = [
  ['transaction', ''],
  ['transaction', 'server_round_robin = 1\n'],
  ['transaction', 'default_pool_size = 1\n'],
  ['statement', ''],
] as const
for (const [mode, more] of MODES)
  t.test(
    `PgBouncer in ${mode} mode (${more.trim() || 'latest first'}): does not open`,
    {
      skip,
    },
    async t => {
      const server = await sharedPostgres()
      const pooled = await startPooler(t, await server.create(), mode, more)
      await t.rejects(openAt(t, { url: pooled }).open(), {
        code: 'STORE_POOLER',
        message: /pool_mode = session/,
      })
      const folder = t.testdir({})
      const env = { TOLLGATE_CONFIG: CONFIG, TOLLGATE_DATA: folder, DATABASE_URL: pooled }
      const refusal = /pool_mode = session/
      t.match(await tollgate(['check'], env), { code: 3, err: refusal })
      t.match(await tollgate(['doctor'], env), { code: 1, out: refusal })
    },
  )

t.test('PgBouncer in transaction mode: no move begins', { skip }, async t => {
  const server = await sharedPostgres()
  const url = await server.create()
  const pooled = await startPooler(t, url, 'transaction')
  await t.rejects(openTarget(pooled, 'a store'), { code: 'STORE_POOLER' })
  const tables = "SELECT 1 FROM pg_tables WHERE schemaname = 'public'"
  t.same(await server.ask(tables, new URL(url).pathname.slice(1)), [])
})

t.test('check: a database that does not answer passes', async t => {
  const env = { TOLLGATE_CONFIG: CONFIG, TOLLGATE_DATA: t.testdir({}) }
  const away = { ...env, DATABASE_URL: `postgres://ann@127.0.0.1:${await freePort()}/away` }
  t.match(await tollgate(['check'], away), { code: 0 })
})
