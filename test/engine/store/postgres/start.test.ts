/** PostgreSQL start: a failure is reported within the timeout, in one sentence without the
 *  password. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { openDatabase, openForReading } from '../../../../engine/store/database.ts'
import { inMemory } from '../../../helpers/in-memory.ts'
import { scaled } from '../../../helpers/machine-speed.ts'
import { sharedPostgres, startPostgres } from '../../../helpers/store/postgres.ts'
import { openAt, sql, startAnyStore, startClient, statement } from '../../../helpers/store/store.ts'

const SECRET = 'this-is-secret'
const server = await sharedPostgres()
const at = (
  change: Partial<URL>,
  from = `postgres://tollgate:${SECRET}@127.0.0.1:${server.port}/x`,
) => Object.assign(new URL(from), change).href
const refusal = async (url: string, opening = scaled(1_000)) => {
  const error = await openDatabase({ url, openTimeout: opening }).then(
    () => new Error('it opened'),
    error => error,
  )
  return { error, text: `${inspect(error, { depth: 9 })} ${error.stack}` }
}

t.test('PostgreSQL start: reports a wrong password, database, host or address', async t => {
  const url = await server.create()
  const cases: [string, string, RegExp][] = [
    [at({}), 'STORE_START', /password authentication failed for user "tollgate"/],
    [at({ pathname: '/nowhere' }, url), 'STORE_START', /database "nowhere" does not exist/],
    [at({ port: '1' }), 'STORE_START', /ECONNREFUSED 127\.0\.0\.1:1$/],
    [at({ port: '1', hostname: 'localhost' }), 'STORE_START', /ECONNREFUSED/],
    [
      `postgres://tollgate:${SECRET}@host:port/x`,
      'STORE_URL',
      /The database "postgres:\/\/…@host:port\/x"/,
    ],
  ]
  for (const [wrongUrl, code, message] of cases) {
    const { error, text } = await refusal(wrongUrl)
    t.equal(error.code, code)
    t.match(error.message, message)
    t.notMatch(text, SECRET)
    t.notMatch(text, server.password)
  }
})

t.test('PostgreSQL start: refuses a server with fsync off', async t => {
  const unsafeServer = await startPostgres(inMemory())
  const url = await unsafeServer.create()
  await unsafeServer.ask('ALTER SYSTEM SET synchronous_commit = off')
  await unsafeServer.ask('SELECT pg_reload_conf()')
  const database = await openAt(t, { url }).open()
  const setting = statement('setting', "SELECT current_setting('synchronous_commit') AS value")
  t.same(
    await database.write([setting]),
    [[{ value: 'on' }]],
    'synchronous_commit is on, whatever the default',
  )
  await database.close()
  await unsafeServer.restartWith('fsync=off')
  const { error } = await refusal(url)
  t.equal(error.code, 'STORE_FSYNC')
  await unsafeServer.stop()
})

t.test('PostgreSQL start: compiles no statements, unless the URL asks for it', async t => {
  const url = await server.create()
  const text = `SELECT current_setting('jit') AS jit`
  const jitOf = async (url: string) => {
    const database = await openAt(t, { url }).open()
    const [inTransaction] = await database.write([statement('jit', text)])
    return [await database.read(sql('jit', text), []), inTransaction]
  }
  t.same(await jitOf(url), [[{ jit: 'off' }], [{ jit: 'off' }]], 'whatever the default')
  const own = `${url}?options=${encodeURIComponent('-c jit=on')}`
  t.same(await jitOf(own), [[{ jit: 'on' }], [{ jit: 'on' }]])
})

t.test('PostgreSQL start: refuses a store of a newer program', async t => {
  const store = await startAnyStore(t, 'postgres')
  const database = await store.open()
  await database.write([
    statement('newer', `INSERT INTO tollgate_migrations VALUES ('tollgate', 99, 'x', 0)`),
  ])
  const { error } = await refusal(store.options.url)
  t.equal(error.code, 'STORE_NEWER')
  t.match(error.message, /tables have version 99/)
})

t.test('PostgreSQL start: several processes prepare an empty database at once', async t => {
  const url = await server.create()
  const clients = await Promise.all([1, 2, 3].map(() => startClient(t, { url })))
  for (const client of clients) {
    t.same(await client.call('write', [statement('one', 'SELECT 1 AS one')]), [[{ one: 1 }]])
  }
})

t.test('PostgreSQL start: connects to a Unix socket with the options of the URL', async t => {
  const { pathname } = new URL(await server.create())
  const query = new URLSearchParams({
    host: server.folder,
    port: String(server.port),
    options: '-c work_mem=5MB',
  })
  const database = await openAt(t, {
    url: `postgres://tollgate@/${pathname.slice(1)}?${query}`,
  }).open({ writeTimeout: 10_000 })
  const settings = `SELECT current_setting('work_mem') AS memory, current_setting('lock_timeout') AS locks`
  t.same(await database.write([statement('settings', settings)]), [
    [{ memory: '5MB', locks: '2s' }],
  ])
})

t.test('PostgreSQL: a command opens the store for reading only', async t => {
  const store = await startAnyStore(t, 'postgres')
  await (await store.open()).migrate('test', [{ number: 1, text: 'CREATE TABLE x (id BIGINT)' }])
  const reader = await openForReading(store.options.url)
  t.same(await reader?.read(sql('x', 'SELECT id FROM x'), []), [])
  await t.rejects(Promise.resolve(reader?.read(sql('y', 'SELECT id FROM y'), [])), {
    code: 'STORE_STATEMENT',
  })
  await reader?.close()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  t.equal(await openForReading('sqlite:', folder), undefined)
})
