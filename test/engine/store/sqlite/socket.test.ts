/** The writer's socket: path length, access rights, and replacement after a crash. */
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import t from 'tap'
import { makeFolders } from '../../../../engine/store/address.ts'
import { locate, openDatabase } from '../../../../engine/store/database.ts'
import { startStore, statement, temporaryFolder } from '../../../helpers/store/store.ts'

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

t.test('writer socket: only the owner may connect or read the database', async t => {
  const { address, open } = await startStore(t)
  const database = await open()
  await database.write([statement('one', 'SELECT 1')])
  t.equal(mode(address.socket), '600')
  for (const suffix of ['', '-wal', '-shm', '.lock'])
    t.equal(mode(`${address.file}${suffix}`), '600')
})

t.test('writer socket: a long path is replaced by a short one in a private folder', async t => {
  const deep = join(temporaryFolder(t), 'd'.repeat(60), 'e'.repeat(60))
  const address = locate('sqlite:', deep)
  t.ok(Buffer.byteLength(address.socket) < 104, address.socket)
  t.not(locate('sqlite:', `${deep}x`).socket, address.socket)
  const database = await openDatabase({
    url: 'sqlite:',
    data: deep,
    start: true,
    writeTimeout: 60_000,
  })
  t.same(await database.write([statement('one', 'SELECT 1 AS one')]), [[{ one: 1 }]])
  t.equal(mode(dirname(address.socket)), '700')
  await database.close()
  t.notOk(existsSync(address.socket))
})

t.test('writer socket: a folder that others may write is refused', async t => {
  const parent = temporaryFolder(t)
  const folder = join(parent, 'shared')
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  const address = { url: '', file: join(parent, 'x.db'), socket: join(folder, 'x.socket') }
  t.throws(() => makeFolders(address), { code: 'STORE_FOLDER' })
  chmodSync(folder, 0o700)
  t.doesNotThrow(() => makeFolders(address))
  const mask = process.umask(0o177)
  t.teardown(() => void process.umask(mask))
  makeFolders({ ...address, socket: join(parent, 'new', 'x.socket') })
  t.equal(mode(join(parent, 'new')), '700', 'under the umask of a writer, too')
  process.umask(mask)
  writeFileSync(join(parent, 'file'), '')
  t.throws(() => makeFolders({ ...address, socket: join(parent, 'file', 'x.socket') }))
})

t.test('writer socket: a stale socket is replaced', async t => {
  const store = await startStore(t)
  await store.kill()
  t.ok(existsSync(store.address.socket))
  await store.respawn()
  const database = await store.open()
  t.same(await database.write([statement('one', 'SELECT 1 AS one')]), [[{ one: 1 }]])
})

t.test('writer socket: silent or invalid clients have no effect on others', async t => {
  const store = await startStore(t)
  const database = await store.open()
  const silent = connect(store.address.socket)
  await once(silent, 'connect')
  const babbling = connect(store.address.socket)
  babbling.write(Buffer.concat([Buffer.from([3, 0, 0, 0]), Buffer.from('{{{')]))
  await new Promise(resolve => babbling.on('error', () => {}).on('close', resolve))
  const early = connect(store.address.socket)
  const lists = JSON.stringify({ texts: [[0, 'SELECT 1']], lists: [[1, 0, [0, -1]]] })
  const length = Buffer.alloc(4)
  length.writeUInt32LE(lists.length)
  early.end(Buffer.concat([length, Buffer.from(lists)]))
  await once(early.resume(), 'close')
  t.same(await database.write([statement('one', 'SELECT 1 AS one')]), [[{ one: 1 }]])
  silent.destroy()
})
