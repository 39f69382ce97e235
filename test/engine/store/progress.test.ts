/** Progress file: counts survive their process, a removed file is replaced, and a full disk affects
 *  only the exchanges that begin meanwhile. */
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  Progress,
  progressFolder,
  readProgress,
  removeProgress,
} from '../../../engine/store/progress.ts'
import { temporaryFolder } from '../../helpers/store/store.ts'

const countsIn = (folder: string) => Object.fromEntries(readProgress(folder, 'p1'))

t.test('progress file: holds the last counts by name', async t => {
  const folder = progressFolder(temporaryFolder(t))
  const progress = new Progress(folder, 'p1')
  for (const count of [1, 2, 70_000]) progress.set('one', count)
  progress.set('two', 3)
  t.same(countsIn(folder), { one: 70_000, two: 3 })
  progress.clear('one')
  progress.set('three', 1)
  t.same(countsIn(folder), { two: 3, three: 1 }, 'a freed slot is used again')
  progress.close()
  t.same(countsIn(folder), {})
})

t.test('progress file: a process whose file a peer removed continues in a new one', async t => {
  const folder = progressFolder(temporaryFolder(t))
  const progress = new Progress(folder, 'p1')
  t.teardown(() => progress.close())
  progress.set('one', 1)
  removeProgress(folder, 'p1')
  progress.set('one', 2)
  t.same(countsIn(folder), {}, 'the removed file is not replaced by an update')
  progress.set('two', 5)
  progress.set('one', 3)
  t.same(countsIn(folder), { one: 3, two: 5 })
  removeProgress(folder, 'p1')
  progress.set('three', 1)
  t.same(countsIn(folder), { one: 3, two: 5, three: 1 }, 'a second removal has the same effect')
})

t.test('progress file: an exchange without disk space has no count, a later one has', async t => {
  const dataFolder = temporaryFolder(t)
  writeFileSync(join(dataFolder, 'progress'), 'not a folder')
  const progress = new Progress(progressFolder(dataFolder), 'p1')
  t.teardown(() => progress.close())
  progress.set('one', 1)
  rmSync(join(dataFolder, 'progress'))
  progress.set('one', 2)
  progress.set('two', 5)
  t.same(countsIn(progressFolder(dataFolder)), { two: 5 })
  progress.clear('one')
  progress.set('one', 7)
  t.same(countsIn(progressFolder(dataFolder)), { one: 7, two: 5 })
})

t.test('progress file: a long name has no count, and files of a week ago are removed', async t => {
  const folder = progressFolder(temporaryFolder(t)) ?? ''
  mkdirSync(folder, { recursive: true })
  const stale = join(folder, 'gone')
  writeFileSync(stale, '')
  utimesSync(stale, 1, 1)
  const progress = new Progress(folder, 'p1')
  t.teardown(() => progress.close())
  progress.set('n'.repeat(1_000), 1)
  t.ok(existsSync(stale), 'no file was needed')
  progress.set('one', 1)
  t.same(countsIn(folder), { one: 1 })
  t.notOk(existsSync(stale))
})

t.test('progress file: on a store without a folder there are no counts', async t => {
  t.equal(readProgress(undefined, 'p1').size, 0)
  t.doesNotThrow(() => removeProgress(undefined, 'p1'))
})

t.test('progress file: grows for more exchanges than its first slots', async t => {
  const folder = progressFolder(temporaryFolder(t))
  const progress = new Progress(folder, 'p1')
  t.teardown(() => progress.close())
  for (let count = 1; count <= 2_500; count++) progress.set(`call ${count}`, count)
  const counts = countsIn(folder)
  t.equal(Object.keys(counts).length, 2_500)
  for (const count of [1, 1_024, 1_025, 2_048, 2_049, 2_500])
    t.equal(counts[`call ${count}`], count)
})
