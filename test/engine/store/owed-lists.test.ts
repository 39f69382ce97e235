/** Owed lists: on disk until the store has stored or refused them, and written by another process
 *  if theirs has ended. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createLog } from '../../../engine/observe/log.ts'
import type { Database, OwedResult, Statement } from '../../../engine/plugin.ts'
import { openDatabase } from '../../../engine/store/database.ts'
import {
  owedFolder,
  owedKeys,
  removeOwedOf,
  writeOwedOf,
} from '../../../engine/store/owed/owed-files.ts'
import { OwedLists } from '../../../engine/store/owed/owed-lists.ts'
import { encodeStatement } from '../../../engine/store/values.ts'

// The pauses between attempts do not keep a process alive.
const alive = setInterval(() => {}, 60_000)
t.teardown(() => clearInterval(alive))
const log = createLog({ level: 'silent' })
const list: readonly Statement[] = [
  { sql: { name: 'add', text: 'INSERT INTO n VALUES (?)' }, values: [7n] } as unknown as Statement,
]
const failure = (code: string): Error => Object.assign(new Error(code), { code })
/** A store that fails with these codes, in order, and then takes everything. */
const storeOf = (...codes: string[]) => {
  const stored: unknown[] = []
  const write = (async (each: unknown) => {
    const code = codes.shift()
    if (code !== undefined) throw failure(code)
    stored.push(each)
    return [{ rows: 1 }]
  }) as unknown as Database['write']
  return { write, stored }
}
const filesIn = (folder: string, key: string): string[] => {
  try {
    return readdirSync(join(owedFolder(folder), key))
  } catch {
    return []
  }
}

t.test('owed lists: a file stays until the store has stored the list', async t => {
  const folder = t.testdir({})
  const { write, stored } = storeOf('STORE_UNAVAILABLE', 'STORE_UNKNOWN')
  const lists = new OwedLists(write, folder, 'own')
  const result = await new Promise<OwedResult>(done => {
    t.equal(lists.owe('req_1', { lists: [list], onDone: done }), true)
    t.equal(filesIn(folder, 'own').length, 1)
    t.same(owedKeys(folder), ['own'])
  })
  t.notOk(result.refusedWith)
  t.same(filesIn(folder, 'own'), [])
  t.equal(stored.length, 1)
  await lists.close()
})

t.test('owed lists: a refused list is not tried again', async t => {
  const folder = t.testdir({})
  const lists = new OwedLists(storeOf('UNIQUE').write, folder, 'own')
  const result = await new Promise<OwedResult>(done =>
    lists.owe('req_1', { lists: [list], onDone: done }),
  )
  t.equal(result.refusedWith, 'UNIQUE')
  t.same(filesIn(folder, 'own'), [])
  lists.owe('req_2', { lists: [list] })
  await lists.close()
  t.same(filesIn(folder, 'own'), [], 'closing waits for the store')
})

t.test(
  'owed lists: without a folder, or with a full disk, they are written all the same',
  async t => {
    const folder = t.testdir({ owed: 'a file in place of the folder' })
    for (const place of [undefined, folder]) {
      const { write, stored } = storeOf()
      const lists = new OwedLists(write, place, 'own')
      t.equal(lists.owe('req_1', { lists: [list, list] }), false)
      await lists.close()
      t.equal(stored.length, 2)
    }
  },
)

t.test('owed lists: those of an ended process are written in their order', async t => {
  const folder = t.testdir({})
  const ended = new OwedLists(
    storeOf(...Array<string>(99).fill('STORE_READ_ONLY')).write,
    folder,
    'ended',
  )
  for (const name of ['req_1', 'req_2', 'req_3']) ended.owe(name, { lists: [list] })
  const files = join(owedFolder(folder), 'ended')
  const names = readdirSync(files).sort()
  writeFileSync(
    join(files, names[1] ?? ''),
    readFileSync(join(files, names[1] ?? '')).subarray(0, 9),
  )
  const away = storeOf('STORE_UNAVAILABLE')
  await t.rejects(writeOwedOf({ database: away, log }, folder, 'ended'), {
    code: 'STORE_UNAVAILABLE',
  })
  const back = storeOf('UNIQUE')
  await writeOwedOf({ database: back, log }, folder, 'ended')
  t.equal(back.stored.length, 1, 'one was refused, one is torn, one is written')
  removeOwedOf(folder, 'ended')
  t.same(owedKeys(folder), [])
})

t.test('owed lists: those beside a symbolic link to the store are written, too', async t => {
  const folder = t.testdir({ data: {}, disk: {} })
  const dataFolder = join(folder, 'data')
  symlinkSync(join(folder, 'disk', 'tollgate.db'), join(dataFolder, 'tollgate.db'))
  for (const place of ['data', 'disk']) {
    const files = join(owedFolder(join(folder, place)), `of-${place}`)
    mkdirSync(files, { recursive: true })
    writeFileSync(join(files, '1.json'), JSON.stringify([list.map(encodeStatement)]))
  }
  const database = await openDatabase({ url: 'sqlite:', data: dataFolder, start: true })
  t.teardown(() => database.close())
  const processes = database.process?.folder
  t.same(processes?.owedKeys(), ['of-data', 'of-disk'])
  const store = storeOf()
  for (const key of ['of-data', 'of-disk']) {
    await processes?.writeOwedOf(key, { database: store, log })
    processes?.removeOwedOf(key)
  }
  t.equal(store.stored.length, 2)
  t.same(processes?.owedKeys(), [])
})
