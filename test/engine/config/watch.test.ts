/** The watch with real files: it reports each save once, in whatever way an editor writes it. */
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findWatchedPaths } from '../../../engine/config/watched-paths.ts'
import { countChanges, startWatch, watchFolder } from '../../helpers/watched.ts'

t.test('watch: a change before the watch is ready is reported', async t => {
  const { count } = await watchFolder(t, { 'routes.yaml': 'a' })
  t.equal(count(), 1)
})

t.test('watch: plain, atomic and backup saves are reported', async t => {
  const { folder, waitForChange } = await watchFolder(t, { 'routes.yaml': 'a' })
  const file = join(folder, 'routes.yaml')
  await waitForChange(() => writeFileSync(file, 'b'))
  for (const text of ['c', 'd', 'e'])
    await waitForChange(() => {
      writeFileSync(join(folder, '.routes.yaml.swp'), text)
      renameSync(join(folder, '.routes.yaml.swp'), file)
    })
  await waitForChange(() => {
    renameSync(file, `${file}~`)
    writeFileSync(file, 'f')
    unlinkSync(`${file}~`)
  })
  await waitForChange(() => writeFileSync(file, 'g'))
  t.equal(readFileSync(file, 'utf8'), 'g')
})

t.test('watch: a burst is reported once, with its last state', async t => {
  const { folder, waitForChange, count } = await watchFolder(t, { 'routes.yaml': 'a' })
  const before = count()
  await waitForChange(() => {
    for (let index = 0; index < 50; index++) writeFileSync(join(folder, 'routes.yaml'), `b${index}`)
  })
  t.equal(count() - before, 1)
})

t.test('watch: continuous saves are reported', async t => {
  const { folder, waitForChange } = await watchFolder(t, { 'routes.yaml': 'a' })
  let index = 0
  const timer = setInterval(() => writeFileSync(join(folder, 'routes.yaml'), `b${index++}`), 10)
  t.teardown(() => clearInterval(timer))
  await waitForChange(() => {})
  await waitForChange(() => {})
  clearInterval(timer)
})

t.test('watch: equal content, changed times and temporary files are not reported', async t => {
  const files = await watchFolder(t, { 'routes.yaml': 'a' })
  const at = (name: string) => join(files.folder, name)
  const changes = await countChanges(files, () => {
    writeFileSync(at('routes.yaml'), 'a')
    utimesSync(at('routes.yaml'), new Date(), new Date())
    for (const name of [
      '.routes.yaml.swp',
      'routes.yaml~',
      '.#routes.yaml',
      '#routes.yaml#',
      '4913',
      'x.tmp',
      'gate.log',
    ])
      writeFileSync(at(name), 'noise')
    writeFileSync(at('tollgate.db-wal'), 'pages')
  })
  t.equal(changes, 0)
})

t.test('watch: a file that is completed later is reported again', async t => {
  const { folder, waitForChange } = await watchFolder(t, { 'routes.yaml': 'routes: [a]' })
  const file = join(folder, 'routes.yaml')
  await waitForChange(() => writeFileSync(file, 'routes: ['))
  await waitForChange(() => writeFileSync(file, 'routes: [b]'))
})

t.test('watch: a file that is created, removed and created again', async t => {
  const { folder, waitForChange } = await watchFolder(t, { 'routes.yaml': 'a', parts: {} }, [
    'routes.yaml',
    'parts',
  ])
  const file = join(folder, 'parts/x.yaml')
  await waitForChange(() => writeFileSync(file, 'a'))
  await waitForChange(() => unlinkSync(file))
  await waitForChange(() => writeFileSync(file, 'a'))
})

t.test('watch: the target of a link is watched', async t => {
  const folder = t.testdir({ real: { 'routes.yaml': 'a' }, config: {} })
  symlinkSync('../real/routes.yaml', join(folder, 'config/routes.yaml'))
  const { waitForChange } = await startWatch(t, folder, ['config/routes.yaml'])
  await waitForChange(() => writeFileSync(join(folder, 'real/routes.yaml'), 'b'))
  await waitForChange(() => {
    writeFileSync(join(folder, 'real/new.yaml'), 'c')
    renameSync(join(folder, 'real/new.yaml'), join(folder, 'real/routes.yaml'))
  })
})

t.test('watch: every swap of the ..data link of a ConfigMap is reported', async t => {
  const folder = t.testdir({ '..1': { 'routes.yaml': 'v1' } })
  symlinkSync('..1', join(folder, '..data'))
  symlinkSync('..data/routes.yaml', join(folder, 'routes.yaml'))
  const { waitForChange, watch } = await startWatch(t, folder, ['routes.yaml'])
  for (const version of [2, 3, 4])
    await waitForChange(() => {
      mkdirSync(join(folder, `..${version}`))
      writeFileSync(join(folder, `..${version}/routes.yaml`), `v${version}`)
      symlinkSync(`..${version}`, join(folder, '..data_tmp'))
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
      rmSync(join(folder, `..${version - 1}`), { recursive: true })
      watch.update(findWatchedPaths([join(folder, 'routes.yaml')]))
    })
})

