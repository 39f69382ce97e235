/** CLI commands use the store with and without a running gateway, whose writer continues. */
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { forkWriter, locate, openDatabase } from '../../../engine/store/database.ts'
import {
  sql,
  startClient,
  startStore,
  statement,
  temporaryFolder,
} from '../../helpers/store/store.ts'

const table = { number: 1, text: 'CREATE TABLE item (id BIGINT PRIMARY KEY)' }
const insert = (id: number) => [statement('insert', 'INSERT INTO item VALUES (?)', [id])]
const IDS = sql('ids', 'SELECT id FROM item ORDER BY id')

t.test(
  'CLI store: a command without a gateway starts a writer and stops it afterwards',
  async t => {
    const folder = temporaryFolder(t)
    for (const id of [1, 2]) {
      const database = await openDatabase({
        url: 'sqlite:',
        data: folder,
        writeTimeout: 60_000,
        start: true,
      })
      await database.migrate('test', [table])
      await database.write(insert(id))
      await database.close()
    }
    const database = await openDatabase({
      url: 'sqlite:',
      data: folder,
      writeTimeout: 60_000,
      start: true,
    })
    t.same(await database.read(IDS, []), [{ id: 1 }, { id: 2 }])
    await database.close()
  },
)

t.test('CLI store: a command beside a gateway uses its writer, which keeps running', async t => {
  const store = await startStore(t)
  const gateway = await store.open()
  await gateway.migrate('test', [table])
  const command = await openDatabase({
    url: 'sqlite:',
    data: store.data,
    writeTimeout: 60_000,
    start: true,
  })
  await command.write(insert(1))
  await command.close()
  await gateway.write(insert(2))
  t.same(await gateway.read(IDS, []), [{ id: 1 }, { id: 2 }])
})

t.test('CLI store: concurrent commands share one writer', async t => {
  const options = { url: 'sqlite:', data: temporaryFolder(t), start: true }
  const commands = await Promise.all([1, 2, 3].map(() => startClient(t, options)))
  await Promise.all(commands.map(command => command.call('migrate', 'test', [table])))
  await Promise.all(commands.map((command, id) => command.call('write', insert(id))))
  t.same(await commands[0]?.call('read', IDS, []), [{ id: 0 }, { id: 1 }, { id: 2 }])
  for (const command of commands) await command.call('close')
  const lock = new DatabaseSync(`${locate('sqlite:', options.data).file}.lock`, { timeout: 5_000 })
  t.doesNotThrow(() => lock.exec('BEGIN EXCLUSIVE'), 'no writer remains')
  lock.close()
})

t.test('SQLite writer: a second one waits, and takes over when the first ends', async t => {
  const folder = temporaryFolder(t)
  const command = await startClient(t, { url: 'sqlite:', data: folder, start: true })
  await command.call('migrate', 'test', [table])
  const writer = forkWriter(locate('sqlite:', folder))
  t.teardown(() => writer.kill('SIGKILL'))
  const [ready] = await once(writer, 'message')
  t.match(ready, { type: 'ready', standby: true })
  const tookOver = once(writer, 'message')
  await command.call('write', insert(1))
  await command.call('close')
  t.match(await tookOver, [{ type: 'ready', socket: locate('sqlite:', folder).socket }])
  const gateway = await openDatabase({ url: 'sqlite:', data: folder, writeTimeout: 60_000 })
  t.same(await gateway.read(IDS, []), [{ id: 1 }])
  await gateway.write(insert(2))
  await gateway.close()
  const exit = once(writer, 'exit')
  writer.send({ type: 'stop' })
  t.same(await exit, [0, null])
})

t.test('SQLite writer: outlives its parent until its last client has disconnected', async t => {
  const folder = temporaryFolder(t)
  const parent = await startClient(t, { url: 'sqlite:', data: folder, start: true })
  await parent.call('migrate', 'test', [table])
  const worker = await openDatabase({ url: 'sqlite:', data: folder, writeTimeout: 60_000 })
  await parent.kill()
  await worker.write(insert(1))
  t.same(await worker.read(IDS, []), [{ id: 1 }])
  await worker.close()
  await t.rejects(openDatabase({ url: 'sqlite:', data: folder, openTimeout: 300 }), {
    code: 'STORE_UNAVAILABLE',
  })
})

t.test('SQLite writer: ignores signals to the process group while it has clients', async t => {
  const store = await startStore(t)
  const database = await store.open()
  await database.migrate('test', [table])
  store.writer.kill('SIGINT')
  store.writer.kill('SIGTERM')
  await database.write(insert(1))
  t.same(await database.read(IDS, []), [{ id: 1 }])
  t.equal(store.writer.exitCode, null)
})
