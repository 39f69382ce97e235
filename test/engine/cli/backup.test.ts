/** `tollgate backup`: copies completely during writes and overwrites no file. */
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { startStore, statement, temporaryFolder } from '../../helpers/store.ts'
import { tollgate } from '../../helpers/terminal.ts'

const store = await startStore(t)
const folder = temporaryFolder(t)
const config = join(folder, 'routes.yaml')
writeFileSync(config, `settings: { data: '${store.data}' }\nroutes: []\n`)
const backup = (...args: string[]) => tollgate(['backup', ...args], { TOLLGATE_CONFIG: config })

t.test('backup: the copy is complete during writes', async t => {
  const database = await store.open()
  await database.migrate('test', [{ number: 1, text: 'CREATE TABLE t (n BIGINT PRIMARY KEY)' }])
  let isWriting = true
  let rowCount = 0
  const writing = (async () => {
    while (isWriting)
      await database.write([statement('add', 'INSERT INTO t VALUES (?)', [++rowCount])])
  })()
  while (rowCount < 20) await new Promise(resolve => setImmediate(resolve))
  const minimum = rowCount - 1
  const file = join(folder, 'copy.db')
  const { code, out } = await backup(file, '--json')
  isWriting = false
  await writing
  t.equal(code, 0)
  t.match(JSON.parse(out), { file, bytes: statSync(file).size })
  t.equal(statSync(file).mode & 0o077, 0, 'readable for the owner only')
  const copy = new DatabaseSync(file, { readOnly: true })
  const { count, most } =
    copy.prepare('SELECT count(*) AS count, max(n) AS most FROM t').get() ?? {}
  copy.close()
  t.equal(count, most, 'no row is missing')
  t.ok(Number(most) >= minimum, 'contains all acknowledged rows')
  t.match(await backup(file), { code: 2, err: /exists; it was not overwritten/ })
})

t.test('backup: refuses an existing file, a missing store and PostgreSQL', async t => {
  const file = join(folder, 'other.db')
  t.match(await backup(), { code: 2, err: 'Usage: tollgate backup FILE' })
  t.match(await backup(join(folder, 'no', 'such', 'folder.db')), { code: 3 })
  writeFileSync(config, `settings: { data: '${join(folder, 'empty')}' }\nroutes: []\n`)
  t.match(await backup(file), { code: 3, err: /there is no store at/ })
  writeFileSync(config, "settings: { database: 'postgres://me@host/db' }\nroutes: []\n")
  t.match(await backup(file), { code: 2, err: /pg_dump/ })
  t.notOk(existsSync(file))
})