t.test('watch: a swapped link above the file is reported', async t => {
  const folder = t.testdir({ one: { 'routes.yaml': '1' }, two: { 'routes.yaml': '2' } })
  symlinkSync('one', join(folder, 'current'))
  const { waitForChange, watch } = await startWatch(t, folder, ['current/routes.yaml'])
  await waitForChange(() => {
    symlinkSync('two', join(folder, 'next'))
    renameSync(join(folder, 'next'), join(folder, 'current'))
  })
  await waitForChange(() => watch.update(findWatchedPaths([join(folder, 'current/routes.yaml')])))
  await waitForChange(() => writeFileSync(join(folder, 'two/routes.yaml'), '3'))
})

t.test('watch: follows added, removed and later created folders', async t => {
  const files = await watchFolder(t, { 'routes.yaml': 'a', plugins: { 'a.ts': '1' } }, [
    'routes.yaml',
    'later/x.yaml',
  ])
  const { folder, waitForChange, watch } = files
  await waitForChange(() => mkdirSync(join(folder, 'later')))
  await waitForChange(() =>
    watch.update(
      findWatchedPaths([
        join(folder, 'routes.yaml'),
        join(folder, 'later'),
        join(folder, 'plugins'),
      ]),
    ),
  )
  await waitForChange(() => writeFileSync(join(folder, 'later/x.yaml'), '1'))
  await waitForChange(() => writeFileSync(join(folder, 'plugins/a.ts'), '2'))
  watch.update(findWatchedPaths([join(folder, 'routes.yaml')]))
  t.equal(await countChanges(files, () => writeFileSync(join(folder, 'plugins/a.ts'), '3')), 0)
})

t.test('watch: continues after a watched folder is removed', async t => {
  const { folder, waitForChange } = await watchFolder(
    t,
    { 'routes.yaml': 'a', plugins: { 'a.ts': '1' } },
    ['routes.yaml', 'plugins'],
  )
  await waitForChange(() => rmSync(join(folder, 'plugins'), { recursive: true }))
  await waitForChange(() => writeFileSync(join(folder, 'routes.yaml'), 'b'))
})

/** Finds the watched paths anew after each change, as the primary does. */
const following = async (t: Test, files: Record<string, unknown>, paths: readonly string[]) => {
  const folder = t.testdir(files as Parameters<Test['testdir']>[0])
  const each = await startWatch(t, folder, paths)
  const at = (name: string) => join(folder, name)
  const waitForChange = async (act: () => void) => {
    await each.waitForChange(act)
    each.watch.update(findWatchedPaths(paths.map(at)))
  }
  return { ...each, waitForChange, at }
}

t.test('watch: watches a file again after its path was an empty folder', async t => {
  const { waitForChange, at } = await following(t, { 'routes.yaml': 'a', 'saved.yaml': 'a' }, [
    'routes.yaml',
  ])
  await waitForChange(() => {
    rmSync(at('routes.yaml'))
    mkdirSync(at('routes.yaml'))
  })
  // The watcher of the parent folder is closed once the new one is ready.
  await new Promise(resolve => setTimeout(resolve, 500))
  await waitForChange(() => {
    rmSync(at('routes.yaml'), { recursive: true })
    writeFileSync(at('routes.yaml'), 'a')
  })
  await waitForChange(() => writeFileSync(at('routes.yaml'), 'b'))
  await waitForChange(() => writeFileSync(at('routes.yaml'), 'c'))
})

t.test('watch: watches the files of a folder that replaced another', async t => {
  const { waitForChange, at } = await following(
    t,
    { 'routes.yaml': 'a', plugins: { 'a.ts': '1' } },
    ['routes.yaml', 'plugins'],
  )
  await waitForChange(() => {
    renameSync(at('plugins'), at('old'))
    mkdirSync(at('plugins'))
    writeFileSync(at('plugins/a.ts'), '2')
  })
  await waitForChange(() => writeFileSync(at('plugins/a.ts'), '3'))
  await waitForChange(() => writeFileSync(at('plugins/a.ts'), '4'))
})

t.test('watch: reports nothing after close', async t => {
  const { folder, watch, count } = await watchFolder(t, { 'routes.yaml': 'a' })
  const before = count()
  writeFileSync(join(folder, 'routes.yaml'), 'b')
  await watch.close()
  watch.update([folder])
  writeFileSync(join(folder, 'routes.yaml'), 'c')
  await new Promise(resolve => setTimeout(resolve, 300))
  t.equal(count(), before)
})
