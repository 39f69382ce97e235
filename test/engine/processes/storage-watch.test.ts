/** The watch over the data folder and the store's file in it, with simulated time. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import t from 'tap'
import { watchStorage } from '../../../engine/processes/primary/storage-watch.ts'

t.test(
  'storage watch: reports what was deleted or replaced, once, and when it is back',
  async t => {
    mock.timers.enable({ apis: ['setInterval'] })
    const folder = join(t.testdir({ data: { 'tollgate.db': '' } }), 'data')
    const lines: string[] = []
    const add = (_: object, text = '') => void lines.push(text)
    const log = { debug: add, info: add, warn: add, error: add }
    const watch = watchStorage({ data: folder, database: 'sqlite:' }, log)
    t.teardown(() => {
      watch.close()
      mock.timers.reset()
    })
    mock.timers.tick(1_000)
    t.equal(watch.reason, undefined)
    renameSync(folder, `${folder}-away`)
    mock.timers.tick(2_000)
    t.match(watch.reason, /^the data folder .*data was deleted while the gateway uses it/)
    mkdirSync(folder)
    mock.timers.tick(1_000)
    t.match(watch.reason, /was replaced/)
    rmSync(folder, { recursive: true })
    renameSync(`${folder}-away`, folder)
    mock.timers.tick(1_000)
    t.equal(watch.reason, undefined)
    rmSync(join(folder, 'tollgate.db'))
    mock.timers.tick(1_000)
    t.match(watch.reason, /^the database file .*tollgate\.db was deleted/)
    t.match(lines, [/was deleted/, /was replaced/, 'the data folder is back', /was deleted/])
  },
)

t.test('storage watch: on PostgreSQL only the data folder counts', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const folder = t.testdir({ 'tollgate.db': '' })
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const watch = watchStorage({ data: folder, database: 'postgres://host/name' }, log)
  writeFileSync(join(folder, 'other'), '')
  rmSync(join(folder, 'tollgate.db'))
  mock.timers.tick(1_000)
  t.equal(watch.reason, undefined)
  watch.close()
})
