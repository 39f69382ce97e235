/** How far exchanges have come, in a file that outlives their process: also of one that was taken for dead and came back, and
 *  where there was no room for it at first. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { folderOf, Progress, progressIn, removeProgress } from '../../../engine/store/progress.ts'
import { temporaryFolder } from '../../helpers/store.ts'

const found = (folder: string) => Object.fromEntries(progressIn(folder, 'p1'))

t.test('what was counted last is found', async t => {
  const folder = folderOf(temporaryFolder(t))
  const progress = new Progress(folder, 'p1')
  for (const count of [1, 2, 70_000]) progress.note('one', count)
  progress.note('two', 3)
  t.same(found(folder), { one: 70_000, two: 3 })
  progress.drop('one')
  progress.note('three', 1)
  t.same(found(folder), { two: 3, three: 1 }, 'its place is taken by another')
  progress.close()
  t.same(found(folder), {})
})

t.test('who was taken for dead and came back', async t => {
  const folder = folderOf(temporaryFolder(t))
  const progress = new Progress(folder, 'p1')
  t.teardown(() => progress.close())
  progress.note('one', 1)
  removeProgress(folder, 'p1')
  progress.note('one', 2)
  t.same(found(folder), {}, 'it was read')
  progress.note('two', 5)
  progress.note('one', 3)
  t.same(found(folder), { one: 3, two: 5 })
  removeProgress(folder, 'p1')
  progress.note('three', 1)
  t.same(found(folder), { one: 3, two: 5, three: 1 }, 'and once more')
})

t.test('no room: an exchange goes without, the next one does not', async t => {
  const place = temporaryFolder(t)
  writeFileSync(join(place, 'progress'), 'in the way')
  const progress = new Progress(folderOf(place), 'p1')
  t.teardown(() => progress.close())
  progress.note('one', 1)
  rmSync(join(place, 'progress'))
  progress.note('one', 2)
  progress.note('two', 5)
  t.same(found(folderOf(place)), { two: 5 })
  progress.drop('one')
  progress.note('one', 7)
  t.same(found(folderOf(place)), { one: 7, two: 5 })
})
