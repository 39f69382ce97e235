/** The wills of a process that died: applied once, whoever of the living is first, and never those of the living. */
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { OpenDatabase } from '../../../../engine/store/database.ts'
import { harmedPostgres } from '../../../helpers/postgres.ts'
import {
  type AnyStore,
  openAt,
  sql,
  startAnyStore,
  startClient,
  statement,
} from '../../../helpers/store.ts'

const table = {
  number: 1,
  text: `CREATE TABLE total (id BIGINT PRIMARY KEY, sum BIGINT NOT NULL);
    INSERT INTO total VALUES (1, 0), (2, 0)`,
}
// Applied twice, the sum shows it.
const add = (id: number, amount: number) =>
  statement('add', 'UPDATE total SET sum = sum + ? WHERE id = ?', [amount, id], { rows: 1 })
const SUMS = sql('sums', 'SELECT sum FROM total ORDER BY id')
const WILLS = sql('wills', 'SELECT name FROM tollgate_wills ORDER BY name')
const GONE = sql('gone', 'SELECT client FROM tollgate_clients WHERE gone IS NOT NULL')
const server = await harmedPostgres()

const sums = async (database: OpenDatabase) =>
  (await database.read(SUMS, [])).map(({ sum }) => Number(sum))
/** Asks until it is so; the test's own timeout is the limit. */
const until = async (look: () => Promise<boolean>): Promise<void> => {
  while (!(await look().catch(() => false))) await later(20)
}
const begin = async (t: Test, store: AnyStore) => {
  const survivors = await Promise.all([1, 2, 3].map(() => store.open()))
  const [database] = survivors as [OpenDatabase]
  await database.migrate('test', [table])
  return { survivors, database, client: await startClient(t, store.options) }
}

t.test('three survivors: once', async t => {
  const { survivors, client } = await begin(t, await startAnyStore(t, 'postgres', 200))
  const [database] = survivors as [OpenDatabase]
  const wills = Array.from({ length: 50 }, (_, index) => `exchange ${index}`)
  for (const name of wills) await client.call('will', name, [add(1, 1)])
  await client.call('will', 'broken', [statement('broken', 'UPDATE nowhere SET x = 1')])
  await client.call('will', 'refused', [add(2, 1), { ...add(2, 5), rows: 7 }])
  await client.call('write', [add(2, 100)])
  await client.kill()
  await until(async () => (await sums(database))[0] === 50)
  await later(700)
  t.same(await sums(database), [50, 100], 'and what was refused left nothing behind')
  t.same(await database.read(WILLS, []), [])
  t.equal(
    (await database.read(GONE, [])).length,
    1,
    'its row stays, should its answers be asked for',
  )
})

t.test('the server restarts while it lives: its will stays a will', async t => {
  const store = openAt(t, { url: await server.create(), grace: 800 })
  const { database, client } = await begin(t, store)
  await client.call('will', 'exchange 1', [add(1, 7)])
  await client.call('will', 'exchange 2', [add(2, 7)])
  await client.call('write', [add(2, 100)])
  await server.stop()
  await client.call('will', 'exchange 2', [])
  await server.start()
  await until(async () => {
    const rows = await database.read(WILLS, [])
    return rows.map(({ name }) => name).join() === 'exchange 1'
  })
  await later(1_200)
  t.same(await sums(database), [0, 100])
  await client.kill()
  await until(async () => (await sums(database))[0] === 7)
  t.same(await sums(database), [7, 100])
})

t.test('nobody survived: the next that starts does it', async t => {
  const store = openAt(t, { url: await server.create(), grace: 200 })
  const first = await store.open()
  await first.migrate('test', [table])
  const client = await startClient(t, store.options)
  await first.close()
  await client.call('will', 'exchange 1', [add(1, 3)])
  await client.call('write', [add(2, 1)])
  await client.kill()
  const next = await store.open()
  await until(async () => (await sums(next))[0] === 3)
  t.same(await sums(next), [3, 1])
})

t.test('stopped for longer than the grace: it lives, so its will is not applied', async t => {
  const store = openAt(t, { url: await server.create(), grace: 200 })
  const { database, client } = await begin(t, store)
  await client.call('will', 'exchange 1', [add(1, 3)])
  await client.call('write', [add(2, 1)])
  client.process.kill('SIGSTOP')
  await later(1_000)
  t.same(await sums(database), [0, 1])
  client.process.kill('SIGCONT')
  await client.call('write', [add(2, 1)])
  await client.call('close')
  t.same(await sums(database), [0, 2])
})
