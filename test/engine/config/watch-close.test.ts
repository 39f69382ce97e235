/** Closing a watch while its folders change: an open handle would keep the process running. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { watchFiles } from '../../../engine/config/watch.ts'
import { findWatchedPaths } from '../../../engine/config/watched-paths.ts'

const open = () => process.getActiveResourcesInfo().filter(name => name === 'FSEventWrap').length

t.test('watch: close ends all watchers before the new folders are watched', async t => {
  const folder = t.testdir({ 'routes.yaml': 'a', one: {}, two: {} })
  const foldersOf = (...names: readonly string[]) =>
    findWatchedPaths(names.map(name => join(folder, name)))
  const before = open()
  const first = Promise.withResolvers<void>()
  const watch = watchFiles({ places: foldersOf('routes.yaml'), onChange: first.resolve })
  await first.promise
  for (const name of ['one', 'two']) watch.update(foldersOf('routes.yaml', name))
  await watch.close()
  // Handles end asynchronously; the timeout of the test is the limit.
  while (open() > before) await pause(10)
  t.pass('every handle is closed')
})
