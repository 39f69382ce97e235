/** PostgreSQL reaping: the on-crash statements of a dead process are applied once, by any peer;
 *  those of a living process are not applied. */
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { DatabaseOptions, OpenDatabase } from '../../../../engine/store/database.ts'
import { createMembership, MEMBERSHIP_TABLES } from '../../../../engine/store/membership.ts'
import { silent } from '../../../helpers/core.ts'
import { reaperOn } from '../../../helpers/membership.ts'
import { harmedPostgres } from '../../../helpers/postgres.ts'
import {
  type AnyStore,
  openAt,
  sql,
  startAnyStore,
  startClient,
  statement,
  temporaryFolder,
} from '../../../helpers/store.ts'
import { timeoutsAt } from '../../../helpers/timeouts.ts'

const table = {
  number: MEMBERSHIP_TABLES.length + 1,
  text: `CREATE TABLE total (id BIGINT PRIMARY KEY, sum BIGINT NOT NULL);
    INSERT INTO total VALUES (1, 0), (2, 0)`,
}
/** Heartbeat interval, ms. */
const SWIFT = 50
const STEADY = 1_000
// Not idempotent: the sum shows whether it was applied twice.
const add = (id: number, amount: number) =>
  statement('add', 'UPDATE total SET sum = sum + ? WHERE id = ?', [amount, id], { rows: 1 })
const SUMS = sql('sums', 'SELECT sum FROM total ORDER BY id')
const PENDING = sql('on-crash statements', 'SELECT name FROM tollgate_wills ORDER BY name')
const ENDED_CLIENTS = sql(
  'ended clients',
  'SELECT client FROM tollgate_clients WHERE gone IS NOT NULL',
)
const server = await harmedPostgres()

const sums = async (database: OpenDatabase) =>
  (await database.read(SUMS, [])).map(({ sum }) => Number(sum))
/** Polls until the condition holds; the timeout of the test is the limit. */
const until = async (look: () => Promise<boolean>): Promise<void> => {
  while (!(await look().catch(() => false))) await later(20)
}
const register = async (t: Test, options: DatabaseOptions) => {
  const client = await startClient(t, options)
  await client.call('register')
  return client
}
const begin = async (t: Test, store: AnyStore, heartbeat: number) => {
  const survivors = await Promise.all([1, 2, 3].map(() => store.open()))
  const [database] = survivors as [OpenDatabase]
  await database.migrate('test', [...MEMBERSHIP_TABLES, table])
  for (const each of survivors) await reaperOn(t, each, heartbeat).name()
  return { database, client: await register(t, store.options) }
}

t.test(
  'PostgreSQL reaping: one of three survivors applies the on-crash statements once',
  async t => {
    const store = await startAnyStore(t, 'postgres')
    const { database, client } = await begin(t, store, STEADY)
    const names = Array.from({ length: 50 }, (_, index) => `exchange ${index}`)
    for (const name of names) await client.call('setCrashStatements', name, [add(1, 1)])
    await client.call('setCrashStatements', 'broken', [
      statement('broken', 'UPDATE nowhere SET x = 1'),
    ])
    await client.call('setCrashStatements', 'refused', [add(2, 1), { ...add(2, 5), rows: 7 }])
    await client.call('write', [add(2, 100)])
    await client.kill()
    await until(async () => (await database.read(PENDING, [])).length === 0)
    await later(700)
    t.same(await sums(database), [50, 100], 'a refused list left no rows')
    await (await store.open()).close()
    t.equal(
      (await database.read(ENDED_CLIENTS, [])).length,
      1,
      'its client row stays for repeated lists',
    )
  },
)

