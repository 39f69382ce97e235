/** PostgreSQL with several servers in its URL: the one that accepts writes is used, never an older
 *  one than before, and a failover under load and back loses no charge. The long form is `npm run
 *  test:chaos -- --store replicas --kills 100`. */
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { serversOf } from '../../../engine/store/postgres/servers.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { inMemory } from '../../helpers/in-memory.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { seed, shortOrLong } from '../../helpers/run-settings.ts'
import { type PostgresServer, startPostgres } from '../../helpers/store/postgres.ts'
import { sql, statement } from '../../helpers/store/store.ts'
import { runChaos } from '../chaos.ts'
import { createReplicas } from './replicas.ts'

t.setTimeout(scaled(1_200_000))

t.test('database URL: a list of hosts is a list of servers', async t => {
  t.same(serversOf('postgres://me:a%40b@one:1,two:2,[::1]:3/name?sslmode=require'), [
    'postgres://me:a%40b@one:1/name?sslmode=require',
    'postgres://me:a%40b@two:2/name?sslmode=require',
    'postgres://me:a%40b@[::1]:3/name?sslmode=require',
  ])
  for (const url of ['postgres://one/name', 'postgres://me@/name?host=/folder', 'sqlite:'])
    t.same(serversOf(url), [url])
  const { code, message } = await openDatabase({ url: 'postgres://me:secret@one:1,two:x/n' }).catch(
    error => error,
  )
  t.equal(code, 'STORE_URL')
  t.notMatch(message, 'secret')
})

t.test('PostgreSQL failover: writes and reads follow the newest server', async t => {
  const [one, two] = [await startPostgres(inMemory()), await startPostgres(inMemory())]
  const [primary, password] = [new URL(await one.create()), one.password]
  await two.stop()
  await two.follow(one)
  const urlOf = (...servers: readonly PostgresServer[]): string =>
    `postgres://tollgate:${password}@${servers.map(({ port }) => `127.0.0.1:${port}`)}${primary.pathname}`
  const open = (...servers: readonly PostgresServer[]) =>
    openDatabase({ url: urlOf(...servers), openTimeout: 3_000 })
  const count = sql('count', 'SELECT count(*) AS count FROM seen')
  const add = () => database.write([statement('add', 'INSERT INTO seen VALUES (1)')])
  const port = statement('port', 'SELECT inet_server_port() AS port')
  const portOf = async (from: typeof database) => (await from.write([port]))[0]?.[0]?.port
  const database = await open(two, one)
  t.teardown(() => database.close())
  await one.ask('CREATE TABLE seen (n BIGINT)', primary.pathname.slice(1))
  await add()
  t.equal(await portOf(database), one.port, 'the standby is not used')

  t.test('a primary that goes on beside its promoted standby is left', async t => {
    t.same(await database.read(count, []), [{ count: 1 }])
    const behind = async () => (await two.ask('SELECT pg_last_wal_replay_lsn() AS at'))[0]?.at
    const target = (await one.ask('SELECT pg_current_wal_lsn() AS at'))[0]?.at
    await eventually(async () => (await behind()) === target)
    await two.ask('SELECT pg_promote()')
    await one.ask(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
    )
    await eventually(() => add().catch(() => undefined))
    t.equal(await portOf(database), two.port)
    t.same(await database.read(count, []), [{ count: 2 }], 'reads have moved too')
    const other = await open(one, two)
    t.equal(await portOf(other), two.port, 'a new process prefers the newer server')
    await other.close()
  })
  t.test('an older server is not used when the newer one has gone', async t => {
    await two.stop()
    const refusal = await eventually(() =>
      add().then(
        () => undefined,
        error => error,
      ),
    )
    t.equal(refusal.code, 'STORE_UNAVAILABLE')
    const later = await eventually(() =>
      add().then(
        () => 'added' as const,
        ({ cause }) => /timeline \w+, older than/.test(String(cause)) && cause,
      ),
    )
    t.match(later, /timeline 00000001, older than 00000002/)
    await two.start()
    await eventually(() => add().catch(() => undefined))
    t.equal(await portOf(database), two.port, 'it is used again once it has returned')
  })
  t.test('two standbys refuse the start until one is promoted', async t => {
    await one.stop()
    await one.follow(two)
    await two.stop()
    const refusal = await open(one, two).catch(error => error)
    t.equal(refusal.code, 'STORE_READ_ONLY')
    const opening = openDatabase({ url: urlOf(one, two), openTimeout: 20_000 })
    await one.ask('SELECT pg_promote()')
    const fresh = await opening
    t.equal(await portOf(fresh), one.port, 'and back')
    await fresh.close()
    await eventually(() => add().catch(() => undefined))
    await one.stop()
  })
})

t.test('chaos: a failover of PostgreSQL loses no charge and no event', async t => {
  const kinds = ['failover', 'lost', 'unfenced']
  const kills = shortOrLong(3, 24)
  const options = { store: createReplicas, kills, kinds, seed: seed(), within: 500, clients: 6 }
  const outcome = await runChaos(options)
  t.same(outcome.violations, [])
  t.equal(outcome.unpaidWords, 0, 'every delivered word is charged')
  t.ok(outcome.complete > kills, 'replies completed between the failovers')
  t.equal(Object.keys(outcome.kills).length, kinds.length)
  t.comment(JSON.stringify(outcome, (_, value) => value))
})