t.test('PostgreSQL reaping: on-crash statements survive a restart of the server', async t => {
  const store = openAt(t, { url: await server.create(), data: temporaryFolder(t) })
  const { database, client } = await begin(t, store, STEADY)
  await client.call('setCrashStatements', 'exchange 1', [add(1, 7)])
  await client.call('setCrashStatements', 'exchange 2', [add(2, 7)])
  await client.call('write', [add(2, 100)])
  await server.stop()
  await client.call('setCrashStatements', 'exchange 2', [])
  await server.start()
  await until(async () => {
    const rows = await database.read(PENDING, [])
    return rows.map(({ name }) => name).join() === 'exchange 1'
  })
  await later(1_200)
  t.same(await sums(database), [0, 100])
  await client.kill()
  await until(async () => (await sums(database))[0] === 7)
  t.same(await sums(database), [7, 100])
})

t.test(
  'PostgreSQL reaping: without survivors the next process applies the on-crash statements',
  async t => {
    const store = openAt(t, { url: await server.create(), data: temporaryFolder(t) })
    const first = await store.open()
    await first.migrate('test', [...MEMBERSHIP_TABLES, table])
    const client = await register(t, store.options)
    await first.close()
    await client.call('setCrashStatements', 'exchange 1', [add(1, 3)])
    await client.call('write', [add(2, 1)])
    await client.kill()
    const next = await store.open()
    reaperOn(t, next, STEADY)
    await until(async () => (await sums(next))[0] === 3)
    t.same(await sums(next), [3, 1])
  },
)

t.test('PostgreSQL reaping: a suspended process with a connection is not reaped', async t => {
  const store = openAt(t, { url: await server.create() })
  const { database, client } = await begin(t, store, SWIFT)
  await client.call('setCrashStatements', 'exchange 1', [add(1, 3)])
  await client.call('write', [add(2, 1)])
  client.process.kill('SIGSTOP')
  await later(1_000)
  t.same(await sums(database), [0, 1])
  client.process.kill('SIGCONT')
  await client.call('write', [add(2, 1)])
  await client.call('close')
  t.same(await sums(database), [0, 2])
})

t.test(
  'PostgreSQL reaping: only a peer of the same folder reaps a process, while one lives',
  async t => {
    const url = await server.create()
    const ownFolder = openAt(t, { url, data: temporaryFolder(t) })
    const peer = await ownFolder.open()
    await peer.migrate('test', [...MEMBERSHIP_TABLES, table])
    const timeouts = { ...timeoutsAt(STEADY), heartbeat: 10 }
    const beatingPeer = createMembership({ database: peer, log: silent, timeouts })
    t.teardown(() => beatingPeer.close())
    await beatingPeer.name()
    const otherFolder = await openAt(t, { url, data: temporaryFolder(t) }).open()
    await reaperOn(t, otherFolder, SWIFT * 2).name()
    const client = await register(t, ownFolder.options)
    await client.call('setCrashStatements', 'exchange', [{ ...add(1, 1), progress: 0 }])
    await client.call('progress', 'exchange', 42)
    await client.call('write', [add(2, 1)])
    await client.kill()
    await later(1_000)
    t.same(await sums(peer), [0, 1], 'a process of another folder cannot read its progress')
    beatingPeer.start()
    await until(async () => (await sums(peer))[0] !== 0)
    t.same(await sums(peer), [42, 1], 'a process of its own folder can')
  },
)

t.test(
  'PostgreSQL reaping: a process of a lost machine is reaped with the stored values',
  async t => {
    const url = await server.create()
    const ownFolder = openAt(t, { url, data: temporaryFolder(t) })
    const first = await ownFolder.open()
    await first.migrate('test', [...MEMBERSHIP_TABLES, table])
    await first.close()
    const client = await register(t, ownFolder.options)
    await client.call('setCrashStatements', 'exchange', [{ ...add(1, 5), progress: 0 }])
    await client.call('progress', 'exchange', 42)
    await client.call('setCrashStatements', 'untouched', [{ ...add(2, 0), progress: 0 }])
    await client.call('write', [add(2, 1)])
    await client.kill()
    const otherFolder = await openAt(t, { url, data: temporaryFolder(t) }).open()
    reaperOn(t, otherFolder, SWIFT)
    await until(async () => (await otherFolder.read(PENDING, [])).length === 0)
    t.same(await sums(otherFolder), [5, 1])
  },
)
